import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { memorySizeOf } from "./memory-size.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** The memory that a value really takes: how much the heap grows for each of a number of them. */
function measured(make: () => unknown): number {
  const kept: unknown[] = [make()];
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < 8; i++) kept.push(make());
  collectGarbage();
  return (process.memoryUsage().heapUsed - before) / (kept.length - 1);
}

const many = <Value>(make: (index: number) => Value): Value[] =>
  Array.from({ length: 20_000 }, (_, index) => make(index));

test("the estimate is near what values take", () => {
  const shared = { kind: "bool" };
  const shapes: Record<string, () => unknown> = {
    "objects with a text": () => many((index) => ({ name: `name ${index}`, type: shared })),
    "objects in one another": () => many(() => ({ isDynamic: true, form: { kind: "array", element: shared } })),
    lists: () => many((index) => [index, shared]),
    maps: () => new Map(many((index) => [`key ${index}`, { index }])),
    texts: () => many((index) => `${index} `.repeat(20).slice(0, 90).toUpperCase()),
  };
  for (const [name, make] of Object.entries(shapes)) {
    const ratio = memorySizeOf(make()) / measured(make);
    assert(ratio > 0.6 && ratio < 1.9, `${name}: ${ratio} times what was measured`);
  }
});

test("what is referred to more than once counts once, circles too", () => {
  const part = { text: "x".repeat(1000) };
  const circle: { part: object; self?: object } = { part };
  circle.self = circle;
  assert(memorySizeOf([part, part, part, circle]) < 1500);
  assert.equal(memorySizeOf(5), 0);
  assert.equal(memorySizeOf(null), 0);
});
