import { fail } from "../../kernel/errors.ts";
import type { EvaluateCondition } from "../../policy/compile.ts";
import { otpFeatures } from "../attested.ts";
import { ALL, type RootQuorum } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";
import { canSignByThemselves } from "./credentials.ts";
import { canRemoveMfa } from "./mfa-methods.ts";
import { requireUsers } from "./users.ts";

/**
 * The users who can sign at any time: those with a lasting credential of their own who are not locked out by their MFA policies. Stops once
 * `enough` are found.
 *
 * @throws OutOfBudget
 */
function findSigners(
  view: AuthorityView,
  userIds: readonly string[],
  enough: number,
  evaluate: EvaluateCondition,
): string[] {
  // Everything that is read, requested at once.
  for (const kind of ["apiKeys", "authenticators", "mfaPolicies"] as const) view.parts(kind, userIds);
  const signers: string[] = [];
  for (const userId of userIds) {
    if (signers.length >= enough) break;
    if (canSignByThemselves(view, userId) && canRemoveMfa(view, userId, evaluate)) signers.push(userId);
  }
  return signers;
}

/**
 * Checks a requested threshold, before anything is read. `field` names the threshold's field.
 *
 * @throws KeysteadError QUORUM_THRESHOLD_ZERO or QUORUM_USERS_MISSING
 */
export function refuseThreshold(threshold: number, users: number, field: string): void {
  if (threshold < 1) fail("QUORUM_THRESHOLD_ZERO", { field, threshold });
  if (threshold > users) {
    fail("QUORUM_USERS_MISSING", { reason: `\`${field}\` is ${threshold}, which requires at least as many users` });
  }
}

/**
 * Sets a root quorum of users who were just added, with a new organization or by its recovery. They have no MFA policies, and adding them
 * checked that they can sign or sign in. The latter suffices for a first quorum, but not for a later change of it.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND
 */
export function seatNewUsers(draft: Draft, quorum: RootQuorum, now: number): void {
  requireUsers(draft, quorum.userIds);
  draft.apply({ do: "setRootQuorum", quorum, now });
}

/** @throws KeysteadError RESOURCE_NOT_FOUND, or QUORUM_USERS_MISSING if fewer members than the threshold can sign */
export function setRootQuorum(draft: Draft, quorum: RootQuorum, evaluate: EvaluateCondition, now: number): void {
  const { threshold, userIds } = quorum;
  requireUsers(draft, userIds);
  const signers = findSigners(draft, userIds, threshold, evaluate);
  if (signers.length < threshold) {
    const other = userIds.find((id) => !signers.includes(id));
    const reason = `\`parameters.threshold\` is ${threshold}, which requires at least as many users who can sign; give ${other} their own passkey or API key without expiry, and only MFA policies that these meet`;
    fail("QUORUM_USERS_MISSING", { reason });
  }
  draft.apply({ do: "setRootQuorum", quorum, now });
}

/** @throws KeysteadError QUORUM_USERS_MISSING if this user is a member who cannot sign, and too few others can */
export function refuseShortQuorum(view: AuthorityView, userId: string, evaluate: EvaluateCondition): void {
  const { threshold, userIds } = view.part("rootQuorum", ALL);
  if (!userIds.includes(userId)) return;
  const signers = findSigners(view, userIds, threshold, evaluate);
  if (signers.length >= threshold || signers.includes(userId)) return;
  if (!canSignByThemselves(view, userId)) {
    const reason = `user ${userId} is in the root quorum, which requires ${threshold} members who can sign; first give them their own passkey or API key without expiry, or change the root quorum with update_root_quorum`;
    fail("QUORUM_USERS_MISSING", { reason });
  }
  const reason = `user ${userId} is in the root quorum, and an MFA policy of theirs that also applies to its own removal requires what the user cannot show at any time. First give the user a credential that meets it: a passkey, an API key without expiry, an OAuth provider, or in a sub-organization a contact for codes`;
  fail("QUORUM_USERS_MISSING", { reason });
}

/**
 * Checks, after a feature was disabled, that the root quorum can still sign: MFA policies of members may require codes.
 *
 * @throws KeysteadError QUORUM_USERS_MISSING if it could sign `before` and no longer can
 */
export function refuseQuorumWithoutFeature(
  view: AuthorityView,
  before: AuthorityView,
  name: string,
  evaluate: EvaluateCondition,
): void {
  if (!Object.values(otpFeatures).includes(name)) return;
  const { threshold, userIds } = view.part("rootQuorum", ALL);
  const canSign = (as: AuthorityView) => findSigners(as, userIds, threshold, evaluate).length >= threshold;
  if (canSign(view) || !canSign(before)) return;
  const reason = `${name} sends the codes that MFA policies of members of the root quorum require, also for the removal of these policies. Change those policies first`;
  fail("QUORUM_USERS_MISSING", { reason });
}
