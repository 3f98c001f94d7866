import { MAX_CONSENSUS_STEPS } from "../kernel/limits.ts";
import { absentRootsOf } from "./absent-roots.ts";
import { type Approval, consensusFacts, type Voter } from "./approvals.ts";
import type { Budget } from "./budget.ts";
import type { ExpressionCache } from "./cache.ts";
import type { FactsOf, Program } from "./compile.ts";
import { consensusOutlook } from "./consensus.ts";
import { PolicyError } from "./errors.ts";
import type { Outcome, PolicyEvaluation, PolicyResult } from "./evaluation.ts";
import type { ConditionFacts } from "./facts.ts";
import type { Policy } from "./policy.ts";
import { type Columns, isSettled, type Value, type ValueMemory } from "./remembered-values.ts";
import type { Scope } from "./schema.ts";

/** The input of a decision. Properties may be getters; `voters` is read only if a consensus lacks approvals. */
export interface DecisionRequest {
  policies: readonly Policy[];
  facts: ConditionFacts;
  /** Milliseconds since 1970; the same instant for the whole request. */
  nowMs: number;
  submitterId: string;
  /** The approvals that count now: not expired, not of a deleted user, with the current facts of each user. */
  approvals: readonly Approval[];
  /** The organization's users. */
  voters: readonly Voter[];
}

/**
 * Decides an activity by the organization's policies. Any denial denies; so does a denying policy that fails with an error on facts that
 * the activity has. Otherwise any allowance allows. Otherwise, if missing approvals can still come, consensus is needed. Otherwise nothing
 * allows the activity. Root quorum and built-in rules are up to the caller.
 *
 * With a memory, expressions whose value is already known are not evaluated again, and policies whose values are all settled are skipped.
 * The decision is the same.
 *
 * @throws OutOfBudget
 */
export function evaluatePolicies(
  request: DecisionRequest,
  cache: ExpressionCache,
  budget: Budget,
  memory?: ValueMemory,
): PolicyResult {
  budget.spend(STEPS_PER_POLICY * request.policies.length);
  const columns = memory?.columnsOf(request) ?? {};
  const { settled } = columns;
  if (settled?.result !== undefined) return settled.result;
  const evaluating: Evaluating = {
    request,
    facts: {
      consensus: consensusFacts(request.approvals),
      condition: request.facts,
      time: { time: { now: request.nowMs } },
    },
    cache,
    columns,
    budget,
    searching: budget.part(MAX_CONSENSUS_STEPS),
  };
  let areAllSettled = settled !== undefined;
  const evaluations = request.policies.map((policy, index) => {
    const known = settled?.evaluations[index];
    if (known !== undefined) return known;
    const evaluation = evaluatePolicy(policy, index, evaluating);
    if (settled === undefined || !isSettledOn(columns, policy, index, evaluation)) areAllSettled = false;
    else settled.evaluations[index] = evaluation;
    return evaluation;
  });
  const result = resultOf(evaluations);
  if (settled !== undefined && areAllSettled) settled.result = result;
  return result;
}

/** Whether the evaluation is the same for all requests that share these columns: it depends neither on the clock nor on who else might approve. */
const isSettledOn = (columns: Columns, policy: Policy, index: number, evaluation: PolicyEvaluation): boolean =>
  evaluation.outlook === undefined &&
  isAbsent(policy.time) &&
  (isAbsent(policy.condition) || columns.condition?.[index] !== undefined) &&
  (isAbsent(policy.consensus) || columns.consensus?.[index] !== undefined);

const isAbsent = (source: string | undefined): source is "" | undefined => source === undefined || source === "";

function resultOf(evaluations: readonly PolicyEvaluation[]): PolicyResult {
  for (const outcome of ["OUTCOME_DENY_EXPLICIT", "OUTCOME_ALLOW", "OUTCOME_REQUIRES_CONSENSUS"] as const) {
    const decisive = evaluations.filter((evaluation) => verdictOf(evaluation) === outcome);
    if (decisive.length > 0) return { outcome, decisive: decisive.map(({ policyId }) => policyId), evaluations };
  }
  return { outcome: "OUTCOME_DENY_IMPLICIT", decisive: [], evaluations };
}

/**
 * How an outcome counts in the decision. An error in an allowing policy counts as nothing. In a denying policy it denies, unless the only
 * problem is that the activity is not of the kind that the policy is about.
 */
function verdictOf({ effect, outcome, error }: PolicyEvaluation): Outcome {
  const denies = effect === "EFFECT_DENY" && error !== undefined && error.absentRoots === undefined;
  return denies ? "OUTCOME_DENY_EXPLICIT" : outcome;
}

/** The cost, in steps, of processing a policy, even if its values are known. */
const STEPS_PER_POLICY = 8;

/** The message of a denial, with the text that clients of the hosted service know. */
export function denialMessage(decision: PolicyResult): string {
  return decision.outcome === "OUTCOME_DENY_EXPLICIT"
    ? `The following policies denied this action: ${decision.decisive.join(", ")}`
    : "No policies evaluated to outcome: Allow";
}

/** What the evaluations of one decision share. */
interface Evaluating {
  request: DecisionRequest;
  facts: FactsOf;
  cache: ExpressionCache;
  columns: Columns;
  budget: Budget;
  /** The steps that all searches for further approvals may use together. */
  searching: Budget;
}

function evaluatePolicy(policy: Policy, index: number, evaluating: Evaluating): PolicyEvaluation {
  const { policyId, effect } = policy;
  const evaluation: PolicyEvaluation = { policyId, effect, outcome: "OUTCOME_ERROR", values: {} };
  if (!noteValue(policy, index, "time", evaluating, evaluation)) {
    if (evaluation.error === undefined) evaluation.outcome = "OUTCOME_TIME_INACTIVE";
    return evaluation;
  }
  // Both are evaluated, whatever the first value is: an error in either is an error of the policy.
  const condition = noteValue(policy, index, "condition", evaluating, evaluation);
  const consensus = noteValue(policy, index, "consensus", evaluating, evaluation);
  if (evaluation.error !== undefined) return evaluation;
  evaluation.outcome = "OUTCOME_DENY_IMPLICIT";
  if (condition && consensus) {
    evaluation.outcome = effect === "EFFECT_ALLOW" ? "OUTCOME_ALLOW" : "OUTCOME_DENY_EXPLICIT";
  } else if (condition && effect === "EFFECT_ALLOW") {
    const { cache, budget, searching } = evaluating;
    const program = cache.program(policy.consensus as string, "consensus", budget) as Program<"consensus">;
    const { approvals, voters, submitterId } = evaluating.request;
    evaluation.outlook = consensusOutlook(program, approvals, voters, submitterId, searching);
    if (evaluation.outlook.reachable) evaluation.outcome = "OUTCOME_REQUIRES_CONSENSUS";
  }
  return evaluation;
}

/** Stores and returns the value. If there is an error, returns false and stores the first error that denies, or else the last one. */
function noteValue(
  policy: Policy,
  index: number,
  scope: Scope,
  evaluating: Evaluating,
  evaluation: PolicyEvaluation,
): boolean {
  const source = policy[scope];
  if (isAbsent(source)) {
    evaluation.values[scope] = true;
    return true;
  }
  const { columns } = evaluating;
  const known = columns[scope]?.[index] ?? (scope === "condition" ? columns.onTheseFacts?.[index] : undefined);
  const value = known ?? evaluateExpression(policy, source, index, scope, evaluating);
  if (typeof value !== "boolean") {
    if (evaluation.error === undefined || evaluation.error.absentRoots) evaluation.error = { scope, ...value };
    return false;
  }
  evaluation.values[scope] = value;
  return value;
}

function evaluateExpression<S extends Scope>(
  { effect }: Policy,
  source: string,
  index: number,
  scope: S,
  { facts, cache, columns, budget }: Evaluating,
): Value {
  const program = cache.program(source, scope, budget);
  const value =
    program instanceof PolicyError ? sharedError(program) : evaluated(program, facts[scope], effect, budget);
  const column = columns[scope];
  if (column === undefined) return value;
  if (isSettled(program, facts.condition) && takesNoRoom(value, program)) column[index] = value;
  else if (scope === "condition" && columns.onTheseFacts) columns.onTheseFacts[index] = value;
  return value;
}

/**
 * Not for errors with a text of their own, which would need more memory in many columns than they save work. For an absent root, all
 * evaluations share one error.
 */
const takesNoRoom = (value: Value, program: object): boolean =>
  typeof value === "boolean" || program instanceof PolicyError || value.cause.code === "ABSENT_ROOT";

function evaluated<S extends Scope>(
  program: Program<S>,
  facts: FactsOf[S],
  effect: Policy["effect"],
  budget: Budget,
): Value {
  try {
    return program.evaluate(facts, budget);
  } catch (cause) {
    if (!(cause instanceof PolicyError)) throw cause;
    const mayBeExempt = effect === "EFFECT_DENY" && cause.code === "ABSENT_ROOT";
    const absentRoots = mayBeExempt ? absentRootsOf(program, facts, budget) : undefined;
    return cause.code === "ABSENT_ROOT" ? sharedError(cause, absentRoots) : { cause };
  }
}

/** Shares one value among all evaluations that fail with the same error of an expression, because many columns may contain it. */
const errors = new WeakMap<PolicyError, Map<string, Exclude<Value, boolean>>>();

function sharedError(cause: PolicyError, absentRoots?: readonly string[]): Value {
  const known = errors.get(cause) ?? new Map<string, Exclude<Value, boolean>>();
  errors.set(cause, known);
  const roots = absentRoots?.join(" ") ?? "";
  const value = known.get(roots) ?? (absentRoots === undefined ? { cause } : { cause, absentRoots });
  known.set(roots, value);
  return value;
}
