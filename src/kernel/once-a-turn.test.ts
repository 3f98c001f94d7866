import assert from "node:assert/strict";
import { test } from "node:test";
import { nextTurn } from "./next-turn.ts";
import { onceATurn } from "./once-a-turn.ts";

test("all who ask in one turn are answered by one piece of work that begins after the last of them asked", async () => {
  let asked = 0;
  const seen: number[] = [];
  const look = onceATurn(() => {
    seen.push(asked);
    return asked;
  });
  const ask = () => {
    asked++;
    return look();
  };
  const answers = [ask(), ask()];
  await Promise.resolve();
  answers.push(ask());
  assert.deepEqual(await Promise.all(answers), [3, 3, 3]);
  assert.deepEqual(seen, [3]);
});

test("who asks in the next turn has it done again", async () => {
  let count = 0;
  const look = onceATurn(() => ++count);
  const first = look();
  await nextTurn();
  assert.deepEqual([await first, await look()], [1, 2]);
});

test("a failure is told to each, and the next turn tries again", async () => {
  let fails = true;
  const look = onceATurn(() => {
    if (fails) throw new Error("no");
    return "yes";
  });
  const results = await Promise.allSettled([look(), look()]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  fails = false;
  assert.equal(await look(), "yes");
});
