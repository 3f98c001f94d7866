import assert from "node:assert/strict";
import { it } from "node:test";
import { mapInTurns, PIECE_MS, pause, turn } from "./turns.ts";

const spin = (ms: number): void => {
  for (const end = performance.now() + ms; performance.now() < end; );
};

/** Counts the rounds of the event loop while `work` runs. */
async function roundsDuring(work: () => Promise<unknown>): Promise<number> {
  let rounds = 0;
  let isOver = false;
  const count = () => {
    rounds++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return rounds;
}

it("one turn is given in a round of the event loop, in the order in which they were asked for", async () => {
  const given: number[] = [];
  const ask = async (name: number) => {
    await turn();
    given.push(name);
  };
  const rounds = await roundsDuring(() => Promise.all([1, 2, 3, 4, 5].map(ask)));
  assert.deepEqual(given, [1, 2, 3, 4, 5]);
  assert.ok(rounds >= 5, `${rounds} rounds`);
});

it("who asks again goes to the end", async () => {
  const given: string[] = [];
  const pieces = async (name: string) => {
    for (let piece = 1; piece <= 3; piece++) {
      await turn();
      given.push(name + piece);
    }
  };
  await Promise.all([pieces("a"), pieces("b")]);
  assert.deepEqual(given, ["a1", "b1", "a2", "b2", "a3", "b3"]);
});

it("a long list is worked through in its order, and others have their rounds meanwhile", async () => {
  const items = Array.from({ length: 40 }, (_, index) => index);
  let results: number[] = [];
  const rounds = await roundsDuring(async () => {
    results = await mapInTurns(items, (item) => {
      spin(2);
      return item * 2;
    });
  });
  assert.deepEqual(
    results,
    items.map((item) => item * 2),
  );
  assert.ok(rounds >= 10, `${rounds} rounds for 80 ms of work`);
});

it("an error ends the work and nobody else's", async () => {
  const failing = mapInTurns([1, 2], () => {
    throw new Error("wrong");
  });
  await assert.rejects(failing, /wrong/);
  assert.deepEqual(await mapInTurns([1], (item) => item), [1]);
  assert.deepEqual(await mapInTurns([], (item) => item), []);
});

it("queues have their turns one after the other, however many wait in one of them", async () => {
  const given: string[] = [];
  const ask = async (queue: string) => {
    await turn(queue);
    given.push(queue);
  };
  await Promise.all([...Array.from({ length: 5 }, () => ask("a")), ask("b"), ask("c"), ask("b")]);
  assert.deepEqual(given, ["a", "b", "c", "a", "b", "a", "a", "a"]);
});

it("queues that pause for one another come forward alike, however short their steps", async (t) => {
  // With a real clock, a queue loses turns to other work of the machine.
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const done: string[] = [];
  const steps = async (queue: string) => {
    for (let step = 0; step < 60; step++) {
      await pause(queue);
      now++;
      done.push(queue);
    }
  };
  await Promise.all(["a", "b"].map(steps));
  const before = (end: number, queue: string) => done.slice(0, end).filter((each) => each === queue).length;
  for (let end = 1; end <= done.length; end++) {
    // The number of steps in a turn is bounded.
    assert.ok(Math.abs(before(end, "a") - before(end, "b")) <= 3 * PIECE_MS, done.slice(0, end).join(""));
  }
});
