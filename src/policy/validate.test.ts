import assert from "node:assert/strict";
import { test } from "node:test";
import { KeysteadError } from "../kernel/errors.ts";
import { validateExpression, validatePolicy } from "./validate.ts";

function refusal(policy: Parameters<typeof validatePolicy>[0]): KeysteadError {
  try {
    validatePolicy(policy);
  } catch (error) {
    if (error instanceof KeysteadError) return error;
    throw error;
  }
  assert.fail("the policy was accepted");
}

test("accepts policies, with expressions absent or empty", () => {
  validatePolicy({});
  validatePolicy({ condition: "", consensus: "", time: "" });
  validatePolicy({ condition: "true", consensus: "false", time: "time.now == time.now" });
});

test("says which expression is invalid and why, as a bad request", () => {
  const error = refusal({ condition: "wallet_account.path == 'm'" });
  assert.equal(error.message, "invalid policy condition: Expression cannot be evaluated: field does not exist: path");
  assert.equal(error.httpStatus, 400);
  assert.deepEqual(error.details, [
    {
      "@type": "type.googleapis.com/keystead.v1.PolicyExpressionError",
      field: "condition",
      code: "UNKNOWN_FIELD",
      message: "Expression cannot be evaluated: field does not exist: path",
      offset: 15,
      line: 1,
      column: 16,
      expected: "address, path_indexes, path_hardened",
    },
  ]);
  assert.equal(
    refusal({ consensus: "approvers.count() >= " }).message,
    "invalid policy consensus: expected a value but the expression ends (line 1, column 22)",
  );
  assert.match(refusal({ time: "CronSpan('@daily', '8h', 'UTC')" }).message, /^invalid policy time: not a CronSpan: /);
  assert.match(refusal({ condition: " " }).message, /^invalid policy condition: expected a value/);
});

const costSince = (start: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(start);
  return user + system;
};

test("whatever is sent is answered in bounded time, with a text that is fit to send", () => {
  // As long as accepted, and otherwise ordinary.
  const plain = Array.from({ length: 400 }, () => "activity.type == 'ACTIVITY_TYPE_1'").join(" && ");
  const start = process.cpuUsage();
  validateExpression(plain, "condition");
  const plainCost = costSince(start);
  const shapes = [
    "(",
    "!",
    "[",
    "a.",
    "a[",
    "'",
    "\u0000",
    "😀",
    "\ud800",
    "9",
    "-",
    "a&&",
    "true&&",
    "1==1||",
    "x.any(y,",
  ];
  for (const shape of shapes) {
    for (const size of [1, 100, 10_000, 16_384, 1_000_000]) {
      const source = shape.repeat(Math.ceil(size / shape.length)).slice(0, size);
      const start = process.cpuUsage();
      try {
        validateExpression(source, "condition");
      } catch (error) {
        assert.ok(error instanceof KeysteadError, `${shape} ${size}: ${error}`);
        assert.equal(error.httpStatus, 400);
        assert.ok(error.message.length < 1000 && error.message.isWellFormed(), shape);
        JSON.stringify(error.details);
      }
      const cost = costSince(start);
      assert.ok(cost < 100 * plainCost, `${shape} ${size}: ${cost / plainCost} times a plain expression`);
    }
  }
});
