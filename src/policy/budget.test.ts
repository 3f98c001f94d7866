import assert from "node:assert/strict";
import { test } from "node:test";
import { Budget, OutOfBudget } from "./budget.ts";

test("a part takes its steps from the whole, and knows whether it is smaller than was asked for", () => {
  const whole = new Budget(10);
  const part = whole.part(4);
  part.spend(3);
  assert.deepEqual([part.left, whole.left, part.isCut], [1, 7, false]);
  assert.throws(() => part.spend(2), OutOfBudget);
  assert.deepEqual([part.left, whole.left], [0, 6]);
  const exactly = whole.part(6);
  assert.deepEqual([exactly.left, exactly.isCut], [6, false]);
  const cut = whole.part(7);
  assert.deepEqual([cut.left, cut.isCut, whole.isCut], [6, true, false]);
});

test("an end of the budget has no stack, and takes none from other errors", () => {
  assert.ok(!/^ {4}at /m.test(new OutOfBudget().stack ?? ""));
  assert.match(new Error("another").stack ?? "", /^ {4}at /m);
});
