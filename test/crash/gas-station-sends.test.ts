import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe } from "node:test";
import { type Anvil, startAnvil, TEST_CHAIN_ID } from "../support/anvil.ts";
import { balanceOf, TEST_CHAIN } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import { giveEther, includedHash, newAddress, newEvmWallet } from "../support/evm-sender.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { engines, freshDatabaseUrl, itInTurns } from "../support/server.ts";
import { startOnNodes } from "../support/server-on-nodes.ts";
import { type ServerProcess, temporaryFolder } from "../support/server-process.ts";
import { richSponsor, usedMicros } from "../support/sponsor.ts";
import { until } from "../support/until.ts";

/**
 * Calls that the service pays for, whose server is killed at each step: they are executed once, and what was counted for them beforehand
 * is what they cost in the end.
 */

const TIMEOUT_MS = 600_000;
const PRICE = 2000n;
/** While one hangs: nothing is signed, the account's part is to be signed, the sponsor's, a node is to have it, a block to be looked at. */
const STEPS = {
  "before anything was signed": "eth_blockNumber",
  "before the account has signed": "eth_getStorageAt",
  "after it was signed and before a node has it": "eth_sendRawTransaction",
  "when a block has it and nobody has looked": "eth_getTransactionReceipt",
} as const;
const SEND = "eth_sendRawTransaction";

for (const engine of engines) {
  describe(`calls through the gas station whose server is killed (${engine})`, () => {
    const itInTurn = itInTurns(engine);
    const folder = temporaryFolder();
    let databaseUrl: string;
    let node: Anvil;
    let front: RpcNode;
    let server: ServerProcess;
    let sponsor: string;
    let from: string;
    let to: string;

    const start = () =>
      startOnNodes({
        folder,
        databaseUrl,
        chains: { [TEST_CHAIN]: { rpcUrls: [front.url] } },
        parts: { prices: { [`${TEST_CHAIN}/slip44:60`]: `${PRICE}.00` } },
      });

    before(async () => {
      databaseUrl = await freshDatabaseUrl(engine, folder, MIGRATED_DATABASE);
      node = await startAnvil({ chainId: TEST_CHAIN_ID });
      front = await startRpcNode(node);
      server = await start();
      sponsor = await richSponsor(server.baseUrl, node);
      [from] = (await newEvmWallet(server.root, node)).addresses as [string];
      await giveEther(node, from, 1000n);
      // The station is there before anything is counted.
      await includedHash(server.root, await send(newAddress()));
    });
    after(async () => {
      await server.end("SIGKILL");
      await Promise.all([front.close(), node.stop()]);
    });
    beforeEach(() => {
      to = newAddress();
    });
    afterEach(() => front.passOnAll());

    const send = async (target: string): Promise<string> => {
      const parameters = { from, caip2: TEST_CHAIN, sponsor: true, calls: [{ to: target, value: "1" }] };
      return (await server.root.result("eth_send_transaction", parameters)).sendTransactionStatusId;
    };
    const countOf = async (address: string) => Number(await node.call("eth_getTransactionCount", address, "pending"));

    async function killAndAssertOnce(id: string, before: { used: bigint; count: number }): Promise<void> {
      assert.ok((await usedMicros(server.root)) > before.used, "its greatest cost is counted");
      await server.end("SIGKILL");
      front.passOnAll();
      server = await start();
      const receipt = (await node.receipt(await includedHash(server.root, id))) as unknown as Json;
      assert.equal(await balanceOf(node, to), 1n, "the chain has it once");
      assert.equal(await countOf(sponsor), before.count + 1);
      const wei = BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice);
      const paid = (wei * PRICE * 10n ** 6n + 10n ** 18n - 1n) / 10n ** 18n;
      assert.equal((await usedMicros(server.root)) - before.used, paid, "what is left of the reservation is released");
    }
    const stateBefore = async () => ({ used: await usedMicros(server.root), count: await countOf(sponsor) });

    for (const [when, method] of Object.entries(STEPS)) {
      itInTurn(when, { timeout: TIMEOUT_MS }, async () => {
        const before = await stateBefore();
        const asked = front.count(method);
        front.when(method, "hang");
        const id = await send(to);
        await until(() => front.count(method) > asked, `the server to ask for ${method}`);
        await killAndAssertOnce(id, before);
      });
    }

    itInTurn("when a node has it and has not answered", { timeout: TIMEOUT_MS }, async () => {
      const before = await stateBefore();
      front.when(SEND, async ({ params }) => {
        await node.call(SEND, ...params);
        return "hang" as const;
      });
      const id = await send(to);
      await until(async () => (await balanceOf(node, to)) === 1n, "the chain to have it");
      await killAndAssertOnce(id, before);
    });

    itInTurn("after a node has refused it, and is given it again", { timeout: TIMEOUT_MS }, async () => {
      const before = await stateBefore();
      let given = 0;
      front.when(SEND, () => (given++ === 0 ? { error: { code: -32_000, message: "words of a refusal" } } : "hang"));
      const id = await send(to);
      await until(() => given >= 2, "it to be given again");
      await killAndAssertOnce(id, before);
    });
  });
}
