import { fail } from "../../kernel/errors.ts";
import { MAX_MFA_POLICIES_PER_USER } from "../../kernel/limits.ts";
import type { EvaluateCondition } from "../../policy/compile.ts";
import type { MfaPolicyChange } from "../changes.ts";
import { refuseExcess } from "../quotas.ts";
import { ALL, type AuthenticationType, type MethodGroup, type MfaPolicy } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";
import { DEFAULT_SESSION_PROFILE_ID } from "./mfa-methods.ts";
import { refuseShortQuorum } from "./root-quorum.ts";
import { requireUsers } from "./users.ts";

/** The rules for the MFA policies of a user. */

export type NewMfaPolicy = Omit<MfaPolicy, "createdAt" | "updatedAt">;

/** The user whose policies are changed, and what the rules need besides the organization's state. */
export interface MfaScope {
  userId: string;
  parentView: AuthorityView;
  evaluate: EvaluateCondition;
  now: number;
}

/** @throws KeysteadError RESOURCE_NOT_FOUND, FIELD_INVALID, USER_QUOTA_EXCEEDED or QUORUM_USERS_MISSING */
export function addMfaPolicy(
  draft: Draft,
  { userId, parentView, evaluate, now }: MfaScope,
  policy: NewMfaPolicy,
): void {
  requireUsers(draft, [userId]);
  requireMethods(draft, parentView, userId, policy.requiredMethods);
  draft.apply({ do: "addMfaPolicy", userId, policy: { ...policy, createdAt: now, updatedAt: now }, now });
  const count = draft.part("mfaPolicies", userId).length;
  refuseExcess(count, { kind: "MFA policies", limit: MAX_MFA_POLICIES_PER_USER, perUser: true });
  refuseShortQuorum(draft, userId, evaluate);
}

/**
 * Changes the given members of an MFA policy.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND, FIELD_INVALID or QUORUM_USERS_MISSING
 */
export function changeMfaPolicy(
  draft: Draft,
  { userId, parentView, evaluate, now }: MfaScope,
  mfaPolicyId: string,
  change: MfaPolicyChange,
): void {
  requireMfaPolicy(draft, userId, mfaPolicyId);
  requireMethods(draft, parentView, userId, change.requiredMethods ?? []);
  draft.apply({ do: "changeMfaPolicy", userId, mfaPolicyId, change, now });
  refuseShortQuorum(draft, userId, evaluate);
}

/** @throws KeysteadError RESOURCE_NOT_FOUND, or QUORUM_USERS_MISSING: the policy may have exempted its user from another one's requirements */
export function removeMfaPolicy(
  draft: Draft,
  { userId, evaluate, now }: Omit<MfaScope, "parentView">,
  mfaPolicyId: string,
): void {
  requireMfaPolicy(draft, userId, mfaPolicyId);
  draft.apply({ do: "removeMfaPolicy", userId, mfaPolicyId, now });
  refuseShortQuorum(draft, userId, evaluate);
}

function requireMfaPolicy(view: AuthorityView, userId: string, mfaPolicyId: string): void {
  requireUsers(view, [userId]);
  if (view.part("mfaPolicies", userId).some(({ id }) => id === mfaPolicyId)) return;
  fail("RESOURCE_NOT_FOUND", { kind: "MFA policy", id: mfaPolicyId, organizationId: view.organizationId });
}

/** @throws KeysteadError FIELD_INVALID if the user does not have a credential that is named by id */
function requireMethods(
  view: AuthorityView,
  parentView: AuthorityView,
  userId: string,
  groups: readonly MethodGroup[],
): void {
  const idsOf = (type: AuthenticationType): string[] => namesOf(view, parentView, userId, type);
  for (const [index, { any }] of groups.entries()) {
    for (const [position, { type, id }] of any.entries()) {
      if (id === undefined || idsOf(type).includes(id)) continue;
      const field = `parameters.requiredAuthenticationMethods.${index}.any.${position}.id`;
      const reason =
        type === "AUTHENTICATION_TYPE_SESSION"
          ? "must be the id of a session profile, as get_session_profiles shows it"
          : "must be the id of a credential of this type that the user has, as get_user shows it";
      fail("FIELD_INVALID", { field, reason });
    }
  }
}

/** The ids that an MFA policy of the user can name for an authentication type. */
function namesOf(view: AuthorityView, parentView: AuthorityView, userId: string, type: AuthenticationType): string[] {
  switch (type) {
    case "AUTHENTICATION_TYPE_PASSKEY":
      return view.part("authenticators", userId).map(({ id }) => id);
    case "AUTHENTICATION_TYPE_API_KEY":
      return view.part("apiKeys", userId).map(({ id }) => id);
    case "AUTHENTICATION_TYPE_OAUTH":
      return view.part("oauthProviders", userId).map(({ id }) => id);
    case "AUTHENTICATION_TYPE_SESSION":
      return [DEFAULT_SESSION_PROFILE_ID, ...parentView.part("sessionProfiles", ALL).map(({ id }) => id)];
    default:
      return [];
  }
}
