import assert from "node:assert/strict";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { MAX_REMEMBERED_DECISIONS } from "../../src/kernel/limits.ts";
import type { Approval } from "../../src/policy/approvals.ts";
import { Budget } from "../../src/policy/budget.ts";
import { createExpressionCache } from "../../src/policy/cache.ts";
import { type DecisionRequest, evaluatePolicies } from "../../src/policy/decision.ts";
import type { PolicyResult } from "../../src/policy/evaluation.ts";
import type { ConditionFacts, ConsensusFacts } from "../../src/policy/facts.ts";
import type { Policy } from "../../src/policy/policy.ts";
import { createValueMemory } from "../../src/policy/remembered-values.ts";
import { areLong } from "../support/long-tests.ts";
import { randomProgram } from "./random-programs.ts";

/** Decisions with a memory are held against decisions without one, on random policies, activities and approvals. */

const RUNS = areLong ? 20_000 : 500;

const budget = new Budget(Number.POSITIVE_INFINITY);
const row = fc.array(fc.nat(2 ** 31 - 1), { minLength: 5, maxLength: 80, size: "max" });

/** Few of each, so that activities of one class come with different facts and parameters. */
const types = ["ACTIVITY_TYPE_SIGN_TRANSACTION_V2", "a"];
/** Texts that look at the class alone, which random ones seldom do. */
const ofClass = [
  "activity.type == 'a'",
  "activity.kind in ['a', 'b'] || activity.action != 'SIGN'",
  "activity.type == 'a' && activity.params.type == 'a'",
  "activity.resource == 'WALLET' && wallet.id == 'a'",
];

function policiesFrom(rows: readonly number[][]): Policy[] {
  return rows.map((choices, index): Policy => {
    const { scope, source } = randomProgram(choices);
    const effect = choices[0] === undefined || choices[0] % 3 > 0 ? "EFFECT_ALLOW" : "EFFECT_DENY";
    const condition = scope === "condition" ? source : ofClass[index % ofClass.length];
    const [consensus, time] = (["consensus", "time"] as const).map((each) => (scope === each ? source : ""));
    return { policyId: `p${index}`, effect, condition, consensus, time };
  });
}

/** What a random program came with, as the facts of an activity or as approvals. */
function requestFrom(choices: number[], policies: Policy[], people: readonly Approval[]): DecisionRequest {
  const { facts } = randomProgram(choices);
  const [first = 0, second = 0] = choices;
  const known = "activity" in facts ? (facts as ConditionFacts) : undefined;
  const { approvers, credentials } = facts as ConsensusFacts;
  const approvals = known
    ? people.filter((_, index) => (first >> index) % 2 === 1)
    : approvers.map((user, index) => ({ user, credential: credentials[index] }));
  const type = types[second % types.length] as string;
  return {
    policies,
    facts: { ...known, activity: { ...known?.activity, type } },
    nowMs: Date.UTC(2026, 0, 5 + (second % 7), first % 24),
    submitterId: "a",
    approvals,
    voters: [],
  };
}

const shape = (decision: PolicyResult) =>
  decision.evaluations.map(({ error, ...rest }) => ({
    ...rest,
    error: error && { scope: error.scope, code: error.cause.code, message: error.cause.description },
  }));

test(`${RUNS} lists of policies decide on a row of activities as if nothing were remembered`, (context) => {
  const people: Approval[] = ["a", "b"].map((id) => ({ user: { id, tags: ["a"] } }));
  let found = 0;
  let settled = 0;
  fc.assert(
    fc.property(
      fc.array(row, { minLength: 1, maxLength: 8 }),
      fc.array(row, { minLength: 2, maxLength: 12 }),
      (a, b) => {
        const memory = createValueMemory(5);
        const cache = createExpressionCache();
        const policies = policiesFrom(a);
        for (const request of b.map((choices) => requestFrom(choices, policies, people))) {
          const { condition = [], consensus = [], settled: known } = memory.columnsOf(request);
          settled += (known?.evaluations ?? []).filter((evaluation) => evaluation !== undefined).length;
          found += [...condition, ...consensus].filter((value) => value !== undefined).length;
          const remembering = evaluatePolicies(request, cache, budget, memory);
          const fresh = evaluatePolicies(request, cache, budget);
          assert.deepEqual(shape(remembering), shape(fresh), JSON.stringify(policies));
          assert.equal(remembering.outcome, fresh.outcome);
          assert.deepEqual(remembering.decisive, fresh.decisive);
        }
      },
    ),
    { numRuns: RUNS },
  );
  context.diagnostic(`${found} values and ${settled} evaluations were remembered`);
  assert.ok(found > RUNS && settled > RUNS / 10, `${found}, ${settled}`);
});

const cache = createExpressionCache();
const activity = { type: "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2", kind: "SIGN_RAW_PAYLOAD", action: "SIGN" };
const wallet = { id: "W", imported: false, exported: false, label: "" };

function outcomes(memory: ReturnType<typeof createValueMemory>, policies: Policy[], facts: ConditionFacts): string[] {
  const request = { policies, facts, nowMs: 0, submitterId: "a", approvals: [], voters: [] };
  return evaluatePolicies(request, cache, budget, memory).evaluations.map(({ outcome }) => outcome);
}

test("a fact that appears, or changes, is looked at", () => {
  const memory = createValueMemory();
  const policies: Policy[] = [
    { policyId: "p", effect: "EFFECT_ALLOW", condition: "activity.action == 'SIGN' && wallet.id == 'W'" },
  ];
  assert.deepEqual(outcomes(memory, policies, { activity }), ["OUTCOME_ERROR"]);
  assert.deepEqual(outcomes(memory, policies, { activity }), ["OUTCOME_ERROR"]);
  assert.deepEqual(outcomes(memory, policies, { activity, wallet }), ["OUTCOME_ALLOW"]);
  assert.deepEqual(outcomes(memory, policies, { activity, wallet: { ...wallet, id: "V" } }), ["OUTCOME_DENY_IMPLICIT"]);
});

test("a decision that hangs on the class and the approvers alone is shared", () => {
  const memory = createValueMemory();
  const user = { id: "a", tags: [] };
  const policies: Policy[] = [
    { policyId: "p", effect: "EFFECT_DENY", condition: "activity.action == 'EXPORT'" },
    { policyId: "q", effect: "EFFECT_ALLOW", consensus: "approvers.any(user, user.id == 'a')" },
  ];
  const decide = (more: Partial<DecisionRequest> = {}) =>
    evaluatePolicies(
      { policies, facts: { activity }, nowMs: 0, submitterId: "a", approvals: [{ user }], voters: [], ...more },
      cache,
      budget,
      memory,
    );
  const first = decide();
  assert.equal(first.outcome, "OUTCOME_ALLOW");
  assert.equal(decide(), first);
  assert.equal(decide({ facts: { activity: { ...activity } }, nowMs: 1 }), first);
  assert.notEqual(decide({ approvals: [{ user: { ...user } }] }), first);
  assert.equal(decide({ approvals: [] }).outcome, "OUTCOME_DENY_IMPLICIT");
  assert.equal(decide({ approvals: [], voters: [{ ...user, credentials: [] }] }).outcome, "OUTCOME_REQUIRES_CONSENSUS");
  const timed = [{ ...policies[1], time: "CronSpan('0 9 * * 1-5', '8h', 'UTC')" } as Policy];
  const [night, day] = [Date.UTC(2026, 0, 5, 3), Date.UTC(2026, 0, 5, 12)];
  assert.deepEqual(
    [day, night, day].map((nowMs) => decide({ policies: timed, nowMs }).outcome),
    ["OUTCOME_ALLOW", "OUTCOME_DENY_IMPLICIT", "OUTCOME_ALLOW"],
  );
});

test("what is remembered goes with its list, and of one list it is bounded", () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const memory = createValueMemory();
  const resultOn = (policies: Policy[], type: string): WeakRef<object> => {
    const facts = { activity: { ...activity, type } };
    const request = { policies, facts, nowMs: 0, submitterId: "a", approvals: [], voters: [] };
    return new WeakRef(evaluatePolicies(request, cache, budget, memory));
  };
  const draft = (): Policy[] => [{ policyId: "p", effect: "EFFECT_DENY", condition: "wallet.id == 'W'" }];
  const kept = draft();
  const ofDrafts = Array.from({ length: 50 }, () => resultOn(draft(), "a"));
  const ofOne = Array.from({ length: 50 }, (_, index) => resultOn(kept, `type ${index}`));
  return new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
    collect();
    const stillThere = (results: WeakRef<object>[]) => results.filter((result) => result.deref() !== undefined).length;
    assert.equal(stillThere(ofDrafts), 0);
    assert.equal(stillThere(ofOne), MAX_REMEMBERED_DECISIONS);
    assert.equal(resultOn(kept, "type 49").deref(), ofOne.at(-1)?.deref());
  });
});

test("another list of policies has values of its own", () => {
  const memory = createValueMemory();
  const allowing = (condition: string): Policy[] => [{ policyId: "p", effect: "EFFECT_ALLOW", condition }];
  assert.deepEqual(outcomes(memory, allowing("activity.action == 'SIGN'"), { activity }), ["OUTCOME_ALLOW"]);
  assert.deepEqual(outcomes(memory, allowing("activity.action != 'SIGN'"), { activity }), ["OUTCOME_DENY_IMPLICIT"]);
});
