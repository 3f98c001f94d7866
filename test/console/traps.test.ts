import assert from "node:assert/strict";
import { it } from "node:test";
import { trapsIn } from "../../console/src/policy/traps.ts";

const condition = "activity.type == 'ACTIVITY_TYPE_SIGN_TRANSACTION_V2'";
const rule = { effect: "EFFECT_DENY", condition, consensus: "" } as const;

it("tells what the server would warn of", () => {
  assert.match(trapsIn(rule).join(), /never ACTIVITY_TYPE_SIGN_TRANSACTION,/);
  assert.match(trapsIn({ effect: "EFFECT_ALLOW", condition: "", consensus: "" }).join(), /allows every user/);
  assert.deepEqual(trapsIn({ ...rule, effect: "EFFECT_ALLOW" }), []);
});

it("tells nothing of a condition with an error", () => {
  assert.deepEqual(trapsIn({ ...rule, condition: `${condition} &&` }), []);
});

it("says so where it would take too long", () => {
  const long = Array.from({ length: 2000 }, () => condition).join(" || ");
  assert.deepEqual(trapsIn({ ...rule, condition: long }), ["It is too long to be checked for traps here."]);
});
