import assert from "node:assert/strict";
import { test } from "node:test";
import type { Voter } from "./approvals.ts";
import { Budget } from "./budget.ts";
import { createExpressionCache } from "./cache.ts";
import { type DecisionRequest, evaluatePolicies } from "./decision.ts";
import { explainPolicy } from "./explain.ts";
import type { Policy } from "./policy.ts";

const cache = createExpressionCache();
const budget = new Budget(Number.POSITIVE_INFINITY);

const users: Voter[] = [
  { id: "A", tags: [], alias: "Ada", credentials: [] },
  { id: "B", tags: ["T"], alias: "Ben", credentials: [] },
  { id: "C", tags: ["T"], credentials: [] },
];

function explain(policy: Omit<Policy, "policyId" | "effect"> & { effect?: Policy["effect"] }): string {
  const whole: Policy = { policyId: "p", effect: "EFFECT_ALLOW", ...policy };
  const request: DecisionRequest = {
    policies: [whole],
    facts: {
      activity: { type: "ACTIVITY_TYPE_SIGN_TRANSACTION_V2", action: "SIGN" },
      wallet: { id: "W", imported: false, exported: true, label: "hot" },
      eth: { tx: { to: "0xAA", data: "0x", value: 5n, gas: 1, nonce: 0, chain_id: 1, type: "TYPE_2" } },
    },
    nowMs: Date.UTC(2026, 0, 5, 15),
    submitterId: "A",
    approvals: [{ user: users[0] as Voter }],
    voters: users,
  };
  const [evaluation] = evaluatePolicies(request, cache, budget).evaluations;
  assert.ok(evaluation);
  return explainPolicy(whole, evaluation, request, cache, budget);
}

test("says which clause was false, and on what value", () => {
  assert.equal(
    explain({ condition: "activity.action == 'SIGN' && eth.tx.value > 10 && eth.tx.to in ['0xBB']" }),
    "The condition does not hold. `eth.tx.value > 10` is false: eth.tx.value is 5. " +
      "`eth.tx.to in ['0xBB']` is false: eth.tx.to is '0xAA'.",
  );
  assert.equal(
    explain({ condition: "!wallet.exported" }),
    "The condition does not hold. `!(wallet.exported)` is false.",
  );
  assert.equal(
    explain({ condition: "wallet.id == 'V' || [1].any(x, x == 2)" }),
    "The condition does not hold. `wallet.id == 'V'` is false: wallet.id is 'W'. `[1].any(x, x == 2)` is false.",
  );
});

test("says which approvals are missing", () => {
  assert.equal(
    explain({ consensus: "approvers.any(u, u.id == 'A') && approvers.any(u, u.id == 'B')" }),
    "The consensus is not complete. `approvers.any(u, u.id == 'B')` is false. Still needed: 1 approval by B (Ben).",
  );
  assert.equal(
    explain({ consensus: "approvers.count() >= 3" }),
    "The consensus is not complete. `approvers.count() >= 3` is false: approvers.count() is 1. " +
      "Still needed: 2 approvals by any of B (Ben), C.",
  );
  assert.equal(
    explain({ consensus: "approvers.any(u, u.id == 'B')" }),
    "The consensus does not hold. `approvers.any(u, u.id == 'B')` is false. Further approvals would not change that.",
  );
});

test("says what could not be evaluated, and what that means", () => {
  assert.equal(
    explain({ condition: "wallet.id == 'W' || private_key.id == 'P'", consensus: "approvers.count() == 1" }),
    "The policy cannot be evaluated. `private_key.id == 'P'` cannot be evaluated: there is no private_key here. " +
      "So it does not allow anything.",
  );
  assert.match(
    explain({ effect: "EFFECT_DENY", condition: "wallet.label[0..100] == 'x'" }),
    /As it is a denying policy, it denies\.$/,
  );
  assert.equal(
    explain({ effect: "EFFECT_DENY", condition: "private_key.id == 'P' || bitcoin.tx.fee > 5" }),
    "The policy cannot be evaluated. `private_key.id == 'P'` cannot be evaluated: there is no private_key here. " +
      "`bitcoin.tx.fee > 5` cannot be evaluated: there is no bitcoin.tx here. " +
      "It is about activities that have private_key and bitcoin.tx, so it does not deny this one.",
  );
  assert.match(
    explain({ condition: "wallet.colour == 'x'" }),
    /`wallet\.colour == 'x'` cannot be evaluated: Expression/,
  );
});

test("says when a policy sleeps, allows or denies", () => {
  assert.equal(
    explain({ time: "time.now < Timestamp('2026-01-01T00:00:00Z')", condition: "false" }),
    "The policy is not active now. `time.now < Timestamp('2026-01-01T00:00:00Z')` is false: " +
      "time.now is 2026-01-05T15:00:00.000Z.",
  );
  assert.equal(explain({}), "The policy allows the activity.");
  assert.equal(
    explain({ effect: "EFFECT_DENY" }),
    "The policy denies the activity: its condition and its consensus hold.",
  );
  assert.equal(
    explain({ effect: "EFFECT_DENY", consensus: "approvers.count() == 2" }),
    "The consensus does not hold. `approvers.count() == 2` is false: approvers.count() is 1.",
  );
});

test("keeps long texts and values short", () => {
  const long = "x".repeat(5000);
  assert.ok(explain({ condition: `wallet.label == '${long}' && wallet.id == '😀${long}'` }).length < 1000);
});
