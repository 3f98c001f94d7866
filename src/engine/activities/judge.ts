import { decide } from "../../authority/decisions/decide.ts";
import { denialDetails, denialOf, NO_POLICIES_EVALUATED } from "../../authority/decisions/denials.ts";
import type { RecordedEvaluation } from "../../authority/decisions/facts.ts";
import { sessionScopeProblem } from "../../authority/decisions/session-scope.ts";
import { voteDenial, voteRights } from "../../authority/decisions/votes.ts";
import { fail, type KeysteadError } from "../../kernel/errors.ts";
import { MAX_VOTE_MESSAGES_LENGTH, MAX_VOTES } from "../../kernel/limits.ts";
import type { Reader } from "../../storage/engine.ts";
import type { DecisionBudget } from "../decisions/budget.ts";
import { factsOf, factsOfStored, type LoadableFacts, type Proposal, proposalOf } from "../decisions/facts.ts";
import { onFacts } from "../decisions/loading-look-ups.ts";
import { claimedOrganizationId, type Submission } from "../envelope.ts";
import type { Principal } from "../identity/authenticate.ts";
import { findOrganization } from "../identity/organizations.ts";
import { nameOfCredential } from "../identity/shown-credentials.ts";
import type { ActivityOperation, ActivityVersion, Organization, Registry } from "../operations.ts";
import { refuseLargeBody } from "../proofs/prove.ts";
import type { Ballot } from "./ballot.ts";
import { type ActivityRecord, findVotes, isLive, isOpen, shownBy, type VoteRecord } from "./rows.ts";

/** The verdict on a ballot: what becomes of it according to the current facts. Nothing is written here. */

export type Verdict = { facts: LoadableFacts } & (
  | { todo: "answer"; activity: ActivityRecord }
  | {
      todo: "execute";
      target: Target;
      /** The organization in which it is carried out: the activity's own, or a sub-organization of that. */
      where: Organization;
      evaluations: readonly RecordedEvaluation[];
    }
  | { todo: "reject"; target: Target; evaluations: readonly RecordedEvaluation[] }
  | { todo: "wait"; for: "consensus" | "authenticators"; target: Target; evaluations: readonly RecordedEvaluation[] }
  | { todo: "deny"; target: Target; evaluations: readonly RecordedEvaluation[]; error: KeysteadError }
);

export type ToExecute = Verdict & { todo: "execute" };

/** The activity that a verdict is about, whether stored already or new. */
export interface Target {
  operation: ActivityOperation;
  version: ActivityVersion;
  intent: unknown;
  record: ActivityRecord;
  isNew: boolean;
  /** True if a user who has approved already shows a further credential. Their vote is not replaced. */
  isFurtherStamp: boolean;
}

/** Comes to a verdict. `existing` is the stored activity with the same fingerprint, if there is one. */
export type Judge = (
  read: Reader,
  principal: Principal,
  existing: ActivityRecord | undefined,
  budget: DecisionBudget,
) => Promise<Verdict>;

/** What every verdict is reached with. */
export interface JudgingContext {
  read: Reader;
  /** The ballot's principal, as of now. */
  principal: Principal;
  ballot: Ballot;
  budget: DecisionBudget;
}

/** A body that was not submitted before. */
export interface NewActivity {
  operation: ActivityOperation;
  submission: Submission;
  /** Undefined for operations that make none. */
  plan: unknown;
  fingerprint: string;
}

export async function judgeSubmission(
  { read, principal: { organization, actor }, ballot, budget }: JudgingContext,
  { operation, submission, plan, fingerprint }: NewActivity,
): Promise<Verdict> {
  const { version, parameters, intent, generateAppProofs } = submission;
  if (generateAppProofs) refuseLargeBody(ballot.message);
  const record: ActivityRecord = {
    id: ballot.id("activity"),
    organizationId: organization.id,
    type: version.type,
    status: "ACTIVITY_STATUS_CREATED",
    fingerprint,
    intent: { [version.intentKey]: parameters },
    body: ballot.message,
    ...(plan === undefined ? {} : { plan }),
    result: {},
    failure: null,
    wantsProofs: generateAppProofs,
    createdAt: 0,
    updatedAt: 0,
  };
  const credential = { ...actor.credential, publicKey: ballot.principal.stampRecord.publicKey };
  const proposal: Proposal = { operation, version, intent, plan, organization, now: ballot.now };
  const facts = factsOf(proposal, actor, [{ actor, credentials: [credential] }]);
  const target: Target = { operation, version, intent, record, isNew: true, isFurtherStamp: false };
  const problem = await onFacts(read, facts, budget, (steps) => sessionScopeProblem(facts, actor, steps));
  if (problem === undefined) return verdictOn(read, facts, target, budget);
  return { todo: "deny", target, error: scopeDenial(problem), facts, evaluations: [] };
}

/** How a user came to vote on a stored activity: by sending its body again, or by `approve_activity` or `reject_activity`. */
type WayOfVoting = "resubmitted" | "voted";

export async function judgeVote(
  { read, principal: { organization, actor }, ballot, budget }: JudgingContext,
  registry: Registry,
  existing: ActivityRecord,
  how: WayOfVoting,
): Promise<Verdict> {
  const votes = await findVotes(read, existing);
  // Before anything else: too little may be stored of a denied activity to judge it.
  if (!isOpen(existing)) refuseLateVote(existing, votes, ballot, how);
  const proposal = proposalOf(registry, existing, organization, ballot.now);
  const approves = ballot.selection === "VOTE_SELECTION_APPROVED";
  const { publicKey } = ballot.principal.stampRecord;
  const credential = { ...actor.credential, publicKey };
  const facts = await factsOfStored(read, proposal, existing, votes, { actor, credential, approves });
  const answer = { todo: "answer", activity: existing, facts } as const;
  if (!isOpen(existing)) return answer;
  const own = votes.find((vote) => vote.userId === actor.userId && isLive(vote, ballot.now));
  const repeats = own?.selection === ballot.selection;
  if (repeats && how === "resubmitted") return answer;
  const rights = await onFacts(read, facts, budget, (steps) => voteRights(facts, actor, steps));
  if (!(approves ? rights.mayApprove : rights.mayReject)) {
    if (repeats) return answer;
    throw await onFacts(read, facts, budget, (steps) => voteDenial(facts, actor, steps));
  }
  const problem = await onFacts(read, facts, budget, (steps) => sessionScopeProblem(facts, actor, steps));
  if (problem !== undefined) throw scopeDenial(problem);
  if (how === "resubmitted") refuseManyLargeMessages(votes, ballot);
  const { operation, version, intent } = proposal;
  // With MFA, a further credential is recorded in addition to the first. Otherwise it replaces the first.
  const isAnother = repeats && nameOfCredential(shownBy(own)) !== nameOfCredential(credential);
  const isFurtherStamp = isAnother && actor.hasMfaPolicies;
  const target: Target = { operation, version, intent, record: existing, isNew: false, isFurtherStamp };
  if (!approves) return { todo: "reject", target, facts, evaluations: [] };
  refuseManyVotes(existing, votes, actor);
  const decided = await verdictOn(read, facts, target, budget);
  // Approving again with the same credential asks for a new decision on the current facts.
  return repeats && !isAnother && decided.todo !== "execute" ? answer : decided;
}

/** Refuses a vote on an activity that is decided already, unless it repeats a vote that counted because the client missed the answer. */
function refuseLateVote(
  { id, status, failure }: ActivityRecord,
  votes: readonly VoteRecord[],
  { principal: { actor }, message }: Ballot,
  how: WayOfVoting,
): void {
  if (how === "resubmitted" && status === "ACTIVITY_STATUS_REJECTED" && failure) throw denialOf(failure.details);
  const isCounted = votes.some((vote) => vote.userId === actor.userId && vote.message === message);
  if (how === "voted" && !isCounted) fail("ACTIVITY_DECIDED", { activityId: id, status });
}

/** Bounds the number of votes with a large message: each vote is shown with its message, even if the message is stored only once. */
function refuseManyLargeMessages(votes: readonly VoteRecord[], { message, principal: { actor } }: Ballot): void {
  const others = votes.filter(({ userId }) => userId !== actor.userId);
  const length = others.reduce((sum, vote) => sum + vote.message.length, message.length);
  if (length > MAX_VOTE_MESSAGES_LENGTH) fail("MESSAGES_TOO_LARGE", { maxLength: MAX_VOTE_MESSAGES_LENGTH });
}

/** Bounds the number of votes, because all of them are read and shown together. A rejection is always the last vote, so it is exempt. */
function refuseManyVotes({ id }: ActivityRecord, votes: readonly VoteRecord[], { userId }: Principal["actor"]): void {
  const others = votes.filter((vote) => vote.userId !== userId);
  if (others.length >= MAX_VOTES) fail("TOO_MANY_VOTES", { maxVotes: MAX_VOTES, activityId: id });
}

const scopeDenial = (problem: string): KeysteadError =>
  denialOf(denialDetails(problem, NO_POLICIES_EVALUATED, "Stamp with a credential that this scope does not limit."));

async function verdictOn(read: Reader, facts: LoadableFacts, target: Target, budget: DecisionBudget): Promise<Verdict> {
  const decision = await onFacts(read, facts, budget, (steps) => decide(facts, steps));
  const { evaluations } = decision;
  if (decision.outcome === "allow") {
    const where = await whereOf(read, target, facts);
    return { todo: "execute", target, where, facts, evaluations };
  }
  if (decision.outcome !== "deny") return { todo: "wait", for: decision.outcome, target, facts, evaluations };
  // If the votes do not suffice yet, the activity stays open for the next one.
  if (!target.isNew) return { todo: "wait", for: "consensus", target, facts, evaluations };
  return { todo: "deny", target, error: denialOf(decision.details), facts, evaluations };
}

/** A user of the parent names the sub-organization in the body, or names the parent, and other parameters tell which sub-organization is meant. */
async function whereOf(
  read: Reader,
  { operation, record, intent }: Target,
  { organization }: Pick<LoadableFacts, "organization">,
): Promise<Organization> {
  if (!operation.byParents || record.body === undefined) return organization;
  const named = claimedOrganizationId(Buffer.from(record.body));
  const isParent = named === organization.id && organization.parentId === null;
  const chosen = isParent ? await operation.carriedOutIn?.({ intent, read, organization }) : undefined;
  const id = chosen ?? named;
  if (id === organization.id) return organization;
  const found = await findOrganization(read, id);
  if (found?.parentId === organization.id) return found;
  return fail("RESOURCE_NOT_FOUND", { kind: "sub-organization", id, organizationId: organization.id });
}
