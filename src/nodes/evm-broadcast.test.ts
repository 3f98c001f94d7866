import assert from "node:assert/strict";
import { after, afterEach, beforeEach, describe, it } from "node:test";
import { type RpcNode, type RpcReply, startRpcNode } from "../../test/support/rpc-node.ts";
import { createLogger } from "../kernel/log.ts";
import { broadcast } from "./evm-broadcast.ts";
import { createNodeClient } from "./node-client.ts";
import { createNodes, type EvmNodes } from "./pool.ts";

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
  evm = createNodes({ chains, outbound, log: createLogger("silent") });
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
    "tx already in mempool",
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
    ["unknown transaction type: 4", -32_000],
    ["the nonce is already in use", -32_000],
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
    [
      "a sequencer that has not answered the node",
      refusal('Post "https://sequencer.example": context deadline exceeded'),
    ],
    ["a sequencer that hung up on the node", refusal('Post "https://sequencer.example": EOF')],
    ["a gateway before the sequencer", refusal("502 Bad Gateway: <html>")],
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

  describe("that one node refuses", () => {
    let first: RpcNode;
    let both: EvmNodes;
    beforeEach(async () => {
      first = await startRpcNode();
      first.when("eth_chainId", { result: "0x2105" });
      first.when("eth_getTransactionByHash", UNKNOWN);
      node.when("eth_sendRawTransaction", refusal("nonce too low"));
      const chains = { [CHAIN]: { rpcUrls: [first.url, node.url], pollMs: 60_000 } };
      both = createNodes({ chains, outbound, log: createLogger("silent") });
    });
    afterEach(() => first.close());

    const REFUSED = { isKnown: false, reason: "nonce too low" };
    const others: [name: string, reply: RpcReply, isInDoubt: boolean][] = [
      ["whose answer was lost", { status: 502, body: "" }, true],
      ["whose answer was garbage", { status: 200, body: "ok" }, true],
      ["with an internal error", refusal("Internal error", -32_603), true],
      ["that ran out of time", refusal("request timed out", -32_002), true],
      ["that answered with another hash", { result: `0x${"cd".repeat(32)}` }, true],
      ["that let nobody through", { status: 429, body: "" }, false],
      ["that takes no more requests", refusal("limit exceeded", -32_005), false],
      ["that takes no transactions at all", refusal("method not found", -32_601), false],
      ["with a full pool", refusal("txpool is full"), false],
    ];
    for (const [name, reply, isInDoubt] of others) {
      it(`is ${isInDoubt ? "in doubt" : "refused"} after another ${name}`, async () => {
        first.when("eth_sendRawTransaction", reply);
        const outcome = await broadcast(both, CHAIN, transaction);
        assert.deepEqual(outcome, isInDoubt ? { ...REFUSED, isInDoubt } : REFUSED);
      });
    }

    it("is refused where the other was not reached", async () => {
      await first.down();
      assert.deepEqual(await broadcast(both, CHAIN, transaction), REFUSED);
    });
  });

  it("is not there because a node answers with another one", async () => {
    node.when("eth_getTransactionByHash", { result: { hash: `0x${"cd".repeat(32)}` } });
    await assert.rejects(send(), { code: "CHAIN_UNAVAILABLE" });
    assert.equal(node.count("eth_sendRawTransaction"), 0);
  });
});
