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

/** A verdict carried out and stored, in the transaction that it is given. */

export interface Recorded {
  activity: ActivityRecord;
  votes: VoteRecord[];
  facts: LoadableFacts;
  /** Whose votes they are, as they are after the commit; asked for anew where it is absent. */
  voters?: AskedUsers;
  /** What whoever cast the ballot is told in place of the activity. */
  error?: KeysteadError;
}

/** Ballots whose denial was counted. */
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
      // A transaction may be tried again, and its denials are none the more for it.
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

/** An activity that should have been carried out and cannot be. */
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

/** A new activity has no votes yet that could have been taken back. */
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

/** A rule that is run only for what it reads must end before it evaluates conditions. */
const unasked = () => {
  throw new Error("no condition is evaluated beforehand");
};

/**
 * Asks, before the transaction's functions run, for the parts of the state that the rules of a new activity look at. What the rules come to
 * then is thrown away: they run again when their turn comes.
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
  // Of many that begin together some may take long: they ask in their turn.
  if (carryOut.by !== "changes" || isRoundLong()) return;
  const shared = { intent, plan, prepared, organization, submitterId: actor.userId, now };
  await onAuthority(read, organization.id, (view, viewOn) =>
    carryOut.change({ ...shared, view, parentView: viewOn(rootIdOf(organization)), evaluate: unasked, id }),
  );
}

/** Makes the change that the activity is about; resolves to its result. */
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

/** The activity in its new state, the ballot, what the policies came to, proofs, and the announcement of it all. */
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
    updatedAt: now,
  };
  const { id: activityId, organizationId } = activity;
  const vote = voteOfBallot(activity, ballot, isNew);
  const { isFirstUse, credentialKey, actor } = ballot.principal;
  const use = { organizationId, id: actor.credential.id, now };
  // All of it is asked for at once and done in this order, so that PostgreSQL is waited for once.
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
  // A login that is denied was none.
  const spent = isNew && !failure ? credentialKey.kind.useUp?.(tx, credentialKey.key, facts.organization) : undefined;
  const all = [written, ...proving, voted, replacing, voting, noting, announcing, acting, spent];
  await Promise.allSettled(all);
  await Promise.all(all);
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
