import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { encodeFunctionData } from "viem";
import { HOUR_MS, MINUTE_MS } from "../../src/kernel/durations.ts";
import { SWAP_TURN_MS } from "../../src/kernel/limits.ts";
import { type Anvil, EARN_CHAIN_ID, startAnvil } from "../support/anvil.ts";
import { EARN_CHAIN } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import { newCaller } from "../support/deployed-contracts.ts";
import { relayOfTests } from "../support/relay.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { richSponsor } from "../support/sponsor.ts";
import {
  assetOf,
  deploySwapWorld,
  NATIVE_ASSET,
  newSwapper,
  quoted,
  quoteParams,
  SWAP_INPUT,
  SWAP_OUTPUT,
  SWAP_ROUTER,
  swapEnded,
  swapRouterAbi,
} from "../support/swap-world.ts";
import { until } from "../support/until.ts";

/** Swaps whose chain is reorganized, and those whose nodes say more than anybody can look at. */

const NATIVE = `0x${"00".repeat(20)}`;
const TRACE = "debug_traceTransaction";
const SIMULATE = "eth_simulateV1";
const TOO_LARGE = { status: 200, body: `{"jsonrpc": "2.0", "id": 1, "result": "${"0".repeat(17 * 1024 * 1024)}"}` };

describe("swaps and their nodes", () => {
  let node: Anvil;
  let front: RpcNode;
  let server: TestServer;
  /** Milliseconds, of the server's clock. */
  let ahead = 0;

  before(async () => {
    node = await startAnvil({ chainId: EARN_CHAIN_ID });
    await deploySwapWorld(node);
    front = await startRpcNode(node);
    const clock = () => Date.now() + ahead;
    server = await startTestServer("sqlite", { clock, chains: { [EARN_CHAIN]: { rpcUrls: [front.url] } } });
    await richSponsor(server.baseUrl, node);
  });
  afterEach(() => {
    for (const method of [TRACE, SIMULATE]) front.when(method, "pass on");
  });
  after(async () => {
    await server.close();
    await front.close();
    await node.stop();
  });

  const newWallet = () => newSwapper(server.root, 10n ** 12n, node);
  const statusOf = (swapRequestId: string): Promise<Json> => server.root.read("get_swap_status", { swapRequestId });
  const followed = async (swapRequestId: string) =>
    server.opened.database.read
      .selectFrom("jobs")
      .select("id")
      .where("kind", "=", "follow_swap")
      .where("payload", "like", `%${swapRequestId}%`)
      .execute();
  const gateOf = async (swapRequestId: string) => {
    const { database } = server.opened;
    const lane = `swap:${server.root.organizationId}:${swapRequestId}`;
    const lanes = await database.read.selectFrom("job_lanes").select("gate").where("lane", "=", lane).execute();
    return lanes.map(({ gate }) => gate);
  };

  it("are COMPLETED where another block has them than the one in which they failed", async () => {
    const wallet = await newWallet();
    const { root } = server;
    const stranger = await newCaller(node);
    const request = await quoted(root, quoteParams(wallet, { inputToken: NATIVE_ASSET }));
    await node.call("anvil_mine", "0x3");
    await node.call("evm_setAutomine", false);
    let swapRequestId: string;
    try {
      ({ swapRequestId } = await root.result("execute_swap", request));
      const waiting = async () => Number(await node.call("eth_getTransactionCount", wallet, "pending")) === 1;
      await until(waiting, "it to wait for a block");
      // In this block alone somebody before it takes all that the router has.
      const args = [NATIVE, 0n, SWAP_OUTPUT, 10n ** 30n, 0n, stranger, 0n, NATIVE];
      const data = encodeFunctionData({ abi: swapRouterAbi, functionName: "swap", args });
      const [gas, maxPriorityFeePerGas] = ["0x493e0", "0x174876e800"];
      const fees = { maxPriorityFeePerGas, maxFeePerGas: "0x2e90edd000" };
      await node.call("eth_sendTransaction", { from: stranger, to: SWAP_ROUTER, data, gas, ...fees });
      await node.call("evm_mine");
    } finally {
      await node.call("evm_setAutomine", true);
    }
    const failed = await swapEnded(root, swapRequestId, ({ status }) => status !== "PENDING");
    assert.deepEqual([failed.status, failed.error?.reason], ["FAILED", "ORIGIN_TRANSACTION_FAILED"]);
    const { signed_transaction: signed } = await server.opened.database.read
      .selectFrom("send_transactions")
      .select("signed_transaction")
      .where("transaction_hash", "=", failed.originTxHash)
      .executeTakeFirstOrThrow();
    await node.call("anvil_reorg", 1, [[`0x${Buffer.from(signed).toString("hex")}`, 0]]);
    await node.call("anvil_mine", "0x10");
    const status = await swapEnded(root, swapRequestId, (one) => one.outputAmount !== undefined);
    assert.deepEqual([status.status, status.outputAmount, status.error], ["COMPLETED", "1000000", undefined]);
    await until(async () => (await followed(swapRequestId)).length === 0, "nothing to be left that could change it");
  });

  it("are COMPLETED without an amount where nodes do not tell it, written once, and get it from the provider", async () => {
    const wallet = await newWallet();
    const { root } = server;
    const relay = await relayOfTests();
    front.when(TRACE, TOO_LARGE);
    const request = await quoted(root, quoteParams(wallet, { outputToken: NATIVE_ASSET }));
    const { swapRequestId } = await root.result("execute_swap", request);
    const completed = await swapEnded(root, swapRequestId, ({ status }) => status !== "PENDING");
    assert.deepEqual([completed.status, completed.outputAmount], ["COMPLETED", undefined], JSON.stringify(completed));
    const requestId = relay.lastRequestOf(wallet);
    const asked = () => relay.requests.filter(({ path }) => path.endsWith(`/v3?id=${requestId}`)).length;
    const before = asked();
    await until(() => asked() >= before + 2, "the provider to be asked again");
    assert.equal((await statusOf(swapRequestId)).updatedAt, completed.updatedAt);
    const route = { actual: { destination: { outputCurrency: { amount: "999999" } } } };
    relay.tell(requestId, {}, { data: { route } });
    assert.equal((await swapEnded(root, swapRequestId)).outputAmount, "999999");
    assert.deepEqual(await gateOf(swapRequestId), [`swaps:${EARN_CHAIN}`]);
  });

  it("are COMPLETED where a block has what nodes refused, and are followed no longer than it is looked for", async () => {
    const { root } = server;
    const swaps = [];
    for (const _ of ["one that a block has", "one that none has"]) {
      const wallet = await newWallet();
      let refused: unknown;
      front.when("eth_sendRawTransaction", ({ params }) => {
        refused = params[0];
        return { error: { code: -32_000, message: "words of a node that keeps what it refuses" } };
      });
      const request = await quoted(root, quoteParams(wallet, { inputToken: NATIVE_ASSET }));
      const { swapRequestId } = await root.result("execute_swap", request);
      const failed = await swapEnded(root, swapRequestId, ({ status }) => status !== "PENDING");
      front.when("eth_sendRawTransaction", "pass on");
      assert.deepEqual([failed.status, failed.error?.reason], ["FAILED", "ORIGIN_TRANSACTION_FAILED"]);
      swaps.push({ swapRequestId, refused });
    }
    const [had, never] = swaps as [{ swapRequestId: string; refused: unknown }, { swapRequestId: string }];
    await node.call("eth_sendRawTransaction", had.refused);
    const status = await swapEnded(root, had.swapRequestId, (one) => one.outputAmount !== undefined);
    assert.deepEqual([status.status, status.outputAmount, status.error], ["COMPLETED", "1000000", undefined]);
    await node.call("anvil_mine", "0x10");
    const isFollowed = async ({ swapRequestId }: { swapRequestId: string }) =>
      (await followed(swapRequestId)).length > 0;
    assert.ok(await isFollowed(never));
    const isLookedFor = async () =>
      (
        await server.opened.database.read
          .selectFrom("jobs")
          .select("id")
          .where("kind", "=", "settle_evm_send")
          .execute()
      ).length > 0;
    ahead = HOUR_MS + MINUTE_MS;
    await until(async () => !(await isLookedFor()), "the blocks to be looked through no more");
    ahead = 2 * HOUR_MS;
    for (const swap of swaps) await until(async () => !(await isFollowed(swap)), "nothing to be left to look for");
    assert.equal((await statusOf(never.swapRequestId)).status, "FAILED");
    ahead = 0;
  });

  it("FAIL where they do more than can be looked at", async () => {
    const wallet = await newWallet();
    const { root } = server;
    front.when(SIMULATE, async ({ params }) => {
      const result = (await node.call(SIMULATE, ...params)) as Json;
      for (const call of result[0].calls) {
        const [first] = call.logs;
        if (first) call.logs = Array.from({ length: 1001 }, () => first);
      }
      return { result };
    });
    const { swapRequestId } = await root.result("execute_swap", await quoted(root, quoteParams(wallet)));
    const { status, error } = await swapEnded(root, swapRequestId);
    assert.deepEqual([status, error.message], ["FAILED", "the swap was not sent: it does more than can be looked at"]);
  });

  it("are never signed long after their quote, when nobody knows any more what they would do", async () => {
    for (const [sponsor, inputToken] of [
      [false, assetOf(SWAP_INPUT)],
      [false, NATIVE_ASSET],
      [true, assetOf(SWAP_INPUT)],
    ] as const) {
      const wallet = await newWallet();
      const request = await quoted(server.root, quoteParams(wallet, { inputToken }), { sponsor });
      front.when("eth_getTransactionCount", { status: 503, body: "" });
      const asked = front.count("eth_getTransactionCount");
      const { swapRequestId } = await server.root.result("execute_swap", request);
      await front.waitFor("eth_getTransactionCount", asked + 1);
      ahead = 3_600_000 + SWAP_TURN_MS;
      front.when("eth_getTransactionCount", "pass on");
      const { status, originTxHash, error } = await swapEnded(server.root, swapRequestId);
      ahead = 0;
      assert.deepEqual([status, originTxHash], ["FAILED", undefined]);
      assert.match(error.message, /^the quote had expired before its turn came/);
      const sent = sponsor ? 0n : BigInt((await node.call("eth_getTransactionCount", wallet, "latest")) as string);
      assert.equal(sent, 0n);
    }
  });

  it("between chains wait for their provider, and not for a chain", async () => {
    const wallet = await newWallet();
    const { root } = server;
    const outputToken = `eip155:10/erc20:0x${"12".repeat(20)}`;
    const request = await quoted(root, quoteParams(wallet, { inputToken: NATIVE_ASSET, outputToken }));
    const { swapRequestId } = await root.result("execute_swap", request);
    assert.deepEqual(await gateOf(swapRequestId), ["swaps:relay"]);
  });
});
