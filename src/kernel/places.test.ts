import assert from "node:assert/strict";
import { it } from "node:test";
import { nextTurn } from "./next-turn.ts";
import { Places } from "./places.ts";

it("lets so many of a key in, in the order of their coming, and no other key waits for them", async () => {
  const turns = new Places(2);
  const inside: string[] = [];
  const enter = (key: string, name: string) =>
    turns.enter(key).then((leave) => {
      inside.push(name);
      return leave;
    });
  const [first, , third, fourth] = ["1", "2", "3", "4"].map((name) => enter("a", name));
  await enter("b", "other");
  await nextTurn();
  assert.deepEqual(inside, ["1", "2", "other"]);
  (await first)?.();
  const late = enter("a", "5");
  await third;
  await nextTurn();
  assert.deepEqual(inside.slice(3), ["3"]);
  (await third)?.();
  (await fourth)?.();
  await late;
  assert.deepEqual(inside.slice(3), ["3", "4", "5"]);
});

it("lets no more in where some have left and others have not", async () => {
  const turns = new Places(2);
  const [leave] = await Promise.all([turns.enter("a"), turns.enter("a")]);
  leave?.();
  const inside: string[] = [];
  const entered = ["first", "second"].map(async (name) => {
    const leave = await turns.enter("a");
    inside.push(name);
    return leave;
  });
  await nextTurn();
  assert.deepEqual(inside, ["first"]);
  (await entered[0])?.();
  await entered[1];
  assert.deepEqual(inside, ["first", "second"]);
});

it("lets anybody in again when all have left", async () => {
  const turns = new Places(1);
  for (let times = 0; times < 3; times++) {
    const leave = await turns.enter("a");
    const next = turns.enter("a");
    leave();
    (await next)();
  }
});
