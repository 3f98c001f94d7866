import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { internalTransfers } from "./evm-traces.ts";

const HASH = `0x${"11".repeat(32)}`;
const [A, B, C] = ["aa", "bb", "cc"].map((byte) => `0x${byte.repeat(20)}`) as [string, string, string];
const call = (from: string, to: string, value: string, more: object = {}) => ({
  type: "CALL",
  from,
  to,
  value,
  ...more,
});
const traced = (...calls: object[]) => [{ txHash: HASH, result: call(A, B, "0x5", { calls }) }];
const found = (result: unknown, max = 100) => internalTransfers(result, max)?.get(HASH);

describe("what moves inside a transaction", () => {
  it("is in the calls below the outermost, in their order", () => {
    const calls = [call(B, C, "0x1", { calls: [call(C, A, "0x2")] }), call(B, A, "0x3")];
    assert.deepEqual(
      found(traced(...calls))?.map(({ from, to, amount }) => [from, to, amount]),
      [
        [B, C, 1n],
        [C, A, 2n],
        [B, A, 3n],
      ],
    );
  });

  it("is nothing of a failed call, and of what was called in it", () => {
    assert.equal(found(traced(call(B, C, "0x1", { error: "reverted", calls: [call(C, A, "0x2")] }))), undefined);
    const failed = [{ txHash: HASH, result: call(A, B, "0x5", { error: "out of gas", calls: [call(B, C, "0x1")] }) }];
    assert.equal(found(failed), undefined);
  });

  it("is nothing of calls that leave the value where it is", () => {
    const types = ["DELEGATECALL", "STATICCALL", "CALLCODE"];
    assert.equal(found(traced(...types.map((type) => call(B, C, "0x1", { type })), call(B, C, "0x0"))), undefined);
    assert.equal(found(traced(call(B, C, "0x1", { type: "SELFDESTRUCT" })))?.length, 1);
  });

  it("stands a thousand deep", () => {
    let deep = call(B, C, "0x1");
    for (let depth = 0; depth < 1023; depth++) deep = call(B, C, "0x0", { calls: [deep] });
    assert.equal(found(traced(deep), 2000)?.length, 1);
  });

  for (const [name, result] of [
    ["too many calls", traced(...Array.from({ length: 101 }, () => call(B, C, "0x1")))],
    ["too many calls of one call", traced(call(B, C, "0x1", { calls: Array.from({ length: 200_000 }, () => ({})) }))],
    ["a trace of an unnamed transaction", [{ result: call(A, B, "0x1") }]],
    ["no list", { result: [] }],
    ["null", null],
  ] as const) {
    it(`is unknown from ${name}`, () => assert.equal(internalTransfers(result, 100), undefined));
  }
});
