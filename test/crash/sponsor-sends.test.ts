import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe } from "node:test";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { type Anvil, startAnvil, TEST_CHAIN_ID } from "../support/anvil.ts";
import { balanceOf, TEST_CHAIN } from "../support/chain.ts";
import { includedHash, newAddress, transactionOf } from "../support/evm-sender.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { engines, freshDatabaseUrl, itInTurns } from "../support/server.ts";
import { startOnNodes } from "../support/server-on-nodes.ts";
import { type ServerProcess, temporaryFolder } from "../support/server-process.ts";
import { nodesFor, richSponsor, sponsored } from "../support/sponsor.ts";
import { until } from "../support/until.ts";

/** A transaction that the service pays for, whose server is killed between two steps: it is never lost and never sent twice. */

const SEND = "eth_sendRawTransaction";
const TIMEOUT_MS = 600_000;

for (const engine of engines) {
  describe(`a sponsored transaction whose server is killed (${engine})`, () => {
    const itInTurn = itInTurns(engine);
    const folder = temporaryFolder();
    let databaseUrl: string;
    let store: Database;
    let node: Anvil;
    let front: RpcNode;
    let nodes: ReturnType<typeof nodesFor>;
    let server: ServerProcess;
    let sponsor: string;
    let to: string;
    /** What the sponsor's next transaction has. */
    let nonce: number;

    const start = () => startOnNodes({ folder, databaseUrl, chains: { [TEST_CHAIN]: { rpcUrls: [front.url] } } });

    before(async () => {
      databaseUrl = await freshDatabaseUrl(engine, folder, MIGRATED_DATABASE);
      node = await startAnvil({ chainId: TEST_CHAIN_ID });
      front = await startRpcNode(node);
      nodes = nodesFor(node.url);
      server = await start();
      store = openDatabase({ url: databaseUrl });
      sponsor = await richSponsor(server.baseUrl, node);
    });
    after(async () => {
      await server.end("SIGKILL");
      await Promise.all([store.close(), nodes.close(), front.close(), node.stop()]);
    });
    beforeEach(async () => {
      to = newAddress();
      nonce = Number(await node.call("eth_getTransactionCount", sponsor, "latest"));
    });
    afterEach(() => front.when(SEND, "pass on"));

    const rowOf = async (id: string) =>
      store.read.selectFrom("send_transactions").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
    const bytesOf = async (id: string) => `0x${Buffer.from((await rowOf(id)).signed_transaction).toString("hex")}`;
    const send = () => sponsored({ database: store, evm: nodes.evm }, server.root, { to, value: 1n });

    async function assertIncludedOnce(id: string): Promise<void> {
      await server.end("SIGKILL");
      front.when(SEND, "pass on");
      server = await start();
      const mined = await transactionOf(node, await includedHash(server.root, id));
      assert.deepEqual([Number(mined.nonce), mined.to], [nonce, to]);
      assert.equal(await balanceOf(node, to), 1n, "the chain has it once");
      assert.equal(Number(await node.call("eth_getTransactionCount", sponsor, "pending")), nonce + 1);
    }

    itInTurn("after it was signed and before a node has it", { timeout: TIMEOUT_MS }, async () => {
      front.when(SEND, "hang");
      const id = await send();
      await until(async () => (await rowOf(id)).status === "BROADCASTING", "it to be signed");
      const signed = await bytesOf(id);
      await until(() => front.calls.some(({ params }) => params[0] === signed), "it to be sent");
      await assertIncludedOnce(id);
      assert.equal(await bytesOf(id), signed, "nothing was signed again");
    });

    itInTurn("when a node has it and has not answered", { timeout: TIMEOUT_MS }, async () => {
      front.when(SEND, async ({ params }) => {
        await node.call(SEND, ...params);
        return "hang" as const;
      });
      const id = await send();
      await until(async () => (await balanceOf(node, to)) === 1n, "the chain to have it");
      const signed = await bytesOf(id);
      await assertIncludedOnce(id);
      assert.equal(await bytesOf(id), signed);
    });
  });
}
