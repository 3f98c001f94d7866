import { MAX_CONSENSUS_STEPS } from "../kernel/limits.ts";
import type { ExpressionCache } from "./cache.ts";
import type { FactsOf, Meter, Program } from "./compile.ts";
import { type Approval, type ConsensusOutlook, consensusFacts, consensusOutlook, type Voter } from "./consensus.ts";
import { PolicyError } from "./errors.ts";
import type { ConditionFacts } from "./facts.ts";
import { type Columns, isSettled, type ValueMemory } from "./remembered-values.ts";
import type { Scope } from "./schema.ts";

/** A policy as it is stored. An expression that is absent or empty holds always. */
export interface Policy {
  policyId: string;
  effect: "EFFECT_ALLOW" | "EFFECT_DENY";
  consensus?: string | undefined;
  condition?: string | undefined;
  time?: string | undefined;
}

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

/** The outcomes of the wire that policies give; the others come from votes and authenticators. */
export type Outcome =
  | "OUTCOME_ALLOW"
  | "OUTCOME_DENY_EXPLICIT"
  | "OUTCOME_DENY_IMPLICIT"
  | "OUTCOME_REQUIRES_CONSENSUS"
  | "OUTCOME_ERROR"
  | "OUTCOME_TIME_INACTIVE";

/**
 * What one policy came to. OUTCOME_DENY_IMPLICIT says that it has nothing to say here: its condition is false, or its
 * consensus is and more approvals would not help.
 */
export interface PolicyEvaluation {
  policyId: string;
  effect: Policy["effect"];
  outcome: Outcome;
  /** With OUTCOME_ERROR: in which expression, and what. */
  error?: { scope: Scope; cause: PolicyError };
  /** What the expressions came to, as far as they were evaluated. */
  values: { [S in Scope]?: boolean };
  /** Where an allowing policy's condition holds and its consensus does not. */
  outlook?: ConsensusOutlook;
}

export interface Decision {
  outcome: "OUTCOME_ALLOW" | "OUTCOME_DENY_EXPLICIT" | "OUTCOME_DENY_IMPLICIT" | "OUTCOME_REQUIRES_CONSENSUS";
  /** The policies that made it so; none for OUTCOME_DENY_IMPLICIT. */
  decisive: string[];
  /** Every policy, in the order given. */
  evaluations: PolicyEvaluation[];
}

/**
 * Decides on an activity by the organization's policies: any denial denies, and so does an error in a denying policy;
 * otherwise any allowance allows; otherwise, if approvals are missing that can still come, consensus is needed; otherwise
 * nothing allows it. Root quorum and built-in rules are the caller's.
 *
 * With a memory, expressions whose value is known already are not evaluated again; the decision is the same.
 */
export function decide(request: DecisionRequest, cache: ExpressionCache, memory?: ValueMemory): Decision {
  const evaluating: Evaluating = {
    request,
    facts: {
      consensus: consensusFacts(request.approvals),
      condition: request.facts,
      time: { time: { now: request.nowMs } },
    },
    cache,
    columns: memory?.columnsOf(request) ?? {},
    meter: { left: MAX_CONSENSUS_STEPS },
  };
  const evaluations = request.policies.map((policy, index) => evaluatePolicy(policy, index, evaluating));
  for (const outcome of ["OUTCOME_DENY_EXPLICIT", "OUTCOME_ALLOW", "OUTCOME_REQUIRES_CONSENSUS"] as const) {
    const decisive = evaluations.filter((evaluation) => verdictOf(evaluation) === outcome);
    if (decisive.length > 0) return { outcome, decisive: decisive.map(({ policyId }) => policyId), evaluations };
  }
  return { outcome: "OUTCOME_DENY_IMPLICIT", decisive: [], evaluations };
}

/** What an outcome weighs in the decision: an error denies where the policy denies, and is nothing where it allows. */
function verdictOf({ effect, outcome }: PolicyEvaluation): Outcome {
  return outcome === "OUTCOME_ERROR" && effect === "EFFECT_DENY" ? "OUTCOME_DENY_EXPLICIT" : outcome;
}

/** The message of a denial, as clients of the hosted service know it. */
export function denialMessage(decision: Decision): string {
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
  meter: Meter;
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
    const program = evaluating.cache.program(policy.consensus as string, "consensus") as Program<"consensus">;
    const { approvals, voters, submitterId } = evaluating.request;
    evaluation.outlook = consensusOutlook(program, approvals, voters, submitterId, evaluating.meter);
    if (evaluation.outlook.reachable) evaluation.outcome = "OUTCOME_REQUIRES_CONSENSUS";
  }
  return evaluation;
}

/** Notes the value, or the first error, in the evaluation; false where there is an error. */
function noteValue(
  policy: Policy,
  index: number,
  scope: Scope,
  evaluating: Evaluating,
  evaluation: PolicyEvaluation,
): boolean {
  const source = policy[scope];
  if (source === undefined || source === "") {
    evaluation.values[scope] = true;
    return true;
  }
  const value = evaluating.columns[scope]?.[index] ?? evaluateExpression(source, index, scope, evaluating);
  if (value instanceof PolicyError) {
    evaluation.error ??= { scope, cause: value };
    return false;
  }
  evaluation.values[scope] = value;
  return value;
}

function evaluateExpression<S extends Scope>(
  source: string,
  index: number,
  scope: S,
  { facts, cache, columns }: Evaluating,
): boolean | PolicyError {
  const program = cache.program(source, scope);
  const value = program instanceof PolicyError ? program : valueOrError(program, facts[scope]);
  const column = columns[scope];
  if (column !== undefined && isSettled(program, facts.condition)) column[index] = value;
  return value;
}

function valueOrError<S extends Scope>(program: Program<S>, facts: FactsOf[S]): boolean | PolicyError {
  try {
    return program.evaluate(facts);
  } catch (error) {
    if (error instanceof PolicyError) return error;
    throw error;
  }
}
