import { VOTE_LIFETIME_MS } from "../../kernel/limits.ts";
import type { Reader } from "../../storage/engine.ts";
import { type ActivityRecord, isLive, type VoteRecord } from "../activities/records.ts";
import type { ActivityOperation, ActivityVersion, Actor, Organization, PolicyFacts } from "../declare.ts";
import { findApprovers, findVoter } from "../identity/voters.ts";
import type { Registry } from "../registry.ts";
import type { DecisionFacts } from "./authorize.ts";
import { findAuthentications } from "./mfa.ts";

const APPROVED = "VOTE_SELECTION_APPROVED";

/** The facts of a decision, from a request that comes in or from what is stored. */

/** What does not depend on who votes. */
export interface Matter {
  operation: ActivityOperation;
  version: ActivityVersion;
  /** In the newest version's form. */
  intent: unknown;
  organization: Organization;
  /** Milliseconds. */
  now: number;
}

export function factsOf(
  { operation, version, intent, organization, now }: Matter,
  submitter: Actor,
  approvals: DecisionFacts["approvals"],
): DecisionFacts {
  return {
    organization,
    type: version.type,
    intent,
    subject: operation.subject(intent),
    policyFacts: once((read) => operation.policyFacts({ intent, read, organization })),
    submitter,
    approvals,
    now,
  };
}

/** Policies, a session's scope and MFA may each ask; the answer is the same within one look. */
function once(load: (read: Reader) => Promise<PolicyFacts>): (read: Reader) => Promise<PolicyFacts> {
  let loaded: Promise<PolicyFacts> | undefined;
  return (read) => {
    loaded ??= load(read);
    return loaded;
  };
}

/** The matter of a stored activity. */
export function matterOf(
  registry: Registry,
  activity: ActivityRecord,
  organization: Organization,
  now: number,
): Matter {
  const { operation, version } = registry.activityOfType(activity.type);
  const intent = version.upgrade(activity.intent[version.intentKey]);
  return { operation, version, intent, organization, now };
}

/**
 * The facts of a stored activity as of now: approvals that have not lapsed, of users who still exist, with what these
 * users are today. `ballot` is a vote that is being cast: it stands in the place of that user's earlier one, or beside it
 * where MFA policies may ask for both credentials.
 */
export async function factsOfStored(
  read: Reader,
  matter: Matter,
  votes: readonly VoteRecord[],
  ballot?: { actor: Actor; publicKey: string; approves: boolean },
): Promise<DecisionFacts> {
  const { organization, now } = matter;
  const live = votes.filter((vote) => isLive(vote, now));
  const others = live.filter(({ userId }) => userId !== ballot?.actor.userId);
  const voters = await findApprovers(read, organization.id, others);
  if (ballot?.approves) {
    const earlier = ballot.actor.hasMfaPolicies
      ? live.find(({ userId, selection }) => userId === ballot.actor.userId && selection === APPROVED)
      : undefined;
    voters.push({ actor: ballot.actor, publicKey: earlier?.publicKey ?? ballot.publicKey });
  }
  const approvals = await withFurtherStamps(read, votes[0]?.activityId, matter, voters);
  if (ballot?.approves) approvals.at(-1)?.publicKeys.add(ballot.publicKey);
  const submitterId = votes[0]?.userId ?? "";
  const submitter =
    submitterId === ballot?.actor.userId ? ballot.actor : await findVoter(read, organization.id, submitterId);
  return factsOf(
    matter,
    submitter ?? departed(organization.id, submitterId),
    approvals.map(({ actor, publicKeys }) => ({ actor, publicKeys: [...publicKeys] })),
  );
}

/** The stamps by which users with MFA policies have shown more than one credential. */
async function withFurtherStamps(
  read: Reader,
  activityId: string | undefined,
  { organization, now }: Matter,
  voters: readonly { actor: Actor; publicKey: string }[],
): Promise<{ actor: Actor; publicKeys: Set<string> }[]> {
  const further =
    activityId !== undefined && voters.some(({ actor }) => actor.hasMfaPolicies)
      ? await findAuthentications(read, { organizationId: organization.id, activityId, since: now - VOTE_LIFETIME_MS })
      : [];
  return voters.map(({ actor, publicKey }) => {
    const own = further.filter(({ user_id }) => user_id === actor.userId);
    return { actor, publicKeys: new Set([publicKey, ...own.map(({ public_key }) => public_key)]) };
  });
}

/** A submitter who is gone counts for nothing; the others may still carry what was asked. */
const departed = (organizationId: string, userId: string): Actor => ({
  userId,
  userName: "",
  organizationId,
  isRootQuorumMember: false,
  hasMfaPolicies: false,
  credential: { id: "", type: "" },
});
