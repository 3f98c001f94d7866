import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parsePath, pathProblem } from "./hd-path.ts";

const level = fc.record(
  { index: fc.integer({ min: 0, max: 0x7fffffff }), hardened: fc.boolean() },
  { noNullPrototype: true },
);
const written = (levels: { index: number; hardened: boolean }[]) =>
  ["m", ...levels.map(({ index, hardened }) => `${index}${hardened ? "'" : ""}`)].join("/");

describe("a derivation path", () => {
  it("is read level by level", () => {
    assert.deepEqual(parsePath("m"), []);
    assert.deepEqual(parsePath("m/44'/2147483647/0'"), [
      { index: 44, hardened: true },
      { index: 2147483647, hardened: false },
      { index: 0, hardened: true },
    ]);
  });

  it("of any ten levels is what was written", () => {
    fc.assert(
      fc.property(fc.array(level, { maxLength: 10 }), (levels) => {
        assert.equal(pathProblem(written(levels)), undefined);
        assert.deepEqual(parsePath(written(levels)), levels);
      }),
    );
  });

  const noLevel = (at: number) =>
    `must have a decimal index without leading zeros, followed by \`'\` if the level is hardened, at level ${at}`;
  const noRoot = "must begin with `m`, like `m/44'/60'/0'/0/0`";
  const refused: Record<string, string> = {
    "": noRoot,
    "/0": noRoot,
    "44'/60'": noRoot,
    "M/0": noRoot,
    " m/0": noRoot,
    "mm/0": noRoot,
    "m/": noLevel(1),
    "m//0": noLevel(1),
    "m/0/": noLevel(2),
    "m/00": noLevel(1),
    "m/0/01'": noLevel(2),
    "m/-1": noLevel(1),
    "m/+1": noLevel(1),
    "m/1e3": noLevel(1),
    "m/0x1": noLevel(1),
    "m/1.0": noLevel(1),
    "m/ 1": noLevel(1),
    "m/1 ": noLevel(1),
    "m/1\n": noLevel(1),
    "m/١": noLevel(1),
    "m/44h": noLevel(1),
    "m/44H": noLevel(1),
    "m/44’": noLevel(1),
    "m/44''": noLevel(1),
    "m/'": noLevel(1),
    "m/__proto__": noLevel(1),
    "m/2147483648": "has an index over 2147483647 at level 1",
    "m/0/9999999999'": "has an index over 2147483647 at level 2",
    [`m${"/0".repeat(11)}`]: "must have at most 10 levels after `m`",
    [`m/${"1".repeat(1_000_000)}`]: "is longer than any path of 10 levels",
  };
  for (const [path, problem] of Object.entries(refused)) {
    it(`is not ${JSON.stringify(path.slice(0, 30))}`, () => {
      assert.equal(pathProblem(path), problem);
      assert.throws(() => parsePath(path), RangeError);
    });
  }
});
