import assert from "node:assert/strict";
import { test } from "node:test";
import { OneAtATime } from "./one-at-a-time.ts";

test("work of a key waits for what was asked before it, also for what fails, and that of other keys does not", async () => {
  const one = new OneAtATime();
  const order: string[] = [];
  const gate = Promise.withResolvers<void>();
  const first = one.run("a", async () => {
    order.push("first");
    await gate.promise;
    order.push("first fails");
    throw new Error("so it does");
  });
  const second = one.run("a", async () => order.push("second"));
  const third = one.run("a", async () => order.push("third"));
  await one.run("b", async () => order.push("other"));
  assert.deepEqual(order, ["first", "other"]);
  gate.resolve();
  await assert.rejects(first, /so it does/);
  await Promise.all([second, third]);
  assert.deepEqual(order, ["first", "other", "first fails", "second", "third"]);
  assert.equal(one.size, 0, "nothing is kept of what is over");
});
