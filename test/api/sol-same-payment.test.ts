import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { Client, type Json } from "../support/client.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { temporaryFolder } from "../support/server-process.ts";
import { type SolanaNode, startSolanaNode } from "../support/solana-node.ts";
import { TEST_CLUSTER } from "../support/solana-rpc.ts";
import {
  lamportsOf,
  latestBlockhash,
  newSolanaWallet,
  SOL,
  sendStatus,
  unsignedTransfer,
} from "../support/solana-sender.ts";
import { sponsorsOf } from "../support/sponsor.ts";
import { createWorld } from "../support/world.ts";

const PATH = "sol_send_transaction";
const REPEATED = /has sent the same transaction with the same blockhash.* Submit it again in a moment/;

/** The same payment asked for by several activities. */
for (const engine of oneEngine("postgres")) {
  describe(`the same payment twice (${engine})`, () => {
    const dataDir = temporaryFolder();
    let node: SolanaNode;
    let front: RpcNode;
    let server: TestServer;

    const start = async (more: { databaseUrl?: string } = {}) => {
      const chains = { [TEST_CLUSTER]: { rpcUrls: [front.url], pollMs: 1000 } };
      server = await startTestServer(engine, { dataDir, chains, ...more });
    };
    /** Another process on the same database, for all that is remembered in one. */
    const restart = async () => {
      await server.close();
      await start({ databaseUrl: server.databaseUrl });
    };
    before(async () => {
      node = await startSolanaNode();
      front = await startRpcNode(node);
      await start();
      await node.call("requestAirdrop", (await sponsorsOf(server.baseUrl)).solana, Number(100n * SOL));
    });
    after(async () => {
      await server.close();
      await Promise.all([front.close(), node.close()]);
    });

    /** The newest blockhash is the same for as long as nobody says otherwise. */
    const stopBlockhashes = () => {
      let newest: Promise<unknown> | undefined;
      front.when("getLatestBlockhash", async () => {
        newest ??= node.call("getLatestBlockhash", { commitment: "confirmed" });
        return { result: await newest };
      });
    };
    const goOn = () => front.when("getLatestBlockhash", "pass on");
    afterEach(goOn);
    /** Clients as they reach the server that runs now. */
    const now = (client: Client) => new Client(server.baseUrl, client.organizationId, client.key);

    async function newPayment(client: Client, more: object) {
      const unsigned = unsignedTransfer((await newSolanaWallet(client, node)).addresses);
      const unsignedTransaction = unsigned.wire.toString("hex");
      const parameters = { unsignedTransaction, signWiths: unsigned.from, caip2: TEST_CLUSTER, ...more };
      return {
        ask: (by = client) => now(by).submit(PATH, parameters),
        /** What the receiver got. */
        received: () => lamportsOf(node, unsigned.to),
      };
    }
    async function endOf(client: Client, { status, body }: { status: number; body: Json }): Promise<Json> {
      assert.equal(status, 200, JSON.stringify(body));
      const { sendTransactionStatusId } = body.activity.result.solSendTransactionResultV2;
      const end = await sendStatus(now(client), sendTransactionStatusId);
      assert.equal(end.txStatus, "INCLUDED", JSON.stringify(end));
      return end;
    }
    const isRefused = ({ status, body }: { status: number; body: Json }) => {
      assert.equal(status, 409, JSON.stringify(body));
      assert.match(body.message, REPEATED);
    };

    for (const [who, sponsor] of [
      ["its sender", false],
      ["the service", true],
    ] as const) {
      describe(`where ${who} pays for it`, () => {
        it("is made twice, one after the other", async () => {
          const { root } = server;
          const payment = await newPayment(root, { sponsor });
          const answers = [await payment.ask(), await payment.ask()];
          const ends = [];
          for (const answer of answers) ends.push(await endOf(root, answer));
          assert.equal(new Set(ends.map(({ solana }) => solana.signature)).size, 2);
          assert.equal(await payment.received(), 2n * SOL);
        });

        it("is made as often as it is asked for, also at once", async () => {
          const { root } = server;
          const payment = await newPayment(root, { sponsor });
          for (const answer of await Promise.all([1, 2, 3].map(() => payment.ask()))) await endOf(root, answer);
          assert.equal(await payment.received(), 3n * SOL);
        });

        it("is one payment where the requests name the blockhash", async () => {
          const { root } = server;
          const payment = await newPayment(root, { sponsor, recentBlockhash: await latestBlockhash(node) });
          const ends = [await endOf(root, await payment.ask()), await endOf(root, await payment.ask())];
          assert.equal(new Set(ends.map(({ solana }) => solana.signature)).size, 1);
          assert.equal(await payment.received(), SOL);
        });

        it("is refused while there is no newer blockhash, whichever server is asked, and made then", async () => {
          await restart();
          const { root } = server;
          stopBlockhashes();
          const payment = await newPayment(root, { sponsor });
          const first = await payment.ask();
          isRefused(await payment.ask());
          await restart();
          isRefused(await payment.ask());
          await endOf(root, first);
          assert.equal(await payment.received(), SOL);
          const filterByType = [`ACTIVITY_TYPE_${PATH.toUpperCase()}_V2`];
          const { activities } = await now(root).read("list_activities", { filterByType });
          const same = activities.filter(
            ({ intent }: Json) =>
              intent.solSendTransactionIntentV2.unsignedTransaction ===
              activities[0].intent.solSendTransactionIntentV2.unsignedTransaction,
          );
          assert.equal(same.length, 1, "nothing is left of what was refused");
          goOn();
          await endOf(root, await payment.ask());
          assert.equal(await payment.received(), 2n * SOL);
        });

        it("is not made at its last approval where another with its blockhash was", async () => {
          await restart();
          const { root, user } = await createWorld(server);
          await root.client.result("create_policy", {
            policyName: newId(),
            effect: "EFFECT_ALLOW",
            condition: "true",
            consensus: "approvers.count() == 2",
            notes: "",
          });
          stopBlockhashes();
          const payment = await newPayment(root.client, { sponsor });
          const asked = async () => (await payment.ask(user.client)).body.activity;
          const waiting = await asked();
          await restart();
          const other = await asked();
          const approve = ({ fingerprint }: Json) => now(root.client).submit("approve_activity", { fingerprint });
          const shown = async ({ id: activityId }: Json) =>
            (await now(root.client).read("get_activity", { activityId })).activity;
          await approve(other);
          const second = await approve(waiting);
          goOn();
          if (sponsor) {
            isRefused(second);
            assert.equal((await shown(waiting)).status, "ACTIVITY_STATUS_CONSENSUS_NEEDED", "which counts for nothing");
            await approve(waiting);
          } else {
            const { status, failure } = await shown(waiting);
            assert.equal(status, "ACTIVITY_STATUS_FAILED");
            assert.match(JSON.stringify(failure), REPEATED);
          }
          await endOf(root.client, { status: 200, body: { activity: await shown(other) } });
          if (sponsor) await endOf(root.client, { status: 200, body: { activity: await shown(waiting) } });
          assert.equal(await payment.received(), sponsor ? 2n * SOL : SOL);
        });
      });
    }
  });
}
