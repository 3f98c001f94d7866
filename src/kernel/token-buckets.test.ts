import assert from "node:assert/strict";
import { it } from "node:test";
import { TokenBuckets } from "./token-buckets.ts";

function buckets(capacity = 10) {
  let now = 1000;
  const all = new TokenBuckets({ perSecond: 10, burst: 20 }, capacity, () => now);
  return {
    take: (key: string, tokens = 1) => all.take(key, tokens),
    secondsUntilOne: (key: string) => all.secondsUntilOne(key),
    wait: (ms: number) => {
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

it("says how long it takes until one is there, and takes none for that", () => {
  const { take, secondsUntilOne, wait } = buckets();
  assert.equal(secondsUntilOne("a"), 0, "with more than one");
  take("a", 21);
  for (let asked = 0; asked < 3; asked++) assert.equal(secondsUntilOne("a"), 0.2);
  wait(200);
  assert.equal(secondsUntilOne("a"), 0, "with exactly one");
  assert.equal(take("a"), 0);
  assert.equal(secondsUntilOne("a"), 0.1);
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
