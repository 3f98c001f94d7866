import assert from "node:assert/strict";
import { after, afterEach, beforeEach, describe, it } from "node:test";
import { type RpcNode, startRpcNode } from "../../test/support/rpc-node.ts";
import { MAX_FAILURE_JSON_LENGTH, MAX_LOG_LENGTH, MAX_LOGS } from "../kernel/limits.ts";
import { createLogger } from "../kernel/log.ts";
import { createNodeClient } from "./node-client.ts";
import { createNodes, type SolanaNodes } from "./pool.ts";
import { latestBlockhash, send, signatureStatuses, simulate, tooOldSince } from "./solana-calls.ts";
import { solanaBalancesOf } from "./solana-state.ts";

const CLUSTER = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
const HASH = "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin";
const WIRE = Buffer.from([0, 1, 2]);

const outbound = createNodeClient();
after(() => outbound.close());

let node: RpcNode;
let nodes: SolanaNodes;
beforeEach(async () => {
  node = await startRpcNode();
  node.when("getGenesisHash", { result: "EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxPkrZBG" });
  const chains = { [CLUSTER]: { rpcUrls: [node.url], pollMs: 60_000 } } as const;
  nodes = createNodes({ chains, outbound, log: createLogger("silent") });
});
afterEach(() => node.close());

const at = (slot: number, value: unknown) => ({ result: { context: { slot }, value } });

it("balances below 0 are no answer", async () => {
  node.when("getTokenAccountsByOwner", at(1, []));
  for (const [said, balance] of [
    [-5, undefined],
    [0, 0n],
    [7, 7n],
  ] as const) {
    node.when("getBalance", at(1, said));
    const asked = solanaBalancesOf(nodes, CLUSTER, HASH, [null]);
    if (balance === undefined) await assert.rejects(asked, { code: "CHAIN_UNAVAILABLE" });
    else assert.deepEqual(await asked, [balance]);
  }
});

describe("a blockhash", () => {
  const cases: [name: string, newest: [number, boolean], final: [number, boolean], isOld: boolean][] = [
    ["that the newest block knows is not too old", [1000, true], [968, false], false],
    ["that only the final block knows is not too old", [1000, false], [968, true], false],
    ["that is too new for a final block before its time is not too old", [1000, false], [899, false], false],
    ["that no block knows, though the final one comes after its time, is too old", [1000, false], [900, false], true],
  ];
  for (const [name, newest, final, isOld] of cases) {
    it(name, async () => {
      node.when("isBlockhashValid", ({ params: [hash, options] }) => {
        assert.equal(hash, HASH);
        const { commitment } = options as { commitment: string };
        return at(...(commitment === "processed" ? newest : final));
      });
      const since = await tooOldSince(nodes, CLUSTER, { blockhash: HASH, knownAt: 900 });
      assert.equal(since, isOld ? final[0] : undefined);
    });
  }

  it("of which an answer says half is nothing that is known", async () => {
    for (const reply of [{ result: false }, { result: { value: false } }, at(1, null), { result: null }]) {
      node.when("isBlockhashValid", reply);
      await assert.rejects(tooOldSince(nodes, CLUSTER, { blockhash: HASH, knownAt: 0 }), { code: "CHAIN_UNAVAILABLE" });
    }
  });

  it("is fetched once for all who want one in the same moment, and again after a failure", async () => {
    node.when("getLatestBlockhash", at(1, { blockhash: "no hash!" }));
    await assert.rejects(latestBlockhash(nodes, CLUSTER), { code: "CHAIN_UNAVAILABLE" });
    node.when("getLatestBlockhash", at(1, { blockhash: HASH, lastValidBlockHeight: 151 }));
    const all = await Promise.all([1, 2, 3].map(() => latestBlockhash(nodes, CLUSTER)));
    assert.deepEqual(all, [HASH, HASH, HASH]);
    assert.equal(node.count("getLatestBlockhash"), 2);
  });
});

describe("a transaction that is tried out", () => {
  it("fails with what the node says, within bounds", async () => {
    const logs = Array.from({ length: 3 * MAX_LOGS }, (_, index) => `${index} ${"x".repeat(2 * MAX_LOG_LENGTH)}`);
    const innerInstructions = ["y".repeat(MAX_FAILURE_JSON_LENGTH)];
    node.when(
      "simulateTransaction",
      at(7, { err: "InsufficientFundsForFee", logs, unitsConsumed: 9, innerInstructions }),
    );
    const { slot, failure } = await simulate(nodes, CLUSTER, WIRE);
    assert.equal(slot, 7);
    const { logs: kept = [], ...rest } = failure ?? { source: "broadcast" };
    assert.deepEqual(rest, {
      source: "simulation",
      transactionErrorJson: '"InsufficientFundsForFee"',
      unitsConsumed: "9",
    });
    assert.equal(kept.length, MAX_LOGS);
    assert.ok(kept.every((line) => line.length <= MAX_LOG_LENGTH));
    assert.match(kept.at(-1) ?? "", new RegExp(`^${3 * MAX_LOGS - 1} `));
  });

  for (const [err, known] of [
    ["BlockhashNotFound", {}],
    // From a node that verifies signatures although the request says not to.
    ["SignatureFailure", {}],
    ["AlreadyProcessed", { slot: 7 }],
  ] as const) {
    it(`does not fail by ${err}`, async () => {
      node.when("simulateTransaction", at(7, { err, logs: [] }));
      assert.deepEqual(await simulate(nodes, CLUSTER, WIRE), known);
    });
  }

  it("is shown to the node without its signatures", async () => {
    node.when("simulateTransaction", at(7, { err: null, logs: [] }));
    const message = Buffer.from("the message");
    await simulate(nodes, CLUSTER, Buffer.concat([Buffer.from([2]), Buffer.alloc(128, 7), message]));
    const shown = Buffer.concat([Buffer.from([2]), Buffer.alloc(128), message]);
    assert.equal(node.calls.at(-1)?.params[0], shown.toString("base64"));
  });
});

describe("statuses", () => {
  it("are read from the oldest and the newest nodes", async () => {
    node.when(
      "getSignatureStatuses",
      at(9, [
        null,
        { slot: 8, confirmations: 0, err: null, confirmationStatus: "processed" },
        { slot: 8, confirmations: 3, err: { InstructionError: [0, { Custom: 1 }] }, confirmationStatus: "confirmed" },
        { slot: 1, confirmations: null, err: null },
      ]),
    );
    assert.deepEqual(await signatureStatuses(nodes, CLUSTER, ["a", "b", "c", "d"]), {
      slot: 9,
      statuses: [
        undefined,
        { isConfirmed: false },
        { isConfirmed: true, error: { InstructionError: [0, { Custom: 1 }] } },
        { isConfirmed: true },
      ],
    });
  });

  it("that are half told are none", async () => {
    for (const value of [[], [null], [null, { slot: 1 }], [null, "confirmed"], {}, null]) {
      node.when("getSignatureStatuses", at(9, value));
      await assert.rejects(signatureStatuses(nodes, CLUSTER, ["a", "b"]), { code: "CHAIN_UNAVAILABLE" });
    }
  });
});

describe("a transaction that is sent", () => {
  it("is taken by a node that answers with its signature, and by no other", async () => {
    node.when("sendTransaction", { result: "signature" });
    assert.deepEqual(await send(nodes, CLUSTER, { signed: WIRE, signature: "signature" }), {});
    assert.deepEqual(node.calls.at(-1)?.params[0], WIRE.toString("base64"));
    await assert.rejects(send(nodes, CLUSTER, { signed: WIRE, signature: "another" }), { code: "CHAIN_UNAVAILABLE" });
  });

  it("is refused in the node's words", async () => {
    const data = { err: "AccountNotFound", logs: ["why"] };
    node.when("sendTransaction", { error: { code: -32_002, message: "no", data } });
    assert.deepEqual(await send(nodes, CLUSTER, { signed: WIRE, signature: "signature" }), {
      refusal: {
        source: "broadcast",
        rpcCode: -32_002,
        rpcMessage: "no",
        transactionErrorJson: '"AccountNotFound"',
        logs: ["why"],
      },
    });
  });
});
