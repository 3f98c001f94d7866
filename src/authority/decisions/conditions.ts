import type { Budget } from "../../policy/budget.ts";
import { createExpressionCache } from "../../policy/cache.ts";
import type { EvaluateCondition, FactsOf, Program } from "../../policy/compile.ts";
import { PolicyError } from "../../policy/errors.ts";
import type { ConditionFacts } from "../../policy/facts.ts";
import type { Scope } from "../../policy/schema.ts";
import type { DecisionFacts } from "./facts.ts";

/** Compiled expressions, shared by all organizations that use the same text. */
export const expressions = createExpressionCache();

/**
 * Evaluates a condition outside of policies, such as that of an MFA policy. Returns the error if it cannot be evaluated.
 *
 * @throws OutOfBudget
 */
export function evaluateCondition(
  { lookUps }: Pick<DecisionFacts, "lookUps">,
  condition: string,
  steps: Budget,
): boolean | PolicyError {
  const facts = lookUps.conditionFacts(steps);
  const known = remembered.get(facts) ?? new Map<string, boolean | PolicyError>();
  remembered.set(facts, known);
  const value = known.get(condition) ?? conditionsWithin(steps)(condition, facts);
  known.set(condition, value);
  return value;
}

/** The outcomes of conditions, by facts object. A decision that runs again because facts had to be loaded pays for each condition once. */
const remembered = new WeakMap<ConditionFacts, Map<string, boolean | PolicyError>>();

/** Evaluates conditions within these steps in total. */
export const conditionsWithin =
  (steps: Budget): EvaluateCondition =>
  (condition, facts) => {
    const program = expressions.program(condition, "condition", steps);
    return program instanceof PolicyError ? program : evaluated(program, facts, steps);
  };

/**
 * Whether a policy with this time expression is active at an instant, in milliseconds since 1970. Returns the error if it cannot be evaluated.
 *
 * @throws OutOfBudget
 */
export function isActiveAt(time: string, now: number, steps: Budget): boolean | PolicyError {
  const program = expressions.program(time, "time", steps);
  return program instanceof PolicyError ? program : evaluated(program, { time: { now } }, steps);
}

function evaluated<S extends Scope>(program: Program<S>, facts: FactsOf[S], steps: Budget): boolean | PolicyError {
  try {
    return program.evaluate(facts, steps);
  } catch (error) {
    if (error instanceof PolicyError) return error;
    throw error;
  }
}
