import assert from "node:assert/strict";
import { test } from "node:test";
import { createExpressionCache } from "./cache.ts";
import { PolicyError } from "./errors.ts";

test("compiles an expression once for each scope", () => {
  const cache = createExpressionCache();
  const program = cache.program("true", "condition");
  assert.equal(cache.program("true", "condition"), program);
  assert.notEqual(cache.program("true", "consensus"), program);
  assert.equal(cache.size, 2);
});

test("remembers what is wrong with an expression", () => {
  const cache = createExpressionCache();
  const error = cache.program("approvers.count() ==", "consensus");
  assert.ok(error instanceof PolicyError);
  assert.equal(cache.program("approvers.count() ==", "consensus"), error);
});

test("drops the least recently used of too many", () => {
  const cache = createExpressionCache(9, 1_000_000);
  const first = cache.program("1 == 0", "condition");
  const second = cache.program("1 == 1", "condition");
  cache.program("1 == 2", "condition");
  assert.equal(cache.program("1 == 0", "condition"), first);
  cache.program("1 == 3", "condition");
  assert.equal(cache.size, 3);
  assert.equal(cache.program("1 == 0", "condition"), first);
  assert.notEqual(cache.program("1 == 1", "condition"), second);
});

test("bounds the texts together, and does not keep one that is too long alone", () => {
  const cache = createExpressionCache(1000, 300);
  for (let index = 0; index < 100; index++) cache.program(`${index} == ${index}`, "time");
  assert.ok(cache.size < 20 && cache.size > 5);
  const { size } = cache;
  cache.program(Array.from({ length: 100 }, () => "true").join(" && "), "time");
  assert.equal(cache.size, size);
});
