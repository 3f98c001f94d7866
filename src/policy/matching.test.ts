import assert from "node:assert/strict";
import { test } from "node:test";
import { check } from "./checker.ts";
import { canBeTrueFor } from "./matching.ts";
import { parse } from "./parser.ts";

const SIGN = "ACTIVITY_TYPE_SIGN_TRANSACTION_V2";
const DELETE = "ACTIVITY_TYPE_DELETE_USERS";

/** [condition, can it match SIGN, can it match DELETE] */
const cases: [string, boolean, boolean][] = [
  ["true", true, true],
  ["false", false, false],
  ["eth.tx.to == 'x'", true, true],
  [`activity.type == '${SIGN}'`, true, false],
  [`activity.type != '${SIGN}'`, false, true],
  [`!(activity.type == '${SIGN}')`, false, true],
  [`'${SIGN}' == activity.type`, true, false],
  ["activity.kind == 'SIGN_TRANSACTION'", true, false],
  ["activity.kind in ['DELETE_USERS', 'CREATE_USERS']", false, true],
  ["['SIGN_TRANSACTION'].contains(activity.kind)", true, false],
  ["activity.resource == 'USER' && activity.action == 'DELETE'", false, true],
  ["activity.resource == 'USER' && activity.action == 'CREATE'", false, false],
  ["activity.resource == 'USER' || activity.action == 'SIGN'", true, true],
  ["activity.resource == 'USER' && eth.tx.to == 'x'", false, true],
  ["activity.resource == 'USER' || eth.tx.to == 'x'", true, true],
  ["!(activity.resource == 'USER' || eth.tx.to == 'x')", true, false],
  ["(activity.resource == 'USER') == true", false, true],
  ["activity.kind in [activity.type, wallet.label]", true, true],
  ["activity.type == 'ACTIVITY_TYPE_UNHEARD_OF'", false, false],
  ["activity.type == wallet.label", true, true],
  ["1 < 2 && 2 == 2 && 2 != 3", true, true],
  ["2 != 2", false, false],
];

test("knows which activity types a condition can be true for", () => {
  for (const [condition, sign, remove] of cases) {
    const tree = check(parse(condition), "condition", condition);
    assert.deepEqual([canBeTrueFor(tree, SIGN), canBeTrueFor(tree, DELETE)], [sign, remove], condition);
  }
});
