import { fail, KeysteadError } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { MAX_PREPARATIONS } from "../../kernel/limits.ts";
import type { Signer } from "../../signer/client.ts";
import type { Database } from "../../storage/database.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { DatabaseFailure } from "../../storage/failure.ts";
import {
  type DecisionFacts,
  decide,
  denialDetails,
  denialOf,
  owesAuthenticators,
  type PolicyEvaluation,
  voteDenial,
  voteRights,
} from "../decisions/authorize.ts";
import { factsOf, factsOfStored, type Matter, matterOf } from "../decisions/facts.ts";
import { rememberPolicies } from "../decisions/policies.ts";
import { sessionScopeProblem } from "../decisions/session-scope.ts";
import type { ActivityOperation, ActivityVersion, Organization } from "../declare.ts";
import type { Submission } from "../envelope.ts";
import { type Principal, reload } from "../identity/authenticate.ts";
import { insertAppProof } from "../proofs/app-proofs.ts";
import { type Execution, type PreparedProofs, proveExecution, refuseLargeBody, stillHolds } from "../proofs/prove.ts";
import type { Registry } from "../registry.ts";
import { storeEvaluations } from "./evaluations.ts";
import {
  type ActivityRecord,
  type ActivityView,
  type Failure,
  failureOf,
  findActivityByFingerprint,
  findVotes,
  insertActivity,
  isLive,
  isOpen,
  updateActivity,
  upsertAuthentication,
  upsertVote,
  type VoteRecord,
  viewActivity,
} from "./records.ts";

/**
 * The life of an activity: submitted, decided, carried out, stored, all in one transaction, and answered after its commit.
 * The same body from the same user is the same activity; from another user it is an approval.
 */

export interface SubmitEngine {
  database: Database;
  signer: Signer;
  registry: Registry;
  observer: ActivityObserver;
}

/** An activity that was just stored in a new state, in the transaction that stores it. */
export interface ActivityChange {
  activity: ActivityRecord;
  votes: readonly VoteRecord[];
  organization: Organization;
  /** Milliseconds. */
  now: number;
}

/** Is told of every change of an activity's status. */
export interface ActivityObserver {
  /** May add rows and jobs to the transaction. */
  onChange(tx: Transactor, change: ActivityChange): Promise<void>;
}

/** A user's say on an activity: the submission itself, or an approval or rejection of somebody else's. */
interface Ballot {
  principal: Principal;
  selection: VoteRecord["selection"];
  /** The exact body that was stamped. */
  message: string;
  /** Milliseconds. */
  now: number;
}

/** Stores and, if it may, carries out a new activity, or counts the body as a vote on the one it repeats. */
export function submit(
  engine: SubmitEngine,
  operation: ActivityOperation,
  submission: Submission,
  fingerprint: string,
  ballot: Omit<Ballot, "selection">,
): Promise<ActivityView> {
  const approving: Ballot = { ...ballot, selection: "VOTE_SELECTION_APPROVED" };
  return settle(
    engine,
    approving,
    fingerprint,
    async (read, current, existing) => {
      if (existing) return considerVote(read, engine.registry, existing, current, approving, "resubmitted");
      return considerNew(read, operation, submission, fingerprint, current, approving);
    },
    operation.prepare !== undefined || submission.generateAppProofs,
  );
}

/** Counts an approval or rejection of the activity with this fingerprint; answers that activity. */
export function castVote(engine: SubmitEngine, fingerprint: string, ballot: Ballot): Promise<ActivityView> {
  return settle(
    engine,
    ballot,
    fingerprint,
    async (read, current, existing) => {
      if (!existing) fail("ACTIVITY_NOT_FOUND_BY_FINGERPRINT", {});
      return considerVote(read, engine.registry, existing, current, ballot, "voted");
    },
    false,
  );
}

/** What is to be done about a ballot, as the facts stand. */
type Consideration = { facts: DecisionFacts } & (
  | { todo: "answer"; activity: ActivityRecord }
  | { todo: "execute" | "reject"; target: Target; evaluations: PolicyEvaluation[] }
  | { todo: "wait"; for: "consensus" | "authenticators"; target: Target; evaluations: PolicyEvaluation[] }
  | { todo: "deny"; target: Target; evaluations: PolicyEvaluation[]; error: KeysteadError }
);

/** The activity a decision is about, stored already or not. */
interface Target {
  operation: ActivityOperation;
  version: ActivityVersion;
  intent: unknown;
  record: ActivityRecord;
  isNew: boolean;
  /** A user who has approved already shows a further credential; the vote stays as it is. */
  isFurtherStamp: boolean;
}

/** `existing` is the activity that has the fingerprint already. */
type Consider = (read: Reader, current: Principal, existing: ActivityRecord | undefined) => Promise<Consideration>;

/**
 * Considers and records in one transaction. Where carrying out or proving it needs the signer, it is asked between a first look
 * and that transaction, so that no transaction waits for it; the decision that counts is the one inside. What was proved must
 * still be true there, or the signer is asked again.
 */
async function settle(
  engine: SubmitEngine,
  ballot: Ballot,
  fingerprint: string,
  consider: Consider,
  prepareFirst: boolean,
): Promise<ActivityView> {
  const { actor, organization } = ballot.principal;
  // The root quorum's members mostly need no policy.
  if (!actor.isRootQuorumMember) {
    await rememberPolicies(engine.database.read, organization.id, organization.policiesVersion);
  }
  const find = (read: Reader) => findActivityByFingerprint(read, organization.id, fingerprint);
  const look: Look = async (read) => {
    const [current, existing] = await Promise.all([reload(read, ballot.principal, ballot.now), find(read)]);
    return consider(read, current, existing);
  };
  // The stamp was looked up a moment ago; the look that counts does so again.
  const glance = async () => consider(engine.database.read, ballot.principal, await find(engine.database.read));
  let preparation = prepareFirst ? await prepareIfNeeded(engine, await glance(), glance, ballot) : undefined;
  let outcome = await attempt(engine, ballot, look, preparation);
  for (let times = 1; "unprepared" in outcome; times++) {
    if (times > MAX_PREPARATIONS) fail("DEADLINE_EXCEEDED", { limit: `${MAX_PREPARATIONS} attempts` });
    preparation = await prepareIfNeeded(engine, outcome.unprepared, glance, ballot);
    outcome = await attempt(engine, ballot, look, preparation);
  }
  const { activity, votes, facts, error } = outcome;
  if (error) throw error;
  const { read } = engine.database;
  const open = isOpen(activity);
  if (!open) return viewActivity(read, activity, votes, { actor, now: ballot.now });
  const rights = await voteRights(read, facts, actor);
  const owes = await owesAuthenticators(read, facts, actor);
  return viewActivity(read, activity, votes, { actor, rights, owes, now: ballot.now });
}

type Look = (read: Reader) => Promise<Consideration>;

interface Preparation {
  value?: unknown;
  /** Why there is no value, where that is what becomes of the activity. */
  error?: KeysteadError;
  /** Whether the activity may run beside the organization's other activities. */
  unordered: boolean;
  /** Of an activity that is to be proved. */
  proofs?: PreparedProofs;
}

type ToExecute = Consideration & { todo: "execute" };

const needsPreparation = (consideration: Consideration): consideration is ToExecute =>
  consideration.todo === "execute" &&
  (consideration.target.operation.prepare !== undefined || consideration.target.record.wantsProofs);

async function prepare(
  engine: SubmitEngine,
  consideration: Consideration,
  ballot: Ballot,
): Promise<Preparation | undefined> {
  if (!needsPreparation(consideration)) return undefined;
  const { operation, intent, isNew, record } = consideration.target;
  const { organization, submitter, now } = consideration.facts;
  const { database, signer } = engine;
  const submitterId = submitter.userId;
  try {
    const value = await operation.prepare?.({ intent, read: database.read, organization, signer, submitterId, now });
    const preparation = { value, unordered: operation.changesNothing && isNew };
    if (!record.wantsProofs) return preparation;
    const addresses = operation.addresses({ intent, prepared: value });
    return { ...preparation, proofs: await proveExecution(engine, executionOf(consideration, ballot), addresses) };
  } catch (error) {
    if (isNew || !isLasting(error)) throw error;
    return { error, unordered: false };
  }
}

/**
 * The same, but what fails counts only if it is still to be done: an equal request may have been carried out meanwhile, and
 * have used up what this one needs.
 */
async function prepareIfNeeded(
  engine: SubmitEngine,
  consideration: Consideration,
  glance: () => Promise<Consideration>,
  ballot: Ballot,
): Promise<Preparation | undefined> {
  try {
    return await prepare(engine, consideration, ballot);
  } catch (error) {
    if (needsPreparation(await glance())) throw error;
    return undefined;
  }
}

async function isPrepared(
  read: Reader,
  consideration: ToExecute,
  ballot: Ballot,
  preparation: Preparation | undefined,
): Promise<boolean> {
  if (!preparation || preparation.error || !consideration.target.record.wantsProofs) return preparation !== undefined;
  const { proofs } = preparation;
  return proofs !== undefined && stillHolds(read, proofs, executionOf(consideration, ballot));
}

function executionOf({ target, facts, evaluations }: ToExecute, { principal, message }: Ballot): Execution {
  const { record, isNew } = target;
  const { actor, stampRecord } = principal;
  return { record, isNew, facts, evaluations, stamp: { userId: actor.userId, message, ...stampRecord } };
}

async function attempt(
  engine: SubmitEngine,
  ballot: Ballot,
  look: Look,
  preparation: Preparation | undefined,
): Promise<Recorded | { unprepared: Consideration }> {
  const scope = preparation?.unordered ? undefined : ballot.principal.organization.id;
  let considered: Consideration | undefined;
  try {
    return await engine.database.transact(scope, async (tx) => {
      considered = await look(tx);
      // A body that was new at first sight may have become a vote since, and votes are serial.
      const isVote = considered.todo !== "answer" && !considered.target.isNew;
      if (preparation?.unordered && isVote) return { unprepared: considered };
      if (needsPreparation(considered) && !(await isPrepared(tx, considered, ballot, preparation))) {
        return { unprepared: considered };
      }
      if (considered.todo === "execute" && preparation?.error) throw preparation.error;
      return record(engine, tx, considered, ballot, preparation);
    });
  } catch (error) {
    if (considered?.todo !== "execute" || considered.target.isNew) throw error;
    return failVotedActivity(engine, ballot, look, error);
  }
}

async function considerNew(
  read: Reader,
  operation: ActivityOperation,
  { version, parameters, intent, generateAppProofs }: Submission,
  fingerprint: string,
  { organization, actor }: Principal,
  ballot: Ballot,
): Promise<Consideration> {
  if (generateAppProofs) refuseLargeBody(ballot.message);
  const record: ActivityRecord = {
    id: newId(),
    organizationId: organization.id,
    type: version.type,
    status: "ACTIVITY_STATUS_CREATED",
    fingerprint,
    intent: { [version.intentKey]: parameters },
    result: {},
    failure: null,
    wantsProofs: generateAppProofs,
    createdAt: 0,
    updatedAt: 0,
  };
  const { publicKey } = ballot.principal.stampRecord;
  const matter: Matter = { operation, version, intent, organization, now: ballot.now };
  const facts = factsOf(matter, actor, [{ actor, publicKeys: [publicKey] }]);
  const target: Target = { operation, version, intent, record, isNew: true, isFurtherStamp: false };
  const problem = await sessionScopeProblem(read, facts, actor);
  if (problem === undefined) return consequence(read, facts, target);
  return { todo: "deny", target, error: scopeDenial(problem), facts, evaluations: [] };
}

async function considerVote(
  read: Reader,
  registry: Registry,
  existing: ActivityRecord,
  { organization, actor }: Principal,
  ballot: Ballot,
  how: "resubmitted" | "voted",
): Promise<Consideration> {
  const matter = matterOf(registry, existing, organization, ballot.now);
  const votes = await findVotes(read, existing);
  const approves = ballot.selection === "VOTE_SELECTION_APPROVED";
  const { publicKey } = ballot.principal.stampRecord;
  const facts = await factsOfStored(read, matter, votes, { actor, publicKey, approves });
  const answer = { todo: "answer", activity: existing, facts } as const;
  if (!isOpen(existing)) {
    const { status, failure } = existing;
    if (how === "resubmitted" && status === "ACTIVITY_STATUS_REJECTED" && failure) throw denialOf(failure.details);
    // A vote that was counted may be sent again by a client that did not hear the answer.
    const isCounted = votes.some(({ userId, message }) => userId === actor.userId && message === ballot.message);
    if (how === "voted" && !isCounted) fail("ACTIVITY_DECIDED", { activityId: existing.id, status });
    return answer;
  }
  const own = votes.find((vote) => vote.userId === actor.userId && isLive(vote, ballot.now));
  const repeats = own?.selection === ballot.selection;
  if (repeats && how === "resubmitted") return answer;
  const rights = await voteRights(read, facts, actor);
  if (!(approves ? rights.mayApprove : rights.mayReject)) {
    if (repeats) return answer;
    throw await voteDenial(read, facts, actor);
  }
  const problem = await sessionScopeProblem(read, facts, actor);
  if (problem !== undefined) throw scopeDenial(problem);
  if (existing.wantsProofs && approves) refuseLargeBody(ballot.message);
  const { operation, version, intent } = matter;
  // With MFA a further credential is shown beside the first; otherwise it takes the first one's place.
  const isAnotherKey = repeats && own.publicKey !== publicKey;
  const isFurtherStamp = isAnotherKey && actor.hasMfaPolicies;
  const target: Target = { operation, version, intent, record: existing, isNew: false, isFurtherStamp };
  if (!approves) return { todo: "reject", target, facts, evaluations: [] };
  const decided = await consequence(read, facts, target);
  // To approve once more with the same credential is to ask for a decision on the facts of now.
  return repeats && !isAnotherKey && decided.todo !== "execute" ? answer : decided;
}

const scopeDenial = (problem: string): KeysteadError =>
  denialOf(denialDetails(problem, undefined, "Stamp with a credential that this scope does not limit."));

async function consequence(read: Reader, facts: DecisionFacts, target: Target): Promise<Consideration> {
  const decision = await decide(read, facts);
  const { evaluations } = decision;
  if (decision.outcome === "allow") return { todo: "execute", target, facts, evaluations };
  if (decision.outcome !== "deny") return { todo: "wait", for: decision.outcome, target, facts, evaluations };
  // A vote that does not suffice leaves the activity open for the next.
  if (!target.isNew) return { todo: "wait", for: "consensus", target, facts, evaluations };
  return { todo: "deny", target, error: denialOf(decision.details), facts, evaluations };
}

interface Recorded {
  activity: ActivityRecord;
  votes: VoteRecord[];
  facts: DecisionFacts;
  error?: KeysteadError;
}

async function record(
  engine: SubmitEngine,
  tx: Transactor,
  consideration: Consideration,
  ballot: Ballot,
  preparation: Preparation | undefined,
): Promise<Recorded> {
  const { facts, todo } = consideration;
  if (todo === "answer") {
    const { activity } = consideration;
    return { activity, votes: await findVotes(tx, activity), facts };
  }
  const { target } = consideration;
  switch (todo) {
    case "execute": {
      const { operation, version, intent } = target;
      const { organization } = facts;
      const { now } = ballot;
      const { actor } = ballot.principal;
      const submitterId = facts.submitter.userId;
      const prepared = preparation?.value;
      const result = await operation.run({ intent, tx, organization, actor, submitterId, now, prepared });
      const wireResult = { [version.resultKey]: version.resultFrom(result) };
      const status = "ACTIVITY_STATUS_COMPLETED";
      return store(engine, tx, consideration, ballot, { status, result: wireResult, proofs: preparation?.proofs });
    }
    case "wait": {
      const status =
        consideration.for === "consensus"
          ? "ACTIVITY_STATUS_CONSENSUS_NEEDED"
          : "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED";
      return store(engine, tx, consideration, ballot, { status });
    }
    case "reject":
      return store(engine, tx, consideration, ballot, { status: "ACTIVITY_STATUS_REJECTED" });
    case "deny": {
      const { error } = consideration;
      const denied = { status: "ACTIVITY_STATUS_REJECTED", failure: failureOf(error) } as const;
      return { ...(await store(engine, tx, consideration, ballot, denied)), error };
    }
  }
}

async function store(
  { observer }: SubmitEngine,
  tx: Transactor,
  { target, facts, evaluations }: Extract<Consideration, { target: Target }>,
  ballot: Ballot,
  change: {
    status: ActivityRecord["status"];
    result?: Record<string, unknown>;
    failure?: Failure;
    proofs?: PreparedProofs | undefined;
  },
): Promise<Recorded> {
  const { isNew, record } = target;
  const { now } = ballot;
  const { status, result, failure, proofs } = change;
  const activity: ActivityRecord = {
    ...record,
    status,
    result: result ?? {},
    failure: failure ?? null,
    createdAt: isNew ? now : record.createdAt,
    updatedAt: now,
  };
  const row = {
    id: activity.id,
    organizationId: activity.organizationId,
    status,
    result: result ? JSON.stringify(result) : null,
    failure: failure ? JSON.stringify(failure) : null,
    now,
  };
  const { id: activityId, organizationId, type, fingerprint } = activity;
  const vote = voteOf(activity, ballot, isNew);
  const intent = JSON.stringify(activity.intent);
  // All of it is asked for at once and done in this order, so that PostgreSQL is waited for once.
  const written = isNew
    ? insertActivity(tx, { ...row, type, fingerprint, wantsProofs: activity.wantsProofs ? 1 : 0, intent })
    : updateActivity(tx, row);
  const proving = (proofs?.proofs ?? []).map((proof, position) =>
    insertAppProof(tx, { organizationId, activityId, position, ...proof }),
  );
  const voted = (target.isFurtherStamp ? upsertAuthentication : upsertVote)(tx, { ...vote, organizationId });
  const voting = isNew ? Promise.resolve([vote]) : findVotes(tx, activity);
  const noting = voting.then((votes) => {
    if (evaluations.length === 0) return;
    const voteId = votes.find(({ userId }) => userId === vote.userId)?.id ?? vote.id;
    return storeEvaluations(tx, { id: newId(), organizationId, activityId, voteId, now }, evaluations);
  });
  const announcing = voting.then((votes) =>
    observer.onChange(tx, { activity, votes, organization: facts.organization, now }),
  );
  await Promise.allSettled([written, ...proving, voted, voting, noting, announcing]);
  // Another process stored the same body first, and the vote has nothing to refer to; the next try finds the activity.
  if ((await written).length === 0) throw new DatabaseFailure("retry", "the fingerprint is taken");
  await Promise.all([...proving, voted, noting, announcing]);
  return { activity, facts, votes: await voting };
}

function voteOf(
  { id: activityId }: ActivityRecord,
  { principal, selection, message, now }: Ballot,
  isSubmission: boolean,
): VoteRecord {
  const { actor, stampRecord } = principal;
  const { userId, userName } = actor;
  return {
    id: isSubmission ? activityId : newId(),
    activityId,
    userId,
    userName,
    selection,
    message,
    ...stampRecord,
    createdAt: now,
  };
}

/**
 * An activity that was carried out on a later vote and failed stays, as failed: its submitter is not there to read the
 * error. A new one that fails leaves nothing, and what can be tried again is told to the voter.
 */
function failVotedActivity(engine: SubmitEngine, ballot: Ballot, look: Look, error: unknown): Promise<Recorded> {
  if (!isLasting(error)) throw error;
  return engine.database.transact(ballot.principal.organization.id, async (tx) => {
    const consideration = await look(tx);
    if (consideration.todo !== "execute") throw error;
    return store(engine, tx, consideration, ballot, { status: "ACTIVITY_STATUS_FAILED", failure: failureOf(error) });
  });
}

/** Whether the same would come of trying again. */
const isLasting = (error: unknown): error is KeysteadError => error instanceof KeysteadError && error.httpStatus < 500;
