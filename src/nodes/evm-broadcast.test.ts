import assert from "node:assert/strict";
import { after, afterEach, beforeEach, describe, it } from "node:test";
import { type RpcNode, type RpcReply, startRpcNode } from "../../test/support/rpc-node.ts";
import { createLogger } from "../kernel/log.ts";
import { createEvmNodes, type EvmNodes } from "./evm.ts";
import { broadcast } from "./evm-broadcast.ts";
import { createNodeClient } from "./node-client.ts";

const CHAIN = "eip155:8453";
const transactionHash = `0x${"ab".repeat(32)}`;
const transaction = { signedTransaction: "0x02c0", transactionHash };
const UNKNOWN: RpcReply = { result: null };
const KNOWN: RpcReply = { result: { hash: transactionHash.toUpperCase().replace("X", "x"), blockNumber: null } };
const refusal = (message: string, code = -32_000): RpcReply => ({ error: { code, message } });

const outbound = createNodeClient();
after(() => outbound.close());

let node: RpcNode;
let evm: EvmNodes;
beforeEach(async () => {
  node = await startRpcNode();
  node.when("eth_chainId", { result: "0x2105" });
  node.when("eth_getTransactionByHash", UNKNOWN);
  const chains = { [CHAIN]: { rpcUrls: [node.url], pollMs: 60_000 } };
  evm = createEvmNodes({ chains, outbound, log: createLogger("silent") });
});
afterEach(() => node.close());

const send = () => broadcast(evm, CHAIN, transaction);

describe("a transaction", () => {
  it("that nobody has is sent once", async () => {
    node.when("eth_sendRawTransaction", { result: transactionHash });
    assert.deepEqual(await send(), { isKnown: true });
    const methods = node.calls.map(({ method }) => method);
    assert.deepEqual(methods, ["eth_chainId", "eth_getTransactionByHash", "eth_sendRawTransaction"]);
    assert.deepEqual(node.calls.at(-1)?.params, [transaction.signedTransaction]);
  });

  it("that a node has already is not sent", async () => {
    node.when("eth_getTransactionByHash", KNOWN);
    assert.deepEqual(await send(), { isKnown: true });
    assert.equal(node.count("eth_sendRawTransaction"), 0);
  });

  for (const words of [
    "already known",
    "known transaction: abab",
    "transaction already imported",
    "AlreadyKnown: Already known",
    "AlreadyKnown",
    "transaction already exists",
  ]) {
    it(`of which the node says "${words}" is there`, async () => {
      node.when("eth_sendRawTransaction", refusal(words));
      assert.deepEqual(await send(), { isKnown: true });
    });
  }

  it("whose nonce is used by itself is there", async () => {
    node.when("eth_sendRawTransaction", () => {
      node.when("eth_getTransactionByHash", KNOWN);
      return refusal("nonce too low: next nonce 1, tx nonce 0");
    });
    assert.deepEqual(await send(), { isKnown: true });
  });

  for (const [words, code] of [
    ["nonce too low", -32_003],
    ["insufficient funds for gas * price + value: have 0 want 21000", -32_000],
    ["replacement transaction underpriced", -32_000],
    ["intrinsic gas too low", -32_000],
    ["exceeds block gas limit", -32_000],
    ["words that nobody has heard before", -32_010],
  ] as const) {
    it(`that is refused with "${words}" is refused, in the node's words`, async () => {
      node.when("eth_sendRawTransaction", refusal(words, code));
      assert.deepEqual(await send(), { isKnown: false, reason: words });
      assert.equal(node.count("eth_getTransactionByHash"), 2, "it is looked for afterwards too");
    });
  }

  const nothingSaid: [name: string, reply: RpcReply][] = [
    ["an internal error", refusal("Internal error", -32_603)],
    ["a full pool", refusal("txpool is full")],
    ["a node that is behind", refusal("node is syncing")],
    ["another hash", { result: `0x${"cd".repeat(32)}` }],
    ["a result that is no hash", { result: { ok: true } }],
    ["garbage", { status: 200, body: "ok" }],
  ];
  for (const [name, reply] of nothingSaid) {
    it(`of which ${name} says nothing is left for later`, async () => {
      node.when("eth_sendRawTransaction", reply);
      await assert.rejects(send(), { code: "CHAIN_UNAVAILABLE" });
    });
  }

  it("is not there because a node answers with another one", async () => {
    node.when("eth_getTransactionByHash", { result: { hash: `0x${"cd".repeat(32)}` } });
    await assert.rejects(send(), { code: "CHAIN_UNAVAILABLE" });
    assert.equal(node.count("eth_sendRawTransaction"), 0);
  });
});
