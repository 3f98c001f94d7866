import { fail, type KeysteadError } from "../../kernel/errors.ts";
import { MAX_PREPARATIONS } from "../../kernel/limits.ts";
import { inSpan } from "../../kernel/spans.ts";
import { OutOfBudget } from "../../policy/budget.ts";
import type { AheadReader, Reader, Transactor } from "../../storage/engine.ts";
import type { Prefetch } from "../../storage/group-commit.ts";
import { rememberPolicies } from "../decisions/policies.ts";
import type { Submission } from "../envelope.ts";
import { reload } from "../identity/authenticate.ts";
import type { ActivityOperation } from "../operations.ts";
import type { ActivityEngine, Ballot } from "./ballot.ts";
import { type Judge, judgeSubmission, judgeVote, type Verdict } from "./judge.ts";
import { maskedActivity } from "./masks.ts";
import { isOperatorActivity } from "./operator-activities.ts";
import { planOf } from "./plan.ts";
import { isLasting, isPrepared, needsPreparation, type Preparation, prepare } from "./prepare.ts";
import { askForParts, type Recorded, recordFailure, recordVerdict } from "./record.ts";
import { findActivityByFingerprint } from "./rows.ts";
import { type ActivityView, viewActivityAs } from "./view.ts";

/**
 * The life of an activity. Its plan and the signer's work are done outside of a transaction. The decision that counts, the change and the
 * stored row are one transaction; the response and the outside effect follow its commit.
 * The same body from the same user is the same activity; from another user it is an approval.
 */

/** Stores a new activity, and carries it out if it is allowed; a body that was submitted before counts as a vote on that activity. */
export async function submit(
  engine: ActivityEngine,
  operation: ActivityOperation,
  submission: Submission,
  fingerprint: string,
  ballot: Omit<Ballot, "selection">,
): Promise<ActivityView> {
  const approving: Ballot = { ...ballot, selection: "VOTE_SELECTION_APPROVED" };
  const { id } = ballot.principal.organization;
  const isKnown = async () => (await findActivityByFingerprint(engine.database.read, id, fingerprint)) !== undefined;
  await engine.monthlyQuota.take(id, Buffer.byteLength(ballot.message), isKnown);
  const plan = await planOf(engine, operation, submission.intent, fingerprint, ballot);
  const judge: Judge = async (read, principal, existing, budget) => {
    const context = { read, principal, ballot: approving, budget };
    if (existing) return judgeVote(context, engine.registry, existing, "resubmitted");
    return judgeSubmission(context, { operation, submission, plan, fingerprint });
  };
  const mayNeedPreparation = operation.prepare !== undefined || submission.generateAppProofs;
  const { intent } = submission;
  const ahead = (read: AheadReader, preparation: Preparation | undefined) =>
    askForParts(read, { operation, intent, plan, prepared: preparation?.value }, approving);
  // Anything else an activity does may take long, and so may deletions, because of the dependent rows.
  const isShared = operation.carryOut.by === "changes" && operation.subject(intent).action !== "DELETE";
  const recorded = await castBallot(engine, approving, { fingerprint, judge, mayNeedPreparation, ahead, isShared });
  return answerOf(engine.database.read, recorded, approving);
}

/** How a ballot is judged and recorded. */
interface Casting {
  /** Of the activity that it is about. */
  fingerprint: string;
  judge: Judge;
  /** Whether the operation may need the signer's work. */
  mayNeedPreparation: boolean;
  /** Loads what the rules will read. */
  ahead: (read: AheadReader, preparation: Preparation | undefined) => Promise<void>;
  /** Whether the transaction may be shared with activities of other organizations. */
  isShared: boolean;
}

/** Counts an approval or rejection of the activity with this fingerprint; resolves to that activity. */
export async function castVote(engine: ActivityEngine, fingerprint: string, ballot: Ballot): Promise<ActivityView> {
  const judge: Judge = async (read, principal, existing, budget) => {
    if (!existing) fail("ACTIVITY_NOT_FOUND_BY_FINGERPRINT", {});
    const { id: activityId, type, status } = existing;
    if (isOperatorActivity(type)) fail("ACTIVITY_DECIDED", { activityId, status });
    return judgeVote({ read, principal, ballot, budget }, engine.registry, existing, "voted");
  };
  const casting = { fingerprint, judge, mayNeedPreparation: false, ahead: async () => {}, isShared: false };
  const recorded = await castBallot(engine, ballot, casting);
  return maskedActivity(await answerOf(engine.database.read, recorded, ballot));
}

/**
 * Judges and records a ballot in one transaction. If the signer is needed, it is asked between a first verdict and that transaction, so that
 * no transaction waits for it. The verdict that counts is made inside the transaction; if what the signer proved is no longer true there,
 * the signer is asked again.
 */
async function castBallot(
  engine: ActivityEngine,
  ballot: Ballot,
  { fingerprint, judge: judgeUntraced, mayNeedPreparation, ahead, isShared }: Casting,
): Promise<Recorded> {
  const { actor, organization } = ballot.principal;
  const { budget } = ballot;
  const { read } = engine.database;
  const judge = traced(judgeUntraced);
  // Policies are rarely evaluated for members of the root quorum.
  if (!actor.isRootQuorumMember) await rememberPolicies(read, organization.id, organization.policiesVersion);
  const find = (reader: Reader) => findActivityByFingerprint(reader, organization.id, fingerprint);
  // The principal was authenticated a moment ago; the verdict that counts looks the credential up again.
  const judgeBeforehand = async () => judge(read, ballot.principal, await find(read), budget);
  const factsOfNow = (tx: Reader) => Promise.all([reload(tx, ballot.principal, ballot.now), find(tx)]);
  const inTransaction: JudgeInTransaction = {
    isShared,
    ahead: (preparation) => (reader) =>
      Promise.allSettled([factsOfNow(reader), engine.observer.ahead(reader, organization), ahead(reader, preparation)]),
    judge: async (tx) => {
      const [current, existing] = await factsOfNow(tx);
      return judge(tx, current, existing, budget.inTransaction());
    },
  };
  const prepareFor = (verdict: Verdict) => prepareIfStillNeeded(engine, verdict, judgeBeforehand, ballot);

  const record = async (preparation: Preparation | undefined) => {
    try {
      return await tryToRecord(engine, ballot, inTransaction, preparation);
    } catch (error) {
      if (!(error instanceof OutOfBudget)) throw error;
      // Retry once: much of the budget may have been spent on compiling policies, which are cached now.
      await judgeBeforehand();
      return tryToRecord(engine, ballot, inTransaction, preparation);
    }
  };

  let outcome = await record(mayNeedPreparation ? await prepareFor(await judgeBeforehand()) : undefined);
  for (let tries = 1; "unprepared" in outcome; tries++) {
    if (tries > MAX_PREPARATIONS) fail("DEADLINE_EXCEEDED", { limit: `${MAX_PREPARATIONS} attempts` });
    outcome = await record(await prepareFor(outcome.unprepared));
  }
  return outcome;
}

/** Adds a span to the trace for each decision. */
const traced =
  (judge: Judge): Judge =>
  (...facts) =>
    inSpan("decide", async (span) => {
      const verdict = await judge(...facts);
      span?.note({ "keystead.verdict": verdict.todo });
      return verdict;
    });

async function answerOf(
  read: Reader,
  { activity, votes, facts, voters, error }: Recorded,
  { principal: { actor }, now, budget }: Ballot,
): Promise<ActivityView> {
  if (error) throw error;
  return viewActivityAs(read, activity, votes, { actor, budget, voters, now }, async () => facts);
}

/**
 * Prepares what a verdict needs. A failure counts only if the activity still has to be carried out: an equal request may have been carried
 * out meanwhile and have used up what this one needs.
 */
async function prepareIfStillNeeded(
  engine: ActivityEngine,
  verdict: Verdict,
  judgeAgain: () => Promise<Verdict>,
  ballot: Ballot,
): Promise<Preparation | undefined> {
  try {
    return await prepare(engine, verdict, ballot);
  } catch (error) {
    if (needsPreparation(await judgeAgain())) throw error;
    return undefined;
  }
}

/** Comes to the verdict that counts; `ahead` loads its facts in advance. */
interface JudgeInTransaction {
  judge: (tx: Reader) => Promise<Verdict>;
  ahead: (preparation: Preparation | undefined) => Prefetch;
  isShared: boolean;
}

async function tryToRecord(
  engine: ActivityEngine,
  ballot: Ballot,
  { judge, ahead, isShared }: JudgeInTransaction,
  preparation: Preparation | undefined,
): Promise<Recorded | { unprepared: Verdict }> {
  const { id } = ballot.principal.organization;
  let verdict: Verdict | undefined;
  try {
    const scope = preparation?.concurrent ? undefined : id;
    const record = async (tx: Transactor) => {
      verdict = await judge(tx);
      // Another request may have stored the same body meanwhile, so that this one is a vote, and votes are serialized.
      const isVote = verdict.todo !== "answer" && !verdict.target.isNew;
      if (preparation?.concurrent && isVote) return { unprepared: verdict };
      if (needsPreparation(verdict) && !(await isPrepared(tx, verdict, ballot, preparation))) {
        return { unprepared: verdict };
      }
      if (verdict.todo === "execute" && preparation?.error) throw preparation.error;
      return recordVerdict(engine, tx, verdict, ballot, preparation);
    };
    return await engine.database.transact(scope, record, { ahead: ahead(preparation), isShared });
  } catch (error) {
    if (verdict?.todo !== "execute" || verdict.target.isNew || !isLasting(error)) throw error;
    return failVotedActivity(engine, ballot, judge, error);
  }
}

/**
 * Stores an activity as failed if it fails when a later vote carries it out, because its submitter does not see the error. A new activity
 * that fails is not stored, and an error that a retry may resolve is returned to the voter.
 */
function failVotedActivity(
  engine: ActivityEngine,
  ballot: Ballot,
  judge: (tx: Reader) => Promise<Verdict>,
  error: KeysteadError,
): Promise<Recorded> {
  return engine.database.transact(ballot.principal.organization.id, async (tx) => {
    const verdict = await judge(tx);
    if (verdict.todo !== "execute") throw error;
    return recordFailure(engine, tx, verdict, ballot, error);
  });
}
