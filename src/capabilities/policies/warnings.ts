import type { RequestBudget } from "../../engine/decisions/budget.ts";
import { warningsAbout } from "../../engine/decisions/policies.ts";
import { OutOfBudget } from "../../policy/budget.ts";
import type { Policy } from "../../policy/decision.ts";
import type { PolicyWarning } from "../../policy/warnings.ts";
import type { Warnings } from "./model.ts";

/** Warnings about policies that are about to be stored, in their order; about those that take too much work, none. */
export async function warningsAboutAll(
  policies: readonly Omit<Policy, "policyId">[],
  budget: RequestBudget,
): Promise<PolicyWarning[][]> {
  const warnings: PolicyWarning[][] = [];
  for (const policy of policies) warnings.push(await warningsAboutOne(policy, budget));
  return warnings;
}

async function warningsAboutOne(policy: Omit<Policy, "policyId">, budget: RequestBudget): Promise<PolicyWarning[]> {
  try {
    return warningsAbout(policy, await budget.turn());
  } catch (error) {
    if (error instanceof OutOfBudget) return [];
    throw error;
  }
}

/** The member of a result, which is absent where there is nothing to warn of. */
export function warningsOfPolicies(
  policyIds: readonly string[],
  warnings: readonly (readonly PolicyWarning[])[],
): { warnings?: Warnings } {
  const named = policyIds.flatMap((policyId, index) => (warnings[index] ?? []).map((each) => ({ policyId, ...each })));
  return named.length === 0 ? {} : { warnings: named };
}
