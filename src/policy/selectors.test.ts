import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { KeysteadError } from "../kernel/errors.ts";
import { MAX_SELECTORS } from "../kernel/limits.ts";
import { Budget } from "./budget.ts";
import { createExpressionCache } from "./cache.ts";
import { type DecisionRequest, evaluatePolicies } from "./decision.ts";
import { parse } from "./parser.ts";
import {
  expressionsOfSelectors,
  type Selector,
  type SelectorOperator,
  selectorOperators,
  selectorSubjects,
} from "./selectors.ts";
import { validatePolicy } from "./validate.ts";

const fieldOf = (selector: number, target: number) => `selectors.${selector}.targets.${target}`;
const expressions = (...selectors: Selector[]) => expressionsOfSelectors(selectors, fieldOf);
const select = (subject: string, operator: string, ...targets: string[]): Selector => ({
  subject,
  operator: operator as SelectorOperator,
  targets,
});

/** The messages with which a selector is rejected. */
function refusal(selector: Selector): string {
  try {
    expressions(selector);
  } catch (error) {
    assert.ok(error instanceof KeysteadError);
    assert.equal(error.httpStatus, 400);
    return error.message;
  }
  return assert.fail(`${JSON.stringify(selector)} was accepted`);
}

const INTEGERS = [
  "OPERATOR_MORE_THAN",
  "OPERATOR_MORE_THAN_OR_EQUAL",
  "OPERATOR_LESS_THAN",
  "OPERATOR_LESS_THAN_OR_EQUAL",
];

/** The operators for each kind of subject, from the table in docs/adr/0040-policy-selectors.md. */
function operatorsOf(subject: string): string[] {
  const both = ["OPERATOR_EQUAL", "OPERATOR_NOT_EQUAL", "OPERATOR_IN", "OPERATOR_NOT_IN"];
  if (/tags$|_keys$/.test(subject)) return ["OPERATOR_CONTAINS", "OPERATOR_CONTAINS_ONE", "OPERATOR_CONTAINS_ALL"];
  return /count$|value|gas|chain_id|nonce/.test(subject) ? [...both, ...INTEGERS] : both;
}

describe("selectors", () => {
  it("are accepted for every subject with every operator that fits it, and refused with all others", () => {
    let accepted = 0;
    for (const subject of selectorSubjects) {
      for (const operator of selectorOperators) {
        const selector = select(subject, operator, "7");
        if (operatorsOf(subject).includes(operator)) {
          validatePolicy(expressions(selector));
          accepted++;
        } else {
          assert.match(refusal(selector), /`parameters\.selectors\.0\.operator` does not fit /);
        }
      }
    }
    assert.ok(accepted > 100, `only ${accepted} pairs`);
  });

  const written: [Selector, object][] = [
    [select("activity.type", "OPERATOR_EQUAL", "A"), { condition: "activity.type == 'A'" }],
    [select("activity.kind", "OPERATOR_NOT_EQUAL", "A"), { condition: "activity.kind != 'A'" }],
    [select("activity.action", "OPERATOR_IN", "A", "B"), { condition: "activity.action in ['A', 'B']" }],
    [select("wallet.id", "OPERATOR_NOT_IN", "A", "B"), { condition: "!(wallet.id in ['A', 'B'])" }],
    [select("eth.tx.value", "OPERATOR_MORE_THAN", "7"), { condition: "eth.tx.value > 7" }],
    [select("eth.tx.value", "OPERATOR_MORE_THAN_OR_EQUAL", "7"), { condition: "eth.tx.value >= 7" }],
    [select("eth.tx.value", "OPERATOR_LESS_THAN", "7"), { condition: "eth.tx.value < 7" }],
    [select("eth.tx.value", "OPERATOR_LESS_THAN_OR_EQUAL", "7"), { condition: "eth.tx.value <= 7" }],
    [select("private_key.tags", "OPERATOR_CONTAINS", "A"), { condition: "private_key.tags.contains('A')" }],
    [
      select("private_key.tags", "OPERATOR_CONTAINS_ONE", "A", "B"),
      { condition: "['A', 'B'].any(target, target in private_key.tags)" },
    ],
    [
      select("user.tags", "OPERATOR_CONTAINS_ALL", "A", "B"),
      { consensus: "approvers.any(user, ['A', 'B'].all(target, target in user.tags))" },
    ],
    [
      select("credential.type", "OPERATOR_EQUAL", "A"),
      { consensus: "credentials.any(credential, credential.type == 'A')" },
    ],
    [select("approvers.count", "OPERATOR_MORE_THAN_OR_EQUAL", "2"), { consensus: "approvers.count() >= 2" }],
  ];
  for (const [selector, expected] of written) {
    it(`${selector.subject} ${selector.operator}`, () => {
      assert.deepEqual(expressions(selector), expected);
    });
  }

  it("become one condition and one consensus, in which one approver meets all that is said of the user", () => {
    const both = expressions(
      select("user.id", "OPERATOR_NOT_EQUAL", "A"),
      select("activity.action", "OPERATOR_EQUAL", "SIGN"),
      select("user.tags", "OPERATOR_CONTAINS", "T"),
      select("eth.tx.chain_id", "OPERATOR_IN", "1", "10"),
      select("approvers.count", "OPERATOR_EQUAL", "2"),
    );
    assert.deepEqual(both, {
      condition: "activity.action == 'SIGN' && eth.tx.chain_id in [1, 10]",
      consensus: "approvers.any(user, user.id != 'A' && user.tags.contains('T')) && approvers.count() == 2",
    });
    validatePolicy(both);
  });

  it("decide as they say", () => {
    const tagged = (id: string, ...tags: string[]) => ({ id, tags, credentials: [] });
    const outcome = (policy: ReturnType<typeof expressions>, action: string, ...tags: string[]) => {
      const user = tagged("A", ...tags);
      const request: DecisionRequest = {
        policies: [{ policyId: "p", effect: "EFFECT_ALLOW", ...policy }],
        facts: { activity: { type: "T", kind: "K", resource: "R", action, params: {} } },
        nowMs: 0,
        submitterId: "A",
        approvals: [{ user, credential: { id: "c", user_id: "A", type: "t" } }],
        voters: [user],
      };
      return evaluatePolicies(request, createExpressionCache(), new Budget(Number.POSITIVE_INFINITY)).outcome;
    };
    const all = expressions(
      select("activity.action", "OPERATOR_NOT_IN", "EXPORT", "DELETE"),
      select("user.tags", "OPERATOR_CONTAINS_ALL", "x", "y"),
    );
    assert.equal(outcome(all, "SIGN", "y", "z", "x"), "OUTCOME_ALLOW");
    assert.notEqual(outcome(all, "SIGN", "x"), "OUTCOME_ALLOW");
    assert.notEqual(outcome(all, "DELETE", "x", "y"), "OUTCOME_ALLOW");
    const one = expressions(select("user.tags", "OPERATOR_CONTAINS_ONE", "x", "y"));
    assert.equal(outcome(one, "SIGN", "y"), "OUTCOME_ALLOW");
    assert.notEqual(outcome(one, "SIGN", "z"), "OUTCOME_ALLOW");
  });

  it("of an unknown subject are refused with the known ones", () => {
    for (const subject of ["", "user", "user.name", "eth.tx", "activity.params.type", "constructor", "__proto__"]) {
      const text = refusal(select(subject, "OPERATOR_EQUAL", "A"));
      for (const known of selectorSubjects) assert.ok(text.includes(known), `${text} lacks ${known}`);
    }
  });

  it("compare with one target where the operator does", () => {
    assert.match(
      refusal(select("user.id", "OPERATOR_EQUAL", "A", "B")),
      /`parameters\.selectors\.0\.targets` must have/,
    );
    assert.match(
      refusal(select("user.tags", "OPERATOR_CONTAINS", "A", "B")),
      /exactly one entry for OPERATOR_CONTAINS/,
    );
  });

  it("refuse numbers that are none", () => {
    for (const target of ["", "seven", "1.5", "0x10", "1e3", " 7", "7 || true", "9".repeat(79)]) {
      assert.match(
        refusal(select("eth.tx.value", "OPERATOR_EQUAL", target)),
        /`selectors\.0\.targets\.0` must be a whole/,
      );
    }
  });

  it("never let a target end its literal", () => {
    const injected = "x' || true || 'x' == 'x";
    assert.match(
      refusal(select("wallet.label", "OPERATOR_EQUAL", injected)),
      /`selectors\.0\.targets\.0` holds a single/,
    );
    assert.match(refusal(select("wallet.label", "OPERATOR_IN", "fine", "a\nb")), /`selectors\.0\.targets\.1` holds/);
    let literals = 0;
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("'", "\\", "a", " ", ")", "|", "\n", "é", '"') }), (target) => {
        if (/['\n]/.test(target)) {
          refusal(select("wallet.label", "OPERATOR_EQUAL", target));
          return;
        }
        const { condition } = expressions(select("wallet.label", "OPERATOR_EQUAL", target));
        const tree = parse(condition as string);
        assert.ok(tree.kind === "compare" && tree.right.kind === "string" && tree.right.value === target);
        literals++;
      }),
      { seed: 40 },
    );
    assert.ok(literals > 10);
  });

  it("may be as many as the limit says, each of them as deep as they get", () => {
    const most = Array.from({ length: MAX_SELECTORS }, () => select("user.tags", "OPERATOR_CONTAINS_ALL", "A", "B"));
    validatePolicy(expressions(...most));
    const conditions = Array.from({ length: MAX_SELECTORS }, () => select("wallet.id", "OPERATOR_NOT_IN", "A", "B"));
    validatePolicy(expressions(...conditions));
  });
});
