import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_CONSENSUS_STEPS } from "../kernel/limits.ts";
import type { Voter } from "./approvals.ts";
import { Budget, OutOfBudget } from "./budget.ts";
import { createExpressionCache } from "./cache.ts";
import { type DecisionRequest, denialMessage, evaluatePolicies } from "./decision.ts";
import { MissingFactError } from "./errors.ts";
import type { Outcome } from "./evaluation.ts";
import type { Policy } from "./policy.ts";
import { createValueMemory } from "./remembered-values.ts";

const cache = createExpressionCache();
const budget = new Budget(Number.POSITIVE_INFINITY);

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
/** Needs a root that the activity does not have. */
const lacking = "wallet.id == 'W' || private_key.id == 'P'";
/** Needs more of a fact than the activity has. */
const failing = "wallet.label[0..100] == 'x'";

/** A test of each combination of a hundred numbers. */
function nested(test: string, variables: string[]): string {
  const numbers = `[${Array.from({ length: 100 }, (_, index) => index).join(", ")}]`;
  return variables.reduceRight((inner, variable) => `${numbers}.any(${variable}, ${inner})`, test);
}

/** The policies, the outcome of each, the overall outcome, and the policies that determined it. */
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
  ["an allowance that lacks a root", [{ effect: ALLOW, condition: lacking }], ["ERROR"], "DENY_IMPLICIT", []],
  [
    "an erroring denial denies",
    [{ effect: ALLOW }, { effect: DENY, condition: failing }],
    ["ALLOW", "ERROR"],
    "DENY_EXPLICIT",
    ["p2"],
  ],
  [
    "a denial that lacks nothing but roots denies nothing",
    [{ effect: ALLOW }, { effect: DENY, condition: lacking }],
    ["ALLOW", "ERROR"],
    "ALLOW",
    ["p1"],
  ],
  [
    "both kinds of error together deny, whichever comes first",
    [
      { effect: ALLOW },
      { effect: DENY, condition: `${lacking} || ${failing}` },
      { effect: DENY, condition: `${failing} && ${lacking}` },
    ],
    ["ALLOW", "ERROR", "ERROR"],
    "DENY_EXPLICIT",
    ["p2", "p3"],
  ],
  [
    "both kinds of error in two expressions deny",
    [{ effect: ALLOW }, { effect: DENY, condition: lacking, consensus: "approvers[1].id == 'B'" }],
    ["ALLOW", "ERROR"],
    "DENY_EXPLICIT",
    ["p2"],
  ],
  [
    "published denials leave alone what they are not about",
    [
      { effect: ALLOW },
      { effect: DENY, condition: "bitcoin.tx.fee > 50000" },
      { effect: DENY, condition: "solana.tx.transfers.any(transfer, transfer.to == 'X')" },
      {
        effect: DENY,
        condition:
          "activity.type == 'ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2' && activity.params.hash_function == 'HASH_FUNCTION_NO_OP' && activity.params.encoding != 'PAYLOAD_ENCODING_EIP712'",
      },
      { effect: DENY, condition: "eth.tx.to == '0x00' && private_key.tags.contains('T')" },
    ],
    ["ALLOW", "ERROR", "ERROR", "ERROR", "ERROR"],
    "ALLOW",
    ["p1"],
  ],
  [
    "a root in a test that nothing is put to is not asked for",
    [{ effect: ALLOW }, { effect: DENY, condition: "[].any(x, eth.tx.value > 5) || wallet.id == 'W'" }],
    ["ALLOW", "DENY_EXPLICIT"],
    "DENY_EXPLICIT",
    ["p2"],
  ],
  [
    "a denial that takes too many steps denies, whatever it lacks",
    [
      { effect: ALLOW },
      {
        effect: DENY,
        condition: `private_key.id == 'P' || ${nested("x == y || x == z", ["x", "y", "z"])}`,
      },
    ],
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
    const decision = evaluatePolicies(request(policies), cache, budget);
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
  assert.equal(evaluatePolicies(request(policies, ["A", "C"]), cache, budget).outcome, "OUTCOME_REQUIRES_CONSENSUS");
  assert.equal(evaluatePolicies(request(policies, ["A", "B"]), cache, budget).outcome, "OUTCOME_ALLOW");
  const withoutB = { ...request(policies, ["A"]), voters: users.filter(({ id }) => id !== "B") };
  assert.equal(evaluatePolicies(withoutB, cache, budget).outcome, "OUTCOME_DENY_IMPLICIT");
  const tagged = [{ effect: ALLOW, consensus: "approvers.count() == 2 && approvers.any(u, u.tags.contains('T'))" }];
  assert.equal(evaluatePolicies(request(tagged), cache, budget).outcome, "OUTCOME_REQUIRES_CONSENSUS");
  const stripped = users.map((user) => ({ ...user, tags: [] }));
  assert.equal(
    evaluatePolicies({ ...request(tagged), voters: stripped }, cache, budget).outcome,
    "OUTCOME_DENY_IMPLICIT",
  );
});

test("does not ask for the users where no approvals are missing", () => {
  const asked = request([{ effect: ALLOW }, { effect: ALLOW, consensus: byAB, condition: "false" }]);
  const lazy: DecisionRequest = {
    ...asked,
    get voters(): Voter[] {
      return assert.fail("the users were read");
    },
  };
  assert.equal(evaluatePolicies(lazy, cache, budget).outcome, "OUTCOME_ALLOW");
});

test("denials read as clients know them", () => {
  assert.equal(denialMessage(evaluatePolicies(request([]), cache, budget)), "No policies evaluated to outcome: Allow");
  const policies = [{ effect: DENY }, { effect: DENY, condition: failing }, { effect: DENY, condition: lacking }];
  const denied = evaluatePolicies(request(policies), cache, budget);
  assert.equal(denialMessage(denied), "The following policies denied this action: p1, p2");
});

test("what the activity has and cannot be told is no root that it lacks", () => {
  const policies = [{ effect: ALLOW }, { effect: DENY, condition: "eth.eip_712.primary_type == 'Permit'" }];
  const asked = request(policies);
  assert.equal(evaluatePolicies(asked, cache, budget).outcome, "OUTCOME_ALLOW");
  const eth = {
    get eip_712(): never {
      throw new MissingFactError("there are several payloads");
    },
  };
  const untold = { ...asked, facts: { ...asked.facts, eth } };
  const { outcome, decisive, evaluations } = evaluatePolicies(untold, cache, budget);
  assert.deepEqual([outcome, decisive], ["OUTCOME_DENY_EXPLICIT", ["p2"]]);
  assert.equal(evaluations[1]?.error?.cause.message, "there is no eth.eip_712: there are several payloads");
});

test("a denial says which roots it lacks", () => {
  const condition = "eth.tx.value > 1 || wallets.count() == 2 || activity.params.encoding == 'x' || wallet.id == 'W'";
  const [evaluation] = evaluatePolicies(request([{ effect: DENY, condition }]), cache, budget).evaluations;
  assert.deepEqual(evaluation?.error?.absentRoots, ["eth.tx", "wallets", "activity.params.encoding"]);
});

test("a time that fails makes its policy fail, not inactive, and a denial by it denies", () => {
  const time = "time.now.hour(";
  const { outcome, evaluations } = evaluatePolicies(request([{ effect: ALLOW, time }]), cache, budget);
  assert.equal(outcome, "OUTCOME_DENY_IMPLICIT");
  assert.deepEqual([evaluations[0]?.outcome, evaluations[0]?.error?.scope], ["OUTCOME_ERROR", "time"]);
  const denied = evaluatePolicies(request([{ effect: ALLOW }, { effect: DENY, time }]), cache, budget);
  assert.deepEqual([denied.outcome, denied.decisive], ["OUTCOME_DENY_EXPLICIT", ["p2"]]);
});

test("of two errors the first is told that denies; what an allowance lacks is no exemption", () => {
  const told = (policy: Omit<Policy, "policyId">) =>
    evaluatePolicies(request([policy]), cache, budget).evaluations[0]?.error;
  const consensus = "approvers.any(u, u.alias[0..100] == 'x')";
  assert.equal(told({ effect: DENY, condition: failing, consensus })?.scope, "condition");
  assert.equal(told({ effect: DENY, condition: lacking, consensus })?.scope, "consensus");
  assert.ok(told({ effect: DENY, condition: lacking })?.absentRoots);
  assert.equal(told({ effect: ALLOW, condition: lacking })?.absentRoots, undefined);
});

test("each policy costs steps, though all that it comes to is remembered", () => {
  const asked = request(Array.from({ length: 100 }, () => ({ effect: ALLOW, condition: "activity.action == 'X'" })));
  const memory = createValueMemory();
  for (let time = 0; time < 2; time++) evaluatePolicies(asked, cache, budget, memory);
  const some = new Budget(1_000_000);
  evaluatePolicies(asked, cache, some, memory);
  assert.ok(some.left <= 1_000_000 - 100, `${some.left} left`);
  assert.throws(() => evaluatePolicies(asked, cache, new Budget(99), memory), OutOfBudget);
});

test("no outcome comes of a budget that is used up", () => {
  const policies = [
    { effect: ALLOW, condition: nested("x == y", ["x", "y"]) },
    { effect: ALLOW, consensus: "approvers.count() >= 2 && approvers.all(u, u.id != 'C') || approvers.count() == 3" },
    { effect: DENY, condition: "private_key.id == 'P' && activity.action == 'SIGN'" },
  ];
  const whole = new Budget(1_000_000);
  const { outcome } = evaluatePolicies(request(policies), cache, whole);
  const spent = 1_000_000 - whole.left;
  assert.ok(spent > 10_000 && spent < 100_000, String(spent));
  let refused = 0;
  for (let steps = spent + MAX_CONSENSUS_STEPS; steps >= 0; steps -= 997) {
    try {
      assert.equal(evaluatePolicies(request(policies), cache, new Budget(steps)).outcome, outcome);
    } catch (error) {
      if (!(error instanceof OutOfBudget)) throw error;
      refused++;
    }
  }
  assert.ok(refused > 5);
});
