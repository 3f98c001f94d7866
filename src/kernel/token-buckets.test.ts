import assert from "node:assert/strict";
import { it } from "node:test";
import { TokenBuckets } from "./token-buckets.ts";

function buckets(capacity = 10): { take: (key: string, tokens?: number) => number; wait: (ms: number) => void } {
  let now = 1000;
  const all = new TokenBuckets({ perSecond: 10, burst: 20 }, capacity, () => now);
  return {
    take: (key, tokens = 1) => all.take(key, tokens),
    wait: (ms) => {
      now += ms;
    },
  };
}

it("gives the burst at once, then its rate, and says how long it takes", () => {
  const { take, wait } = buckets();
  for (let taken = 0; taken < 20; taken++) assert.equal(take("a"), 0);
  assert.equal(take("a"), 0.1);
  wait(50);
  assert.equal(take("a"), 0.05);
  wait(50);
  assert.equal(take("a"), 0);
  assert.equal(take("b"), 0, "others have their own");
  wait(60_000);
  for (let taken = 0; taken < 20; taken++) assert.equal(take("a"), 0);
  assert.ok(take("a") > 0, "no more than the burst after a long pause");
});

it("lets a large one through when it can, and has it paid afterwards", () => {
  const { take, wait } = buckets();
  assert.equal(take("a", 50), 0);
  assert.equal(take("a"), 3.1);
  wait(3000);
  assert.ok(take("a") > 0);
  wait(100);
  assert.equal(take("a"), 0);
});

it("remembers so many keys, the ones used last", () => {
  const { take } = buckets(2);
  take("a", 30);
  take("b", 30);
  assert.ok(take("a") > 0);
  assert.equal(take("c"), 0);
  assert.ok(take("a") > 0);
  assert.equal(take("b"), 0, "forgotten is full");
});
