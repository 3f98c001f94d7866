import assert from "node:assert/strict";
import { test } from "node:test";
import { boundedTurns } from "./bounded-turns.ts";

class Refused extends Error {}
const refuse = (): never => {
  throw new Refused("no turn");
};
const bounds = { perKey: 2, total: 3, inside: 4, waitMs: 60_000 };

test("who would wait behind too many is refused at once, and other keys have their turns", async () => {
  const inTurn = boundedTurns(bounds, refuse);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const hang = (key: string) =>
    inTurn(key, () => {
      begun.push(key);
      return new Promise<void>((resolve) => ends.push(resolve));
    });
  const greedy = Array.from({ length: 4 }, () => hang("greedy"));
  await assert.rejects(hang("greedy"), Refused);
  const other = hang("other");
  await new Promise(setImmediate);
  assert.deepEqual(begun, ["greedy", "greedy", "other"]);
  while (begun.length < 5) {
    ends.shift()?.();
    await new Promise(setImmediate);
  }
  for (const end of ends) end();
  await Promise.all([...greedy, other]);
  // A slot is free again.
  assert.equal(await inTurn("greedy", () => 1), 1);
});

test("who has waited too long is not begun any more", async (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const inTurn = boundedTurns({ ...bounds, perKey: 1, waitMs: 10 }, refuse);
  let end = () => {};
  const first = inTurn("one", () => new Promise<void>((resolve) => (end = resolve)));
  const second = assert.rejects(
    inTurn("one", () => assert.fail("it was begun")),
    Refused,
  );
  await new Promise(setImmediate);
  now = 11;
  end();
  await first;
  await second;
});
