import assert from "node:assert/strict";
import { test } from "node:test";
import { recentlyUsed } from "./recently-used.ts";

test("each value that is kept no longer is handed over, once", () => {
  const gone: string[] = [];
  const keys = recentlyUsed<string>({ entries: 2, dispose: (value) => void gone.push(value) });
  keys.set("a", "first a");
  keys.set("a", "second a");
  keys.set("b", "b");
  keys.set("c", "c");
  keys.forget("b");
  keys.forget("b");
  assert.deepEqual(gone, ["first a", "second a", "b"]);
  keys.set("d", "d");
  keys.clear();
  keys.clear();
  assert.deepEqual(gone, ["first a", "second a", "b", "c", "d"]);
  assert.equal(keys.size(), 0);
});

test("at capacity the entry unused for longest is forgotten", () => {
  const keys = recentlyUsed<number>({ entries: 3 });
  keys.set("a", 1);
  keys.set("b", 2);
  keys.set("c", 3);
  assert.equal(keys.get("a"), 1);
  keys.set("d", 4);
  assert.equal(keys.get("b"), undefined);
  assert.deepEqual([keys.get("a"), keys.get("c"), keys.get("d")], [1, 3, 4]);
  keys.set("a", 5);
  keys.set("e", 6);
  assert.equal(keys.get("c"), undefined);
  assert.deepEqual([keys.get("a"), keys.size()], [5, 3]);
  keys.forget("a");
  keys.forget("never there");
  assert.deepEqual([keys.get("a"), keys.size()], [undefined, 2]);
});

test("what was set after the last use is newer than what was used", () => {
  const keys = recentlyUsed<number>({ entries: 2 });
  keys.set("a", 1);
  assert.equal(keys.get("a"), 1);
  keys.set("b", 2);
  assert.equal(keys.get("a"), 1);
  keys.set("c", 3);
  assert.deepEqual([keys.get("a"), keys.get("b"), keys.get("c")], [1, undefined, 3]);
  // Forgotten and stored again, it is the newest again.
  keys.forget("c");
  keys.set("d", 4);
  keys.set("c", 5);
  keys.set("e", 6);
  assert.deepEqual([keys.get("c"), keys.get("d"), keys.get("e")], [5, undefined, 6]);
});

test("values are bounded by their bytes together, and one that is too large alone is not kept", () => {
  const gone: string[] = [];
  const texts = recentlyUsed<string>({
    entries: 100,
    bytes: 10,
    sizeOf: (value, key) => value.length + key.length,
    dispose: (value) => void gone.push(value),
  });
  texts.set("a", "1234");
  texts.set("b", "567");
  assert.deepEqual([texts.size(), texts.bytes()], [2, 9]);
  assert.equal(texts.get("a"), "1234");
  texts.set("c", "89");
  assert.deepEqual([texts.get("a"), texts.get("b"), texts.get("c")], ["1234", undefined, "89"]);
  assert.deepEqual(gone, ["567"]);
  texts.set("c", "0123456789");
  assert.deepEqual([texts.get("a"), texts.get("c"), texts.bytes()], ["1234", undefined, 5]);
  assert.deepEqual(gone, ["567", "89", "0123456789"]);
  texts.set("d", "012345678");
  assert.deepEqual([texts.get("a"), texts.get("d"), texts.bytes()], [undefined, "012345678", 10]);
  texts.clear();
  assert.deepEqual([texts.size(), texts.bytes()], [0, 0]);
});
