import { Budget, OutOfBudget } from "../../../src/policy/budget.ts";
import { createExpressionCache } from "../../../src/policy/cache.ts";
import type { Policy } from "../../../src/policy/policy.ts";
import { warningsOf } from "../../../src/policy/warnings.ts";

/** Steps of the policy language's budget: some milliseconds. */
const MAX_STEPS = 500_000;
const MAX_EXPRESSIONS = 30;
const expressions = createExpressionCache(MAX_EXPRESSIONS);

const NOT_LOOKED_AT = "It is too long to be checked for traps here.";

/** What the server would warn of if this was made a policy, by its own rules; nothing while the condition has an error. */
export function trapsIn(policy: Pick<Policy, "effect" | "condition" | "consensus">): string[] {
  try {
    return warningsOf(policy, expressions, new Budget(MAX_STEPS)).map(({ message }) => message);
  } catch (error) {
    if (error instanceof OutOfBudget) return [NOT_LOOKED_AT];
    throw error;
  }
}
