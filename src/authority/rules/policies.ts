import { fail } from "../../kernel/errors.ts";
import { MAX_POLICIES, MAX_POLICIES_LENGTH } from "../../kernel/limits.ts";
import type { PolicyChange } from "../changes.ts";
import { refuseExcess } from "../quotas.ts";
import { ALL, type Policy } from "../state.ts";
import type { Draft } from "../view.ts";
import { refuseUnknown } from "./unknown.ts";

export type NewPolicy = Omit<Policy, "createdAt" | "updatedAt">;

/**
 * Adds policies in the given order. `fieldOf` names the field of a policy's name in the request.
 *
 * @throws KeysteadError POLICY_LABEL_TAKEN or QUOTA_EXCEEDED
 */
export function addPolicies(
  draft: Draft,
  policies: readonly NewPolicy[],
  now: number,
  fieldOf: (index: number) => string,
): void {
  const taken = new Set(draft.part("policies", ALL).map(({ name }) => name));
  for (const [index, { name }] of policies.entries()) {
    if (taken.has(name)) fail("POLICY_LABEL_TAKEN", { field: fieldOf(index) });
    taken.add(name);
  }
  const added = policies.map((policy) => ({ ...policy, createdAt: now, updatedAt: now }));
  draft.apply({ do: "addPolicies", policies: added });
  refuseTooManyPolicies(draft.part("policies", ALL));
}

/**
 * Changes the given members of a policy.
 *
 * @throws KeysteadError POLICY_LABEL_TAKEN, RESOURCE_NOT_FOUND or QUOTA_EXCEEDED
 */
export function changePolicy(draft: Draft, policyId: string, change: PolicyChange, now: number): void {
  const isTaken = draft.part("policies", ALL).some(({ id, name }) => name === change.name && id !== policyId);
  if (isTaken) fail("POLICY_LABEL_TAKEN", { field: "parameters.policyName" });
  requirePolicies(draft, [policyId]);
  draft.apply({ do: "changePolicy", policyId, change, now });
  if (lengthOf(change) > 0) refuseLongTexts(draft.part("policies", ALL));
}

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export function removePolicies(draft: Draft, policyIds: readonly string[]): void {
  requirePolicies(draft, policyIds);
  draft.apply({ do: "removePolicies", policyIds });
}

function requirePolicies(draft: Draft, policyIds: readonly string[]): void {
  const known = new Set(draft.part("policies", ALL).map(({ id }) => id));
  refuseUnknown(draft, policyIds, (index) => known.has(policyIds[index] as string), "policy");
}

interface Texts {
  consensus?: string | undefined;
  condition?: string | undefined;
  time?: string | null | undefined;
}

const lengthOf = ({ consensus, condition, time }: Texts): number =>
  (consensus?.length ?? 0) + (condition?.length ?? 0) + (time?.length ?? 0);

/**
 * Bounds the number of policies that an organization has, or would have, and the total length of their texts, because all of them are
 * evaluated for an activity.
 *
 * @throws KeysteadError QUOTA_EXCEEDED
 */
export function refuseTooManyPolicies(policies: readonly Texts[]): void {
  refuseExcess(policies.length, { kind: "policies", limit: MAX_POLICIES });
  refuseLongTexts(policies);
}

function refuseLongTexts(policies: readonly Texts[]): void {
  const length = policies.reduce((sum, policy) => sum + lengthOf(policy), 0);
  const kind = "characters in the expressions of its policies together";
  refuseExcess(length, { kind, limit: MAX_POLICIES_LENGTH, remedy: "shorten some or delete them" });
}
