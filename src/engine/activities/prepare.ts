import { KeysteadError } from "../../kernel/errors.ts";
import { askedBy } from "../../signer/client.ts";
import type { Reader } from "../../storage/engine.ts";
import { type PreparedProofs, proveExecution, stillHolds } from "../proofs/prove.ts";
import { servicesFor, signerFor } from "../services.ts";
import type { ActivityEngine, Ballot } from "./ballot.ts";
import type { ToExecute, Verdict } from "./judge.ts";
import { occasionOf } from "./occasion.ts";
import type { Execution } from "./stamps.ts";

/** The signer's work for an activity, done before the transaction that carries the activity out. */

export interface Preparation {
  value?: unknown;
  /** The submitter for whom it was prepared. */
  submitterId: string;
  /** The error that `prepare` threw, in place of a value; the activity fails with it. */
  error?: KeysteadError;
  /** Whether the activity may run concurrently with others of the organization. */
  concurrent: boolean;
  /** Present if app proofs were requested. */
  proofs?: PreparedProofs;
}

export const needsPreparation = (verdict: Verdict): verdict is ToExecute =>
  verdict.todo === "execute" && (verdict.target.operation.prepare !== undefined || verdict.target.record.wantsProofs);

/** Runs `prepare`. Undefined if the verdict carries nothing out, or the operation has nothing to prepare. */
export async function prepare(
  engine: ActivityEngine,
  verdict: Verdict,
  ballot: Ballot,
): Promise<Preparation | undefined> {
  if (!needsPreparation(verdict)) return undefined;
  const { operation, intent, isNew, record } = verdict.target;
  const { userId: submitterId } = verdict.facts.submitter;
  const execution = executionOf(verdict, ballot);
  const asker = {
    // The work counts as this organization's, even if a key of the installation is used.
    organizationId: verdict.facts.organization.id,
    isWanted: ballot.isWanted,
    occasion: await occasionOf(engine.database.read, execution),
  };
  const asking = { ...engine, signer: askedBy(engine.signer, asker) };
  try {
    const value = await askPreparation(asking, verdict, ballot);
    const preparation = { value, submitterId, concurrent: operation.concurrent && isNew };
    if (!record.wantsProofs) return preparation;
    const addresses = operation.addresses({ intent, prepared: value });
    return { ...preparation, proofs: await proveExecution(asking, execution, addresses) };
  } catch (error) {
    if (isNew || !isLasting(error)) throw error;
    return { error, submitterId, concurrent: false };
  }
}

async function askPreparation(
  { database, signer, services }: ActivityEngine,
  { target, where: organization, facts }: ToExecute,
  { budget, remoteAddress, id }: Ballot,
): Promise<unknown> {
  const { operation, intent, record } = target;
  const { submitter, now } = facts;
  const { path, needs, asks } = operation;
  const given = { ...servicesFor(services, needs), signer: signerFor(signer, asks, path) };
  const { plan } = record;
  return operation.prepare?.({
    ...given,
    intent,
    plan,
    read: database.read,
    organization,
    submitterId: submitter.userId,
    submitter,
    remoteAddress,
    id,
    now,
    budget,
  });
}

/**
 * Whether a preparation is still valid, checked in the transaction that would use it. It is not, for example, if another user's activity
 * with the same body was stored in the meantime: it was prepared for a different submitter.
 */
export async function isPrepared(
  read: Reader,
  verdict: ToExecute,
  ballot: Ballot,
  preparation: Preparation | undefined,
): Promise<boolean> {
  if (preparation && preparation.submitterId !== verdict.facts.submitter.userId) return false;
  if (!preparation || preparation.error || !verdict.target.record.wantsProofs) return preparation !== undefined;
  const { proofs } = preparation;
  return proofs !== undefined && stillHolds(read, proofs, executionOf(verdict, ballot));
}

function executionOf({ target, facts, evaluations }: ToExecute, { principal, message }: Ballot): Execution {
  const { record, isNew } = target;
  const { actor, stampRecord } = principal;
  return {
    record,
    isNew,
    facts,
    evaluations,
    stamp: { userId: actor.userId, credential: actor.credential, message, ...stampRecord },
  };
}

/** Whether a retry would fail in the same way. */
export const isLasting = (error: unknown): error is KeysteadError =>
  error instanceof KeysteadError && !error.isTransient;
