import { warningsAbout } from "../../authority/decisions/policies.ts";
import type { DecisionBudget, RequestBudget } from "../../engine/decisions/budget.ts";
import { OutOfBudget } from "../../policy/budget.ts";
import type { Policy } from "../../policy/policy.ts";
import type { PolicyWarning } from "../../policy/warnings.ts";
import type { Warnings } from "./model.ts";

const NOT_EXAMINED: PolicyWarning = {
  code: "NOT_EXAMINED",
  message: "It was not checked for known traps, because that would take too much work next to the other policies.",
};

/** Warnings about each of the policies, stored or new, in the same order. The checks use at most half of the budget. */
export async function warningsAboutAll(
  policies: readonly Omit<Policy, "policyId">[],
  budget: RequestBudget,
): Promise<PolicyWarning[][]> {
  const half = budget.half();
  const warnings: PolicyWarning[][] = [];
  for (const policy of policies) warnings.push(await warningsAboutOne(policy, half));
  return warnings;
}

async function warningsAboutOne(policy: Omit<Policy, "policyId">, budget: DecisionBudget): Promise<PolicyWarning[]> {
  try {
    return warningsAbout(policy, await budget.turn());
  } catch (error) {
    if (error instanceof OutOfBudget) return [NOT_EXAMINED];
    throw error;
  }
}

/** The `warnings` member of a result; absent if there are none. */
export function warningsOfPolicies(
  policyIds: readonly string[],
  warnings: readonly (readonly PolicyWarning[])[],
): { warnings?: Warnings } {
  const named = policyIds.flatMap((policyId, index) => (warnings[index] ?? []).map((each) => ({ policyId, ...each })));
  return named.length === 0 ? {} : { warnings: named };
}
