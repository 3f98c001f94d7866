import assert from "node:assert/strict";
import { test } from "node:test";
import { inWords } from "./in-words.ts";

test("names stand in a sentence with commas, and one word before the last", () => {
  assert.deepEqual(
    [[], ["a"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]].map((names) => inWords(names)),
    ["", "a", "a and b", "a, b and c", "a, b, c and d"],
  );
  assert.equal(inWords(["a", "b", "c"], "or"), "a, b or c");
});
