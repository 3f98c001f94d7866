import assert from "node:assert/strict";
import { test } from "node:test";
import { fairlyKept } from "./fairly-kept.ts";

/** A map of values that are their own sizes. Each holder of a value adds 512. */
const kept = (bytes: number, more: { share?: number; isOver?: (value: number) => boolean } = {}) =>
  fairlyKept<number>({ bytes, share: 0, isOver: () => false, ...more, sizeOf: (value) => value });

test("the holder of the most bytes lets go of what it has not used for longest", () => {
  const values = kept(10_000);
  values.set("of the quiet one", 1000, "quiet");
  for (const key of ["a", "b", "c"]) values.set(key, 2000, "greedy");
  assert.equal(values.bytes(), 1000 + 3 * 2000 + 4 * 512);
  assert.equal(values.use("a", "greedy"), 2000);
  values.set("d", 2001, "greedy");
  assert.deepEqual(
    ["of the quiet one", "a", "b", "c", "d"].map((key) => values.look(key)),
    [1000, 2000, undefined, 2000, 2001],
  );
  // `look` does not count as a use.
  values.set("e", 2002, "greedy");
  assert.deepEqual(
    ["of the quiet one", "a", "c", "d", "e"].map((key) => values.look(key)),
    [1000, 2000, undefined, 2001, 2002],
  );
});

test("a value is kept for as long as anybody holds it, whoever brought it", () => {
  const values = kept(6000);
  values.set("shared", 1000, "greedy");
  assert.equal(values.use("shared", "quiet"), 1000);
  for (let each = 0; each < 20; each++) values.set(`greedy ${each}`, 2000, "greedy");
  assert.equal(values.look("shared"), 1000);
  assert.equal(values.look("greedy 0"), undefined);
  assert.equal(values.look("greedy 19"), 2000);
  // Now only the greedy holder has it.
  for (let each = 0; each < 20; each++) values.set(`quiet ${each}`, 1, "quiet");
  assert.ok(values.bytes() <= 6000);
});

test("a value that takes the place of another is held by the holders of that, and counts for them", () => {
  const values = kept(10_000);
  values.set("key", 100, "a");
  values.use("key", "b");
  values.set("key", 200, "c");
  assert.equal(values.bytes(), 200 + 3 * 512);
  values.set("key", 10_001, "c");
  assert.deepEqual([values.look("key"), values.bytes()], [undefined, 0]);
  values.set("key", 9000, "a");
  values.set("other", 1000, "b");
  assert.deepEqual([values.look("key"), values.look("other")], [undefined, 1000]);
});

test("holders are bounded, however many come for one value", () => {
  const values = kept(10_000);
  values.set("key", 100, "first");
  for (let each = 0; each < 1000; each++) assert.equal(values.use("key", `holder ${each}`), 100);
  assert.ok(values.bytes() <= 10_000);
});

test("holders within their share keep what they use, however many younger ones come", () => {
  const values = kept(100_000, { share: 6000 });
  for (const key of ["a", "b"]) values.set(key, 2000, "1 old");
  for (let each = 0; each < 2000; each++) values.set(`young ${each}`, 100, `2 young ${each}`);
  assert.ok(values.bytes() <= 100_000);
  assert.deepEqual([values.look("a"), values.look("b")], [2000, 2000]);
  // Above the share it is the one with the most, as ever.
  values.set("c", 2000, "1 old");
  assert.deepEqual([values.look("a"), values.look("b"), values.look("c")], [undefined, 2000, 2000]);
});

test("values that are over go first, whoever holds them", () => {
  let over: readonly number[] = [];
  const values = kept(10_000, { share: 5000, isOver: (value) => over.includes(value) });
  values.set("a", 3000, "1 old");
  values.set("b", 3001, "1 old");
  values.set("c", 2000, "2 young");
  over = [3001];
  values.set("d", 2001, "3 youngest");
  assert.deepEqual(
    ["a", "b", "c", "d"].map((key) => values.look(key)),
    [3000, undefined, 2000, 2001],
  );
});

test("what a holder has let go of does not count for it any more", () => {
  const values = kept(10_000);
  for (const key of ["a", "b"]) values.set(key, 4000, "1 first");
  // Of its two it has let go of one.
  values.set("c", 2000, "2 second");
  values.set("d", 2000, "2 second");
  assert.deepEqual(
    ["a", "b", "c", "d"].map((key) => values.look(key)),
    [undefined, 4000, 2000, 2000],
  );
  // So the second one has more by now.
  values.set("e", 1000, "3 third");
  assert.deepEqual(
    ["b", "c", "d", "e"].map((key) => values.look(key)),
    [4000, undefined, 2000, 1000],
  );
});

test("within their shares the youngest lets go, in whatever order they came", () => {
  const values = kept(3 * 1512, { share: 5000 });
  for (const holder of ["3 youngest", "1 oldest", "2 old"]) values.set(holder, 1000, holder);
  assert.equal(values.bytes(), 3 * 1512, "it may be full");
  values.set("another", 1000, "2 old");
  assert.deepEqual(
    ["1 oldest", "2 old", "3 youngest", "another"].map((key) => values.look(key)),
    [1000, 1000, undefined, 1000],
  );
});

test("a value that is too large moves out nothing, and one that is not there is none of anybody", () => {
  const values = kept(5000);
  values.set("small", 100, "a");
  values.set("large", 5001, "a");
  assert.deepEqual([values.look("small"), values.look("large"), values.bytes()], [100, undefined, 612]);
  assert.equal(values.use("large", "b"), undefined);
  assert.equal(values.bytes(), 612);
});
