import assert from "node:assert/strict";
import { test } from "node:test";
import { Budget, OutOfBudget } from "./budget.ts";
import { createExpressionCache } from "./cache.ts";
import { PolicyError } from "./errors.ts";

const budget = new Budget(Number.POSITIVE_INFINITY);

test("compiles an expression once for each scope", () => {
  const cache = createExpressionCache();
  const program = cache.program("true", "condition", budget);
  assert.equal(cache.program("true", "condition", budget), program);
  assert.notEqual(cache.program("true", "consensus", budget), program);
  assert.equal(cache.size, 2);
});

test("remembers what is wrong with an expression", () => {
  const cache = createExpressionCache();
  const error = cache.program("approvers.count() ==", "consensus", budget);
  assert.ok(error instanceof PolicyError);
  assert.equal(cache.program("approvers.count() ==", "consensus", budget), error);
});

test("drops the least recently used of too many", () => {
  const cache = createExpressionCache(9, 1_000_000);
  const first = cache.program("1 == 0", "condition", budget);
  const second = cache.program("1 == 1", "condition", budget);
  cache.program("1 == 2", "condition", budget);
  assert.equal(cache.program("1 == 0", "condition", budget), first);
  cache.program("1 == 3", "condition", budget);
  assert.equal(cache.size, 3);
  assert.equal(cache.program("1 == 0", "condition", budget), first);
  assert.notEqual(cache.program("1 == 1", "condition", budget), second);
});

test("bounds what they take together, and does not keep one that is too large alone", () => {
  const bytes = 60_000;
  const cache = createExpressionCache(1000, bytes);
  for (let index = 0; index < 100; index++) cache.program(`${index} == ${index}`, "time", budget);
  assert.ok(cache.size < 20 && cache.size > 5);
  assert.ok(cache.bytes <= bytes / 3 && cache.bytes > bytes / 6, String(cache.bytes));
  const { size } = cache;
  cache.program(Array.from({ length: 100 }, () => "true").join(" && "), "time", budget);
  assert.equal(cache.size, size);
});

test("compiling takes steps by the length of the text, finding takes none", () => {
  const cache = createExpressionCache();
  const few = new Budget(10_000);
  const source = Array.from({ length: 20 }, () => "true").join(" && ");
  cache.program(source, "condition", few);
  const spent = 10_000 - few.left;
  assert.ok(spent >= source.length, String(spent));
  cache.program(source, "condition", few);
  assert.equal(few.left, 10_000 - spent);
  assert.throws(() => cache.program(`${source} && ${source}`, "condition", few.part(spent)), OutOfBudget);
  assert.equal(cache.size, 1);
});
