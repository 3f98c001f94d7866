import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { fromRlp, toRlp } from "viem";
import { toHex } from "../../kernel/bytes.ts";
import { MAX_RLP_DEPTH, MAX_RLP_ITEMS } from "../../kernel/limits.ts";
import { decodeRlp, encodeRlp, RlpError, type RlpItem, rlpInteger } from "./rlp.ts";

type HexItem = string | HexItem[];
const fromHex = (item: HexItem): RlpItem => (typeof item === "string" ? Buffer.from(item, "hex") : item.map(fromHex));

test("RLP: vectors", () => {
  const url = new URL("../../../test/vectors/rlp/valid.json", import.meta.url);
  const { cases } = JSON.parse(readFileSync(url, "utf8")) as {
    cases: { name: string; item: HexItem; rlp: string }[];
  };
  assert(cases.length >= 14);
  for (const { name, item, rlp } of cases) assert.equal(toHex(encodeRlp(fromHex(item))), rlp, name);
});

test("integers have no leading zero bytes", () => {
  assert.equal(toHex(rlpInteger(0n)), "");
  assert.equal(toHex(rlpInteger(15n)), "0f");
  assert.equal(toHex(rlpInteger(1024n)), "0400");
  assert.equal(toHex(rlpInteger(2n ** 256n - 1n)), "ff".repeat(32));
  assert.throws(() => rlpInteger(-1n), RangeError);
});

const item: fc.Arbitrary<RlpItem> = fc.letrec<{ item: RlpItem }>((tie) => ({
  item: fc.oneof(
    { depthSize: "small" },
    fc.uint8Array({ maxLength: 80 }),
    fc.uint8Array({ minLength: 1, maxLength: 1 }),
    fc.array(tie("item"), { maxLength: 6 }),
  ),
})).item;

const toHexItem = (each: RlpItem): unknown => (each instanceof Uint8Array ? `0x${toHex(each)}` : each.map(toHexItem));

test("RLP: vectors are decoded", () => {
  const url = new URL("../../../test/vectors/rlp/valid.json", import.meta.url);
  const { cases } = JSON.parse(readFileSync(url, "utf8")) as { cases: { name: string; item: HexItem; rlp: string }[] };
  for (const { name, item, rlp } of cases) {
    assert.deepEqual(toHexItem(decodeRlp(Buffer.from(rlp, "hex"))), toHexItem(fromHex(item)), name);
  }
});

test("RLP: random items are decoded to themselves, and viem encodes and decodes the same", () => {
  fc.assert(
    fc.property(item, (each) => {
      const encoded = encodeRlp(each);
      assert.deepEqual(toHexItem(decodeRlp(encoded)), toHexItem(each));
      assert.equal(`0x${toHex(encoded)}`, toRlp(toHexItem(each) as never));
      assert.deepEqual(fromRlp(`0x${toHex(encoded)}`, "hex"), toHexItem(each));
    }),
    { numRuns: 500 },
  );
});

test("RLP: other bytes are refused or are the encoding of what they are decoded to", () => {
  const changed = fc.tuple(item, fc.nat(), fc.uint8Array({ maxLength: 2 })).map(([each, position, bytes]) => {
    const encoded = encodeRlp(each);
    const at = position % (encoded.length + 1);
    return Buffer.concat([encoded.subarray(0, at), bytes, encoded.subarray(at + 1)]);
  });
  fc.assert(
    fc.property(fc.oneof(fc.uint8Array(), changed), (bytes) => {
      try {
        assert.deepEqual(encodeRlp(decodeRlp(bytes)), Buffer.from(bytes));
      } catch (error) {
        assert(error instanceof RlpError, String(error));
      }
    }),
    { numRuns: 3000 },
  );
});

test("RLP: what is not the one spelling of an item is refused", () => {
  const refusals = {
    "": "ends too early",
    "81": "ends too early",
    "83aabb": "ends too early",
    b8: "ends too early",
    b9ff: "ends too early",
    b838: "ends too early",
    bfffffffffffffffff: "ends too early",
    c1: "ends too early",
    // The inner string reaches beyond the list that contains it.
    c3830102aabb: "ends too early",
    c0c0: "has bytes after its end",
    "0000": "has bytes after its end",
    "8100": "has a byte below 0x80 with a length before it",
    "817f": "has a byte below 0x80 with a length before it",
    b801ff: "has a length in a longer spelling than needed",
    [`b837${"00".repeat(55)}`]: "has a length in a longer spelling than needed",
    [`b90038${"00".repeat(56)}`]: "has a length in a longer spelling than needed",
    f800: "has a length in a longer spelling than needed",
    [`f90038${"00".repeat(56)}`]: "has a length in a longer spelling than needed",
  };
  for (const [rlp, message] of Object.entries(refusals)) {
    assert.throws(() => decodeRlp(Buffer.from(rlp, "hex")), { message }, rlp);
  }
});

test("RLP: depth and number of items are bounded", () => {
  const nested = (depth: number): RlpItem => (depth === 0 ? [] : [nested(depth - 1)]);
  decodeRlp(encodeRlp(nested(MAX_RLP_DEPTH - 1)));
  assert.throws(() => decodeRlp(encodeRlp(nested(MAX_RLP_DEPTH))), { message: "is nested deeper than 16 lists" });
  const list = (length: number): RlpItem => Array.from({ length }, () => Buffer.alloc(0));
  decodeRlp(encodeRlp(list(MAX_RLP_ITEMS - 1)));
  assert.throws(() => decodeRlp(encodeRlp(list(MAX_RLP_ITEMS))), { message: "has more than 16384 items" });
});
