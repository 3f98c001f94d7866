import assert from "node:assert/strict";
import { test } from "node:test";
import { createExpressionCache } from "./cache.ts";
import type { Voter } from "./consensus.ts";
import { type DecisionRequest, decide, denialMessage, type Outcome, type Policy } from "./decision.ts";

const cache = createExpressionCache();

const users: Voter[] = ["A", "B", "C"].map((id) => ({
  id,
  tags: id === "C" ? ["T"] : [],
  credentials: [{ id: `${id}-1`, user_id: id, type: "CREDENTIAL_TYPE_API_KEY_P256", public_key: `02${id}` }],
}));

function request(policies: Omit<Policy, "policyId">[], approvers = ["A"]): DecisionRequest {
  return {
    policies: policies.map((policy, index) => ({ policyId: `p${index + 1}`, ...policy })),
    facts: {
      activity: {
        type: "ACTIVITY_TYPE_SIGN_TRANSACTION_V2",
        kind: "SIGN_TRANSACTION",
        resource: "PRIVATE_KEY",
        action: "SIGN",
        params: { type: "TRANSACTION_TYPE_ETHEREUM" },
      },
      wallet: { id: "W", imported: false, exported: false, label: "hot" },
    },
    nowMs: Date.UTC(2026, 0, 5, 15),
    submitterId: "A",
    approvals: approvers.map((id) => {
      const user = users.find((voter) => voter.id === id) as Voter;
      return { user, credential: user.credentials[0] };
    }),
    voters: users,
  };
}

const ALLOW = "EFFECT_ALLOW" as const;
const DENY = "EFFECT_DENY" as const;
const byA = "approvers.any(u, u.id == 'A')";
const byAB = "approvers.any(u, u.id == 'A') && approvers.any(u, u.id == 'B')";
const failing = "wallet.id == 'W' || private_key.id == 'P'";

/** Policies, the outcome of each, the outcome of all, and the policies that made it so. */
const cases: [string, Omit<Policy, "policyId">[], string[], string, string[]][] = [
  ["no policies", [], [], "DENY_IMPLICIT", []],
  ["an allowance without expressions", [{ effect: ALLOW }], ["ALLOW"], "ALLOW", ["p1"]],
  ["empty expressions", [{ effect: ALLOW, consensus: "", condition: "", time: "" }], ["ALLOW"], "ALLOW", ["p1"]],
  ["a denial without consensus", [{ effect: DENY, condition: "true" }], ["DENY_EXPLICIT"], "DENY_EXPLICIT", ["p1"]],
  ["a denial wins", [{ effect: ALLOW }, { effect: DENY }], ["ALLOW", "DENY_EXPLICIT"], "DENY_EXPLICIT", ["p2"]],
  ["a false condition", [{ effect: ALLOW, condition: "false" }], ["DENY_IMPLICIT"], "DENY_IMPLICIT", []],
  [
    "a denial that does not apply",
    [{ effect: DENY, condition: "false" }, { effect: ALLOW }],
    ["DENY_IMPLICIT", "ALLOW"],
    "ALLOW",
    ["p2"],
  ],
  [
    "a denial for others",
    [{ effect: DENY, consensus: "approvers.any(u, u.id == 'B')" }, { effect: ALLOW }],
    ["DENY_IMPLICIT", "ALLOW"],
    "ALLOW",
    ["p2"],
  ],
  [
    "the submitter's own",
    [{ effect: ALLOW, consensus: byA, condition: "wallet.id == 'W'" }],
    ["ALLOW"],
    "ALLOW",
    ["p1"],
  ],
  ["a partial consensus", [{ effect: ALLOW, consensus: byAB }], ["REQUIRES_CONSENSUS"], "REQUIRES_CONSENSUS", ["p1"]],
  [
    "a consensus in which the submitter does not count",
    [{ effect: ALLOW, consensus: "approvers.any(u, u.id == 'B')" }],
    ["DENY_IMPLICIT"],
    "DENY_IMPLICIT",
    [],
  ],
  [
    "a partial consensus for another activity",
    [{ effect: ALLOW, consensus: byAB, condition: "activity.kind == 'CREATE_WALLET'" }],
    ["DENY_IMPLICIT"],
    "DENY_IMPLICIT",
    [],
  ],
  [
    "an allowance beside a partial consensus",
    [{ effect: ALLOW, consensus: byAB }, { effect: ALLOW }],
    ["REQUIRES_CONSENSUS", "ALLOW"],
    "ALLOW",
    ["p2"],
  ],
  [
    "a denial beside a partial consensus",
    [
      { effect: ALLOW, consensus: byAB },
      { effect: DENY, consensus: byA },
    ],
    ["REQUIRES_CONSENSUS", "DENY_EXPLICIT"],
    "DENY_EXPLICIT",
    ["p2"],
  ],
  ["a denial does not wait for approvals", [{ effect: DENY, consensus: byAB }], ["DENY_IMPLICIT"], "DENY_IMPLICIT", []],
  ["an erroring allowance", [{ effect: ALLOW, condition: failing }], ["ERROR"], "DENY_IMPLICIT", []],
  [
    "an erroring allowance beside another",
    [{ effect: ALLOW, condition: failing }, { effect: ALLOW }],
    ["ERROR", "ALLOW"],
    "ALLOW",
    ["p2"],
  ],
  [
    "an erroring denial denies",
    [{ effect: ALLOW }, { effect: DENY, condition: failing }],
    ["ALLOW", "ERROR"],
    "DENY_EXPLICIT",
    ["p2"],
  ],
  [
    "an error is not outweighed by a false consensus",
    [{ effect: ALLOW }, { effect: DENY, condition: failing, consensus: "false" }],
    ["ALLOW", "ERROR"],
    "DENY_EXPLICIT",
    ["p2"],
  ],
  [
    "an error of the consensus, with a false condition",
    [{ effect: ALLOW, condition: "false", consensus: "approvers[1].id == 'B'" }],
    ["ERROR"],
    "DENY_IMPLICIT",
    [],
  ],
  [
    "an expression that is not valid any more",
    [{ effect: DENY, condition: "wallet.colour == 'red'" }, { effect: ALLOW }],
    ["ERROR", "ALLOW"],
    "DENY_EXPLICIT",
    ["p1"],
  ],
  [
    "an inactive denial is skipped, error and all",
    [{ effect: DENY, condition: failing, time: "time.now < Timestamp('2026-01-05T15:00:00Z')" }, { effect: ALLOW }],
    ["TIME_INACTIVE", "ALLOW"],
    "ALLOW",
    ["p2"],
  ],
  [
    "an inactive allowance",
    [{ effect: ALLOW, time: "!CronSpan('0 9 * * 1-5', '8h', 'America/New_York')" }],
    ["TIME_INACTIVE"],
    "DENY_IMPLICIT",
    [],
  ],
  [
    "an active time",
    [{ effect: ALLOW, time: "CronSpan('0 9 * * 1-5', '8h', 'America/New_York')" }],
    ["ALLOW"],
    "ALLOW",
    ["p1"],
  ],
  [
    "all denials are named",
    [{ effect: DENY }, { effect: ALLOW }, { effect: DENY, condition: failing }],
    ["DENY_EXPLICIT", "ALLOW", "ERROR"],
    "DENY_EXPLICIT",
    ["p1", "p3"],
  ],
];

test("decides", () => {
  for (const [name, policies, outcomes, outcome, decisive] of cases) {
    const decision = decide(request(policies), cache);
    const found = decision.evaluations.map((evaluation) => evaluation.outcome);
    assert.deepEqual(
      found,
      outcomes.map((word) => `OUTCOME_${word}` as Outcome),
      name,
    );
    assert.equal(decision.outcome, `OUTCOME_${outcome}`, name);
    assert.deepEqual(decision.decisive, decisive, name);
  }
});

test("further approvals are decided on afresh", () => {
  const policies = [{ effect: ALLOW, consensus: byAB }];
  assert.equal(decide(request(policies, ["A", "C"]), cache).outcome, "OUTCOME_REQUIRES_CONSENSUS");
  assert.equal(decide(request(policies, ["A", "B"]), cache).outcome, "OUTCOME_ALLOW");
  const withoutB = { ...request(policies, ["A"]), voters: users.filter(({ id }) => id !== "B") };
  assert.equal(decide(withoutB, cache).outcome, "OUTCOME_DENY_IMPLICIT");
  const tagged = [{ effect: ALLOW, consensus: "approvers.count() == 2 && approvers.any(u, u.tags.contains('T'))" }];
  assert.equal(decide(request(tagged), cache).outcome, "OUTCOME_REQUIRES_CONSENSUS");
  const stripped = users.map((user) => ({ ...user, tags: [] }));
  assert.equal(decide({ ...request(tagged), voters: stripped }, cache).outcome, "OUTCOME_DENY_IMPLICIT");
});

test("does not ask for the users where no approvals are missing", () => {
  const asked = request([{ effect: ALLOW }, { effect: ALLOW, consensus: byAB, condition: "false" }]);
  const lazy: DecisionRequest = {
    ...asked,
    get voters(): Voter[] {
      return assert.fail("the users were read");
    },
  };
  assert.equal(decide(lazy, cache).outcome, "OUTCOME_ALLOW");
});

test("denials read as clients know them", () => {
  assert.equal(denialMessage(decide(request([]), cache)), "No policies evaluated to outcome: Allow");
  const denied = decide(request([{ effect: DENY }, { effect: DENY, condition: failing }]), cache);
  assert.equal(denialMessage(denied), "The following policies denied this action: p1, p2");
});
