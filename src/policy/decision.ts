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

/** What a decision is made on. Properties may be getters; `voters` is read only where a consensus is short of approvals. */
export interface DecisionRequest {
  policies: readonly Policy[];
  facts: ConditionFacts;
  /** Milliseconds since 1970; one instant for the whole request. */
  nowMs: number;
  submitterId: string;
  /** The approvals that count now: not lapsed, not of a deleted user, with the user's facts of today. */
  approvals: readonly Approval[];
  /** The organization's users. */
  voters: readonly Voter[];
}

/**
 * Decides on an activity by the organization's policies: any denial denies, and so does a denying policy that errs on what the
 * activity has; otherwise any allowance allows; otherwise, if approvals are missing that can still come, consensus is needed;
 * otherwise nothing allows it. Root quorum and built-in rules are the caller's.
 *
 * With a memory, expressions whose value is known already are not evaluated again, and policies all of whose values are settled
 * are not looked at again; the decision is the same.
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

/** Whether all requests that share these columns get this evaluation: it hangs neither on the clock nor on who else might approve. */
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
 * What an outcome weighs in the decision. An error is nothing where the policy allows. Where it denies, it denies, unless all
 * that is wrong is that the activity is not of the kind that the policy is about.
 */
function verdictOf({ effect, outcome, error }: PolicyEvaluation): Outcome {
  const denies = effect === "EFFECT_DENY" && error !== undefined && error.absentRoots === undefined;
  return denies ? "OUTCOME_DENY_EXPLICIT" : outcome;
}

/** What it is worth to look at a policy at all, also where its values are known. */
const STEPS_PER_POLICY = 8;

/** The message of a denial, as clients of the hosted service know it. */
export function denialMessage(decision: PolicyResult): string {
  return decision.outcome === "OUTCOME_DENY_EXPLICIT"
    ? `The following policies denied this action: ${decision.decisive.join(", ")}`
    : "No policies evaluated to outcome: Allow";
}

/** What the evaluations of one decision have in common. */
interface Evaluating {
  request: DecisionRequest;
  facts: FactsOf;
  cache: ExpressionCache;
  columns: Columns;
  budget: Budget;
  /** What all searches for further approvals may take together. */
  searching: Budget;
}

function evaluatePolicy(policy: Policy, index: number, evaluating: Evaluating): PolicyEvaluation {
  const { policyId, effect } = policy;
  const evaluation: PolicyEvaluation = { policyId, effect, outcome: "OUTCOME_ERROR", values: {} };
  if (!noteValue(policy, index, "time", evaluating, evaluation)) {
    if (evaluation.error === undefined) evaluation.outcome = "OUTCOME_TIME_INACTIVE";
    return evaluation;
  }
  // Both, whatever the first came to: an error in either is an error of the policy.
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

/** Notes the value, or the first error that denies, or the first, in the evaluation; false where there is an error. */
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

/** Errors with a text of their own would take more room in many columns than they spare work; that a root is absent is one error for all. */
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

/** One value for all evaluations that end in the same error of an expression's, which many columns may hold. */
const errors = new WeakMap<PolicyError, Map<string, Exclude<Value, boolean>>>();

function sharedError(cause: PolicyError, absentRoots?: readonly string[]): Value {
  const known = errors.get(cause) ?? new Map<string, Exclude<Value, boolean>>();
  errors.set(cause, known);
  const roots = absentRoots?.join(" ") ?? "";
  const value = known.get(roots) ?? (absentRoots === undefined ? { cause } : { cause, absentRoots });
  known.set(roots, value);
  return value;
}
