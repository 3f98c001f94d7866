import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import type { Json } from "../support/client.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { engines, freshDatabaseUrl, itInTurns } from "../support/server.ts";
import { startOnNodes } from "../support/server-on-nodes.ts";
import { type ServerProcess, temporaryFolder } from "../support/server-process.ts";
import { type SolanaNode, startSolanaNode } from "../support/solana-node.ts";
import { TEST_CLUSTER } from "../support/solana-rpc.ts";
import {
  lamportsOf,
  newSolanaWallet,
  SOL,
  sendStatus,
  type Unsigned,
  unsignedTransfer,
} from "../support/solana-sender.ts";
import { sponsorsOf } from "../support/sponsor.ts";
import { until } from "../support/until.ts";

/**
 * A transaction of Solana whose server is killed between any two steps: the commit with its signature, its being tried out, given to
 * a node, and seen in a block. It is never lost, never becomes another transaction, and each status is told under one event.
 */

const PATH = "sol_send_transaction";
const [TRY, SEND, LOOK] = ["simulateTransaction", "sendTransaction", "getSignatureStatuses"] as const;
const PASS = "pass on";
const TIMEOUT_MS = 600_000;

for (const engine of engines) {
  describe(`a Solana transaction whose server is killed (${engine})`, () => {
    const itInTurn = itInTurns(engine);
    const folders = [temporaryFolder(), temporaryFolder()] as const;
    let databaseUrl: string;
    let store: Database;
    let node: SolanaNode;
    let front: RpcNode;
    let server: ServerProcess;
    let receiver: Receiver;
    let from: Unsigned["from"];
    let unsigned: Unsigned;

    const start = (dataDir = folders[0]) =>
      startOnNodes({
        folder: folders[0],
        dataDir,
        databaseUrl,
        chains: { [TEST_CLUSTER]: { rpcUrls: [front.url] } },
        parts: { prices: { [`${TEST_CLUSTER}/slip44:501`]: "1000.00" } },
        settings: { KEYSTEAD_WEBHOOK_RETRY_SECONDS: "0,0.2,0.5,1,1,1,2,2,5,5" },
      });

    before(async () => {
      databaseUrl = await freshDatabaseUrl(engine, folders[0], MIGRATED_DATABASE);
      node = await startSolanaNode();
      front = await startRpcNode(node);
      receiver = await startReceiver();
      server = await start();
      store = openDatabase({ url: databaseUrl });
      const subscriptions = [{ eventType: "SEND_TRANSACTION_STATUS_UPDATES" }];
      await server.root.result("create_webhook_endpoint", { url: receiver.url, name: "hook", subscriptions });
      from = (await newSolanaWallet(server.root, node)).addresses;
    });
    after(async () => {
      await server.end("SIGKILL");
      await store.close();
      await Promise.all([front.close(), node.close(), receiver.close()]);
    });
    beforeEach(() => {
      unsigned = unsignedTransfer(from);
    });
    afterEach(() => passAll());

    const passAll = () => {
      for (const method of [TRY, SEND, LOOK]) front.when(method, PASS);
    };
    const submit = async (more: object = {}): Promise<string> => {
      const unsignedTransaction = unsigned.wire.toString("hex");
      const parameters = { unsignedTransaction, signWiths: from, caip2: TEST_CLUSTER, ...more };
      return (await server.root.result(PATH, parameters)).sendTransactionStatusId;
    };
    const rowOf = async (id: string) =>
      store.read.selectFrom("send_transactions").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
    const callsOf = (method: string, wanted: string) =>
      front.calls.filter(({ method: called, params }) => called === method && JSON.stringify(params).includes(wanted))
        .length;
    /** Looks at this test's transaction once the chain has it, before its status is stored. */
    const hangWhenIncluded = async ({ params }: { params: unknown[] }) => {
      if ((await lamportsOf(node, unsigned.to)) !== SOL) return PASS;
      const open = await store.read
        .selectFrom("send_transactions")
        .select("id")
        .where("transaction_hash", "in", params[0] as string[])
        .where("status", "=", "BROADCASTING")
        .execute();
      return open.length > 0 ? "hang" : PASS;
    };
    const encoded = async (id: string) => Buffer.from((await rowOf(id)).signed_transaction).toString("base64");

    async function killAndRestart(): Promise<void> {
      await server.end("SIGKILL");
      passAll();
      server = await start();
    }

    /** It is in a block, once, and each step was told once. */
    async function assertIncluded(id: string, signed: string): Promise<void> {
      const status = await sendStatus(server.root, id);
      assert.equal(status.txStatus, "INCLUDED", JSON.stringify(status));
      assert.equal(await lamportsOf(node, unsigned.to), SOL, "the chain has it once");
      assert.equal(await encoded(id), signed, "it is the transaction that was signed first");
      await until(async () => {
        const kind = "follow_solana_sends";
        return (await store.read.selectFrom("jobs").select("id").where("kind", "=", kind).execute()).length === 0;
      }, "no job to be left");
      const told = () =>
        receiver.received.filter(({ body }) => (JSON.parse(body) as Json).msg.sendTransactionStatusId === id);
      const statuses = () => Map.groupBy(told(), ({ body }) => (JSON.parse(body) as Json).msg.status as string);
      await until(() => statuses().size === 2, "both statuses to be told", TIMEOUT_MS);
      const events = [...statuses()].map(([status, received]) => [
        status,
        new Set(received.map(({ headers }) => headers["x-turnkey-event-id"])).size,
      ]);
      assert.deepEqual(Object.fromEntries(events), { BROADCASTING: 1, INCLUDED: 1 });
    }

    itInTurn("after it was signed and before it was tried out", { timeout: TIMEOUT_MS }, async () => {
      front.when(TRY, "hang");
      const id = await submit();
      const signed = await encoded(id);
      // Without its signature: it is the message that is looked for.
      const message = Buffer.from(signed, "base64").subarray(66).toString("base64");
      await until(() => callsOf(TRY, message) === 1, "it to be tried out");
      assert.equal((await rowOf(id)).status, "INITIALIZED");
      await killAndRestart();
      await assertIncluded(id, signed);
    });

    itInTurn("before a node has it", { timeout: TIMEOUT_MS }, async () => {
      front.when(SEND, "hang");
      const id = await submit();
      const signed = await encoded(id);
      await until(() => callsOf(SEND, signed) === 1, "it to be sent");
      assert.equal((await rowOf(id)).status, "BROADCASTING");
      await killAndRestart();
      await assertIncluded(id, signed);
    });

    itInTurn("when a node has it and has not answered", { timeout: TIMEOUT_MS }, async () => {
      front.when(SEND, async ({ params }) => {
        await node.call(SEND, ...params);
        return "hang" as const;
      });
      const id = await submit();
      const signed = await encoded(id);
      await until(async () => (await lamportsOf(node, unsigned.to)) === SOL, "the chain to have it");
      await killAndRestart();
      await assertIncluded(id, signed);
      assert.equal(callsOf(SEND, signed), 1, "it is found by its signature and not sent again");
    });

    itInTurn("when a block has it and its status is not stored", { timeout: TIMEOUT_MS }, async () => {
      front.when(LOOK, hangWhenIncluded);
      const id = await submit();
      const signed = await encoded(id);
      await until(async () => (await lamportsOf(node, unsigned.to)) === SOL, "the chain to have it");
      await until(() => front.open() > 0, "the look to begin");
      assert.equal((await rowOf(id)).status, "BROADCASTING");
      await killAndRestart();
      await assertIncluded(id, signed);
    });

    /** What sponsoring counts with, in millionths of a US dollar: each is a lamport, at 1,000 for one SOL. */
    const usedMicros = async (): Promise<number> => {
      const rows = await store.read.selectFrom("gas_usage").select("micro_usd").execute();
      return rows.reduce((sum, { micro_usd }) => sum + Number(micro_usd), 0);
    };

    itInTurn(
      "while the service pays for it, before a node has it and with the status not stored",
      { timeout: TIMEOUT_MS },
      async () => {
        const { solana: sponsor } = await sponsorsOf(server.baseUrl);
        await node.call("requestAirdrop", sponsor, Number(SOL));
        front.when(SEND, "hang");
        const id = await submit({ sponsor: true });
        const signed = await encoded(id);
        const reserved = await usedMicros();
        assert.ok(reserved > 0, "what it may cost is counted with it");
        await until(() => callsOf(SEND, signed) >= 1, "it to be sent");
        await server.end("SIGKILL");
        passAll();
        front.when(LOOK, hangWhenIncluded);
        server = await start();
        await until(async () => (await lamportsOf(node, unsigned.to)) === SOL, "the chain to have it");
        await killAndRestart();
        await assertIncluded(id, signed);
        const paid = SOL - (await lamportsOf(node, sponsor));
        assert.ok(paid > 0n, "the sponsor paid");
        assert.equal(BigInt(await usedMicros()), paid, "once, and it is counted once");
      },
    );

    if (engine === "postgres") {
      it("while another server on the same database follows it too", { timeout: TIMEOUT_MS }, async () => {
        const other = await start(folders[1]);
        try {
          const id = await submit();
          const signed = await encoded(id);
          await assertIncluded(id, signed);
          front.when(SEND, "hang");
          unsigned = unsignedTransfer(from);
          const second = await submit();
          const signedSecond = await encoded(second);
          await until(() => callsOf(SEND, signedSecond) >= 1, "it to be sent");
          await killAndRestart();
          await assertIncluded(second, signedSecond);
        } finally {
          await other.end("SIGKILL");
        }
      });
    }
  });
}
