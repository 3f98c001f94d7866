import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { toHex } from "../../kernel/bytes.ts";
import { encodeRlp, type RlpItem, rlpInteger } from "./rlp.ts";

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
