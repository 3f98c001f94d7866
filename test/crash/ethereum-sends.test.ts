import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { type Anvil, startAnvil, TEST_CHAIN_ID } from "../support/anvil.ts";
import { balanceOf, TEST_CHAIN } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import { includedHash, newAddress, newEvmWallet, sendStatus, transactionOf } from "../support/evm-sender.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { engines, freshDatabaseUrl, itInTurns } from "../support/server.ts";
import { startOnNodes } from "../support/server-on-nodes.ts";
import { type ServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

/**
 * An Ethereum transaction whose server is killed between any two steps: its commit, its signature, its being given to a node, and seen in
 * a block. It is never lost, never gets a second nonce, and each status is told under one event.
 */

const PATH = "eth_send_transaction";
const [SIGN, SEND, LOOK] = ["eth_blockNumber", "eth_sendRawTransaction", "eth_getTransactionReceipt"] as const;
const PASS = "pass on";
const TIMEOUT_MS = 600_000;

for (const engine of engines) {
  describe(`an Ethereum transaction whose server is killed (${engine})`, () => {
    const itInTurn = itInTurns(engine);
    const folders = [temporaryFolder(), temporaryFolder()] as const;
    let databaseUrl: string;
    let store: Database;
    let node: Anvil;
    let front: RpcNode;
    let server: ServerProcess;
    let receiver: Receiver;
    let from: string;
    let to: string;

    const start = (dataDir = folders[0]) =>
      startOnNodes({
        folder: folders[0],
        dataDir,
        databaseUrl,
        chains: { [TEST_CHAIN]: { rpcUrls: [front.url] } },
        settings: { KEYSTEAD_WEBHOOK_RETRY_SECONDS: "0,0.2,0.5,1,1,1,2,2,5,5" },
      });

    before(async () => {
      databaseUrl = await freshDatabaseUrl(engine, folders[0], MIGRATED_DATABASE);
      node = await startAnvil({ chainId: TEST_CHAIN_ID });
      front = await startRpcNode(node);
      receiver = await startReceiver();
      server = await start();
      store = openDatabase({ url: databaseUrl });
      const subscriptions = [{ eventType: "SEND_TRANSACTION_STATUS_UPDATES" }];
      await server.root.result("create_webhook_endpoint", { url: receiver.url, name: "hook", subscriptions });
    });
    after(async () => {
      await server.end("SIGKILL");
      await store.close();
      await Promise.all([front.close(), node.stop(), receiver.close()]);
    });
    beforeEach(async () => {
      [from] = (await newEvmWallet(server.root, node)).addresses as [string];
      to = newAddress();
    });
    afterEach(() => passAll());

    const passAll = () => {
      for (const method of [SIGN, SEND, LOOK]) front.when(method, PASS);
    };
    const submit = async (target = to): Promise<string> => {
      const parameters = { from, caip2: TEST_CHAIN, calls: [{ to: target, value: "1" }] };
      return (await server.root.result(PATH, parameters)).sendTransactionStatusId;
    };
    const rowOf = async (id: string) =>
      store.read.selectFrom("send_transactions").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
    const bytesOf = async (id: string) => `0x${Buffer.from((await rowOf(id)).signed_transaction).toString("hex")}`;

    async function killAndRestart(): Promise<void> {
      await server.end("SIGKILL");
      passAll();
      server = await start();
    }

    /** It is in a block, once, with the account's only nonce, and each step was told once. */
    async function assertIncluded(id: string): Promise<void> {
      const status = await sendStatus(server.root, id);
      assert.equal(status.txStatus, "INCLUDED", JSON.stringify(status));
      assert.equal(await balanceOf(node, to), 1n, "the chain has it once");
      assert.equal(Number((await transactionOf(node, status.eth.txHash)).nonce), 0);
      assert.equal(Number(await node.call("eth_getTransactionCount", from, "pending")), 1);
      const told = () =>
        receiver.received.filter(({ body }) => (JSON.parse(body) as Json).msg.sendTransactionStatusId === id);
      const statuses = () => Map.groupBy(told(), ({ body }) => (JSON.parse(body) as Json).msg.status as string);
      await until(() => statuses().size === 2, "both statuses to be told", TIMEOUT_MS);
      const events = [...statuses()].map(([name, received]) => [
        name,
        new Set(received.map(({ headers }) => headers["x-turnkey-event-id"])).size,
      ]);
      assert.deepEqual(Object.fromEntries(events), { BROADCASTING: 1, INCLUDED: 1 });
    }

    itInTurn("before it was signed", { timeout: TIMEOUT_MS }, async () => {
      front.when(SIGN, "hang");
      const id = await submit();
      await until(() => front.open() > 0, "the look to begin");
      assert.equal((await rowOf(id)).status, "INITIALIZED");
      assert.equal(await bytesOf(id), "0x");
      await killAndRestart();
      await assertIncluded(id);
    });

    itInTurn("after it was signed and before a node has it", { timeout: TIMEOUT_MS }, async () => {
      front.when(SEND, "hang");
      const id = await submit();
      await until(async () => (await rowOf(id)).status === "BROADCASTING", "it to be signed");
      const signed = await bytesOf(id);
      await until(() => front.calls.some(({ params }) => params[0] === signed), "it to be sent");
      await killAndRestart();
      await assertIncluded(id);
      assert.equal(await bytesOf(id), signed, "nothing was signed again");
    });

    itInTurn("when a node has it and has not answered", { timeout: TIMEOUT_MS }, async () => {
      front.when(SEND, async ({ params }) => {
        await node.call(SEND, ...params);
        return "hang" as const;
      });
      const id = await submit();
      await until(async () => (await balanceOf(node, to)) === 1n, "the chain to have it");
      const signed = await bytesOf(id);
      await killAndRestart();
      await assertIncluded(id);
      assert.equal(await bytesOf(id), signed);
    });

    itInTurn("when a block has it and its status is not stored", { timeout: TIMEOUT_MS }, async () => {
      front.when(LOOK, async ({ params }) => {
        const row = await store.read
          .selectFrom("send_transactions")
          .select("id")
          .where("transaction_hash", "=", String(params[0]))
          .where("status", "=", "BROADCASTING")
          .executeTakeFirst();
        return row ? "hang" : PASS;
      });
      const id = await submit();
      await until(async () => (await balanceOf(node, to)) === 1n, "the chain to have it");
      await until(() => front.open() > 0, "the look to begin");
      assert.equal((await rowOf(id)).status, "BROADCASTING");
      await killAndRestart();
      await assertIncluded(id);
    });

    if (engine === "postgres") {
      it("while two servers on the same database send for one account", { timeout: TIMEOUT_MS }, async () => {
        const other = await start(folders[1]);
        try {
          const targets = Array.from({ length: 20 }, newAddress);
          const ids = await Promise.all(
            targets.map(async (target, index) => {
              const { root } = index % 2 === 0 ? server : other;
              const parameters = { from, caip2: TEST_CHAIN, calls: [{ to: target, value: "1" }] };
              return (await root.result(PATH, parameters)).sendTransactionStatusId as string;
            }),
          );
          await server.end("SIGKILL");
          const hashes = await Promise.all(ids.map((id) => includedHash(other.root, id)));
          const taken = await Promise.all(hashes.map((hash) => transactionOf(node, hash)));
          const nonces = taken.map(({ nonce }) => Number(nonce)).sort((one, another) => one - another);
          assert.deepEqual(nonces, [...nonces.keys()]);
          for (const target of targets) assert.equal(await balanceOf(node, target), 1n);
          server = await start();
        } finally {
          await other.end("SIGKILL");
        }
      });
    }
  });
}
