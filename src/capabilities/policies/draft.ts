import { type Static, Type } from "typebox";
import { refuseTooManyPolicies } from "../../authority/rules/policies.ts";
import { Expression, Id, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import type { Policy } from "../../policy/policy.ts";
import { validatePolicy } from "../../policy/validate.ts";
import { Effect } from "./model.ts";

/** A policy that is tried out before it is stored: a new one, or a replacement for the stored policy that `policyId` names. */
export const DraftPolicy = Strict({
  policyId: Type.Optional(Id),
  effect: Effect,
  condition: Type.Optional(Expression),
  consensus: Type.Optional(Expression),
  time: Type.Optional(Expression),
});
export type DraftPolicy = Static<typeof DraftPolicy>;

/** The placeholder id of a draft of a new policy. */
const DRAFT = "draft";

/**
 * The policies as they would be with the draft, which replaces the policy that it names or is added at the end as a new one. The limits for
 * stored policies apply to the draft too.
 *
 * @throws KeysteadError POLICY_CONSENSUS_INVALID, POLICY_CONDITION_INVALID, POLICY_TIME_INVALID, RESOURCE_NOT_FOUND or QUOTA_EXCEEDED
 */
export function policiesWith(stored: readonly Policy[], draft: DraftPolicy, organizationId: string): Policy[] {
  validatePolicy(draft);
  const { policyId: id, ...rest } = draft;
  if (id !== undefined && !stored.some(({ policyId }) => policyId === id))
    return fail("RESOURCE_NOT_FOUND", { kind: "policy", id, organizationId });
  const policies: Policy[] =
    id === undefined
      ? [...stored, { policyId: DRAFT, ...rest }]
      : stored.map((policy) => (policy.policyId === id ? { policyId: id, ...rest } : policy));
  refuseTooManyPolicies(policies);
  return policies;
}
