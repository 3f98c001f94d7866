import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import { FairShares } from "./fair-shares.ts";

const takeAll = (shares: FairShares, key: string): (() => void)[] => {
  const taken: (() => void)[] = [];
  for (let give = shares.take(key); give; give = shares.take(key)) taken.push(give);
  return taken;
};

it("each key leaves as many slots to others as it takes, and another gets those that are given back", () => {
  const shares = new FairShares(12);
  const first = takeAll(shares, "a");
  assert.equal(first.length, 6);
  for (const give of first.splice(4)) give();
  const second = takeAll(shares, "b");
  assert.equal(second.length, 4);
  assert.equal(shares.take("a"), undefined);
  for (const give of [...first, ...second]) give();
  assert.ok(shares.isUnused);
  assert.equal(takeAll(shares, "b").length, 6);
});

it("whichever of six keys take and give back, in any order, there is a slot of 64 for a seventh", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(5), fc.boolean()), { maxLength: 300 }), (acts) => {
      const shares = new FairShares(64);
      const held = Array.from({ length: 6 }, (): (() => void)[] => []);
      for (const [key, takes] of acts) {
        const own = held[key] as (() => void)[];
        const give = takes ? shares.take(String(key)) : own.pop();
        if (takes && give) own.push(give);
        else if (!takes) give?.();
        const other = shares.take("another");
        assert.ok(other);
        other();
      }
      assert.ok(held.flat().length < 64);
    }),
  );
});
