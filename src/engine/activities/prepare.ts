import { KeysteadError } from "../../kernel/errors.ts";
import { askedBy } from "../../signer/client.ts";
import type { Reader } from "../../storage/engine.ts";
import { type PreparedProofs, proveExecution, stillHolds } from "../proofs/prove.ts";
import { servicesFor, signerFor } from "../services.ts";
import type { ActivityEngine, Ballot } from "./ballot.ts";
import type { ToExecute, Verdict } from "./judge.ts";
import { occasionOf } from "./occasion.ts";
import type { Execution } from "./stamps.ts";

/** What is asked of the signer before the transaction that carries an activity out. */

export interface Preparation {
  value?: unknown;
  /** Whose activity it was when it was asked for. */
  submitterId: string;
  /** Why there is no value, where that is what becomes of the activity. */
  error?: KeysteadError;
  /** Whether the activity may run beside the organization's other activities. */
  concurrent: boolean;
  /** Of an activity that is to be proved. */
  proofs?: PreparedProofs;
}

export const needsPreparation = (verdict: Verdict): verdict is ToExecute =>
  verdict.todo === "execute" && (verdict.target.operation.prepare !== undefined || verdict.target.record.wantsProofs);

/** Undefined where nothing is to be carried out, or nothing to be asked for it. */
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
    // It is this organization's work, also where it is done with a key of the installation.
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
 * Whether a preparation still serves; asked in the transaction that would use it. What was prepared for whoever asked first is not for the
 * activity of another user who was stored with the same body meanwhile.
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

/** Whether the same would come of trying again. */
export const isLasting = (error: unknown): error is KeysteadError =>
  error instanceof KeysteadError && !error.isTransient;
