import { isAttested } from "../../authority/attested.ts";
import { conditionsWithin } from "../../authority/decisions/conditions.ts";
import { viewAfter } from "../../authority/view.ts";
import type { KeysteadError } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { isRoundLong } from "../../kernel/turns.ts";
import type { AheadReader, Transactor } from "../../storage/engine.ts";
import { DatabaseFailure } from "../../storage/failure.ts";
import { onAuthority } from "../authority/load.ts";
import { project } from "../authority/project.ts";
import type { LoadableFacts } from "../decisions/facts.ts";
import { rootIdOf } from "../identity/organizations.ts";
import { keepRevocations } from "../identity/revocations.ts";
import { type AskedUsers, askForUsers } from "../identity/users.ts";
import { insertAppProof } from "../proofs/app-proofs.ts";
import type { PreparedProofs } from "../proofs/prove.ts";
import { servicesFor } from "../services.ts";
import type { ActivityEngine, Ballot } from "./ballot.ts";
import { messageToStore } from "./bodies.ts";
import { keptMessage, keptRecord } from "./denied.ts";
import { storeEvaluations } from "./evaluations.ts";
import type { Target, ToExecute, Verdict } from "./judge.ts";
import { enqueueEffect } from "./perform.ts";
import type { Preparation } from "./prepare.ts";
import {
  type ActivityRecord,
  deleteOldAttestedStamps,
  deleteOldFurtherStamps,
  type Failure,
  failureOf,
  findVotes,
  type NewStamp,
  newActivities,
  newVotes,
  rowOfActivity,
  rowOfVote,
  updateActivity,
  upsertFurtherStamp,
  upsertVote,
  type VoteRecord,
} from "./rows.ts";

/** Carries out and stores a verdict, in the given transaction. */

export interface Recorded {
  activity: ActivityRecord;
  votes: VoteRecord[];
  facts: LoadableFacts;
  /** The users who voted, as of the commit. Read again if absent. */
  voters?: AskedUsers;
  /** The error that the client receives in place of the activity. */
  error?: KeysteadError;
}

/** Ballots whose denial was counted already. */
const counted = new WeakSet<Ballot>();

export async function recordVerdict(
  engine: ActivityEngine,
  tx: Transactor,
  verdict: Verdict,
  ballot: Ballot,
  preparation: Preparation | undefined,
): Promise<Recorded> {
  switch (verdict.todo) {
    case "answer": {
      const { activity, facts } = verdict;
      return { activity, votes: await findVotes(tx, activity), facts };
    }
    case "execute":
      await keepRevocationsOf(tx, verdict.target);
      return execute(engine, tx, verdict, ballot, preparation);
    case "wait": {
      const missing = verdict.for === "consensus" ? "CONSENSUS_NEEDED" : "AUTHENTICATORS_NEEDED";
      return store(engine, tx, verdict, ballot, { status: `ACTIVITY_STATUS_${missing}` });
    }
    case "reject":
      await keepRevocationsOf(tx, verdict.target);
      return store(engine, tx, verdict, ballot, { status: "ACTIVITY_STATUS_REJECTED" });
    case "deny": {
      const { error } = verdict;
      const { organization, submitter } = verdict.facts;
      // A transaction may be retried; its denial counts once.
      if (!counted.has(ballot)) engine.admission.countDenial(organization.id, submitter.userId);
      counted.add(ballot);
      const denied = { status: "ACTIVITY_STATUS_REJECTED", failure: failureOf(error) } as const;
      const record = keptRecord(verdict.target.record);
      const message = keptMessage(verdict.target.record, ballot.message);
      const bounded = { ...verdict, target: { ...verdict.target, record } };
      return { ...(await store(engine, tx, bounded, { ...ballot, message }, denied)), error };
    }
  }
}

/** Stores an activity as failed that should have been carried out. */
export async function recordFailure(
  engine: ActivityEngine,
  tx: Transactor,
  verdict: ToExecute,
  ballot: Ballot,
  error: KeysteadError,
): Promise<Recorded> {
  await keepRevocationsOf(tx, verdict.target);
  return store(engine, tx, verdict, ballot, { status: "ACTIVITY_STATUS_FAILED", failure: failureOf(error) });
}

/** Only for stored activities: a new one has no votes that could have been revoked. */
async function keepRevocationsOf(tx: Transactor, { isNew, record }: Target): Promise<void> {
  const { organizationId, id: activityId } = record;
  if (!isNew) await keepRevocations(tx, { organizationId, activityId });
}

async function execute(
  engine: ActivityEngine,
  tx: Transactor,
  verdict: ToExecute,
  ballot: Ballot,
  preparation: Preparation | undefined,
): Promise<Recorded> {
  const { operation, version } = verdict.target;
  const { now } = ballot;
  const result = await carryOut(engine, tx, verdict, ballot, preparation?.value);
  const proofs = preparation?.proofs;
  if (!operation.effect) {
    const wireResult = { [version.resultKey]: version.resultFrom(result) };
    return store(engine, tx, verdict, ballot, { status: "ACTIVITY_STATUS_COMPLETED", result: wireResult, proofs });
  }
  const stored = await store(engine, tx, verdict, ballot, { status: "ACTIVITY_STATUS_PENDING", proofs });
  await enqueueEffect(tx, operation.effect, stored.activity, now);
  return stored;
}

/** Ends a rule that is run only to find out what it reads, before it evaluates conditions. */
const unasked = () => {
  throw new Error("no condition is evaluated beforehand");
};

/**
 * Loads the parts of the state that the rules of a new activity read, before the transaction's functions run. The result of the rules is
 * discarded; they run again in the transaction.
 */
export async function askForParts(
  read: AheadReader,
  {
    operation: { carryOut },
    intent,
    plan,
    prepared,
  }: Pick<Target, "operation" | "intent"> & Record<"plan" | "prepared", unknown>,
  { now, id, principal: { organization, actor } }: Ballot,
): Promise<void> {
  // If many start together and this round of the event loop is already long, they load when their turn comes.
  if (carryOut.by !== "changes" || isRoundLong()) return;
  const shared = { intent, plan, prepared, organization, submitterId: actor.userId, now };
  await onAuthority(read, organization.id, (view, viewOn) =>
    carryOut.change({ ...shared, view, parentView: viewOn(rootIdOf(organization)), evaluate: unasked, id }),
  );
}

/** Carries the activity out; resolves to its result. */
async function carryOut(
  { services }: ActivityEngine,
  tx: Transactor,
  { target: { operation, intent, record }, where: organization, facts: { submitter } }: ToExecute,
  { now, id, principal: { actor }, budget }: Ballot,
  prepared: unknown,
): Promise<unknown> {
  const { id: activityId, fingerprint, plan } = record;
  const shared = { intent, plan, prepared, organization, submitterId: submitter.userId, now };
  const { carryOut } = operation;
  if (organization.id !== record.organizationId) await tx.lock(organization.id);
  if (carryOut.by === "run") {
    const given = servicesFor(services, operation.needs);
    return carryOut.run({
      ...given,
      ...shared,
      tx,
      activityId,
      fingerprint,
      id,
      actor,
      budget: budget.inTransaction(),
    });
  }
  const evaluate = conditionsWithin(await budget.inTransaction().turn());
  const { changes, result } = await onAuthority(tx, organization.id, (view, viewOn) => {
    const parentView = viewOn(rootIdOf(organization));
    const changes = carryOut.change({ ...shared, view, parentView, evaluate, id });
    return { changes, result: carryOut.answer({ intent, prepared, changes, id, view: viewAfter(view, changes) }) };
  });
  await project(tx, organization.id, changes);
  await carryOut.alsoStore({ tx, intent, prepared, organization, id, now, changes });
  return result;
}

interface NewState {
  status: ActivityRecord["status"];
  result?: Record<string, unknown>;
  failure?: Failure;
  proofs?: PreparedProofs | undefined;
}

/** Stores the activity in its new state, the ballot, the evaluations of policies and the proofs, and notifies observers. */
async function store(
  { observer }: ActivityEngine,
  tx: Transactor,
  { target, facts, evaluations }: Extract<Verdict, { target: unknown }>,
  ballot: Ballot,
  { status, result, failure, proofs }: NewState,
): Promise<Recorded> {
  const { isNew, record } = target;
  const { now } = ballot;
  const activity: ActivityRecord = {
    ...record,
    status,
    result: result ?? {},
    failure: failure ?? null,
    createdAt: isNew ? now : record.createdAt,
    // Never older than a stamp on it: a request that arrived earlier may be stored later.
    updatedAt: isNew ? now : Math.max(now, record.updatedAt),
  };
  const { id: activityId, organizationId } = activity;
  const vote = voteOfBallot(activity, ballot, isNew);
  const { isFirstUse, credentialKey, actor } = ballot.principal;
  const use = { organizationId, id: actor.credential.id, now };
  // All statements are sent together and executed in this order: one round trip to PostgreSQL.
  const written = isNew ? tx.later(newActivities, rowOfActivity(activity)) : update(tx, activity);
  const proving = (proofs?.proofs ?? []).map((proof, position) =>
    insertAppProof(tx, { organizationId, activityId, position, ...proof }),
  );
  const stamp = newStampOf({ ...vote, message: messageToStore(activity.body, vote.message) }, organizationId);
  const { userName, selection } = vote;
  const voted = storeVote(tx, target, { ...stamp, userName, selection });
  const replacing = target.isFurtherStamp ? deleteOldStamps(tx, stamp) : undefined;
  const voting = isNew ? Promise.resolve([vote]) : findVotes(tx, activity);
  const noting = voting.then((votes) => {
    if (evaluations.length === 0) return;
    const voteId = votes.find(({ userId }) => userId === vote.userId)?.id ?? vote.id;
    return storeEvaluations(tx, { id: newId(), organizationId, activityId, voteId, now }, evaluations);
  });
  const announcing = voting.then((votes) =>
    observer.onChange(tx, { activity, votes, organization: facts.organization, ballot, now }),
  );
  const acting = isFirstUse ? credentialKey.kind.noteFirstUse(tx, use) : undefined;
  // A denied login does not use its credential up.
  const spent = isNew && !failure ? credentialKey.kind.useUp?.(tx, credentialKey.key, facts.organization) : undefined;
  const all = [written, ...proving, voted, replacing, voting, noting, announcing, acting, spent];
  // Nothing of it may still be under way when the transaction is rolled back.
  const failed = (await Promise.allSettled(all)).find(({ status }) => status === "rejected");
  if (failed?.status === "rejected") throw failed.reason;
  const votes = await voting;
  return { activity, facts, votes, voters: askForUsers(tx, organizationId, votes) };
}

async function deleteOldStamps(tx: Transactor, stamp: NewStamp): Promise<void> {
  const ofToken = isAttested(stamp.credentialType) ? deleteOldAttestedStamps(tx, stamp) : undefined;
  await Promise.all([ofToken, deleteOldFurtherStamps(tx, stamp)]);
}

async function update(tx: Transactor, activity: ActivityRecord): Promise<void> {
  const updated = await updateActivity(tx, rowOfActivity(activity));
  if (updated.length === 0) throw new DatabaseFailure("retry", "the activity is gone");
}

function storeVote(tx: Transactor, { isNew, isFurtherStamp }: Target, vote: Parameters<typeof upsertVote>[1]) {
  if (isNew) return tx.later(newVotes, rowOfVote(vote));
  return isFurtherStamp ? upsertFurtherStamp(tx, vote) : upsertVote(tx, vote);
}

function voteOfBallot(
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
    credential: actor.credential,
    revokedAt: null,
    createdAt: now,
  };
}

function newStampOf(
  { credential, revokedAt: _, userName: __, selection: ___, ...vote }: VoteRecord,
  organizationId: string,
): NewStamp {
  const { id: credentialId, type: credentialType, sessionProfileId = null } = credential;
  return { ...vote, organizationId, credentialId, credentialType, sessionProfileId };
}
