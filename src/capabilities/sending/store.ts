import { createHash } from "node:crypto";
import type { ExpressionBuilder } from "kysely";
import { refuseExcess } from "../../authority/quotas.ts";
import type { SolanaChain } from "../../chains/solana/networks.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_OPEN_SENDS } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";
import { announceEvent } from "../webhooks/store.ts";
import { enqueueFollowing } from "./evm/queue.ts";
import type { Plan } from "./evm/transaction.ts";
import { openStatuses, type SendStatus, type TxError } from "./model.ts";
import { noteOwner } from "./own-transactions.ts";
import { refuseRepeated } from "./solana/blockhash.ts";
import { enqueueFollowing as enqueueOnSolana } from "./solana/queue.ts";
import { signatureOf } from "./solana/unsponsored.ts";

/** For other capabilities that send transactions, and for sponsoring. */
export { AWAY_PAUSE_MS, pauseUntilFinal, unlessAway } from "./awaiting.ts";
export { batchError } from "./evm/batches.ts";
export { factsOfSeveral, plannedFacts } from "./evm/facts.ts";
export { planBatch, planCall, planExecution, type WantedCalls } from "./evm/plans.ts";
export { enqueueFollowing, isSettling } from "./evm/queue.ts";
export { withRollupFees } from "./evm/rollup-fees.ts";
export {
  digitsOf,
  feesOf,
  gasWithRoom,
  greatestCost,
  type Plan,
  Plan as SponsoredPlan,
  type PlannedCall,
  plannedFees,
  revertError,
  UNSENT,
  withinFeeCap,
} from "./evm/transaction.ts";
export { findOwnSends, type OwnSend } from "./own-transactions.ts";
export { listInTurn, planInTurn } from "./planning.ts";
export { chooseBlockhash } from "./solana/blockhash.ts";
export { additionsOf, planAdditions, requireSameRent, SponsoredPart } from "./solana/sponsored.ts";
export { solanaAddressOf, wantedBlockhash } from "./solana/unsponsored.ts";

/** Stores sent transactions. The jobs that follow a chain change their status; each change announces a webhook event in the same transaction. */

export interface SentTransaction {
  organizationId: string;
  id: string;
  activityId: string;
  caip2: string;
  status: SendStatus;
  /** Whether the installation pays for it. */
  isSponsored: boolean;
  /** The bytes that are sent to nodes. */
  signedTransaction: Uint8Array;
  /** The hash or signature that identifies it on chain. */
  transactionHash: string;
  error: TxError | undefined;
  /** What the following job stores between rounds. */
  progress: unknown;
  /** When it was last sent to a node; milliseconds. */
  sentAt: number | undefined;
  createdAt: number;
  /** Whether other transactions wait for its end. */
  isAwaited?: boolean;
}

export type NewSend = Pick<
  SentTransaction,
  "organizationId" | "id" | "activityId" | "caip2" | "signedTransaction" | "transactionHash"
> & {
  isSponsored?: boolean;
  /** Whether it benefits everybody and so does not count toward the organization's limit. */
  isShared?: boolean;
  /** The initial state of the following job. */
  progress?: object;
  now: number;
};

/**
 * Stores a transaction to send. The database transaction must hold the organization's scope, so that concurrent sends are counted one at a
 * time.
 *
 * @throws KeysteadError QUOTA_EXCEEDED
 */
export async function addSend(tx: Transactor, send: NewSend): Promise<void> {
  const { organizationId } = send;
  const { progress, isSponsored = false, isShared = false, ...row } = send;
  await insertSend(tx, {
    ...row,
    sponsored: isSponsored ? 1 : 0,
    progress: progress === undefined ? null : JSON.stringify(progress),
  });
  if (isShared) return;
  const open = await selectOpenIds(tx, { organizationId });
  refuseExcess(open.length, {
    kind: "transactions on their way",
    limit: MAX_OPEN_SENDS,
    remedy: "wait until one of them is in a block",
  });
}

/**
 * Queues a transaction that its account itself signs and pays for. The database transaction must hold the organization's scope, as for
 * `addSend`.
 *
 * @param progress the initial state of the following job, besides the account
 * @throws KeysteadError QUOTA_EXCEEDED
 */
export async function queueOwn(
  tx: Transactor,
  { caip2, from }: Pick<Plan, "caip2" | "from">,
  { progress, ...send }: Pick<NewSend, "organizationId" | "id" | "activityId" | "progress" | "now">,
): Promise<void> {
  // The transaction is signed later, when it gets its nonce.
  const unsigned = { signedTransaction: Buffer.alloc(0), transactionHash: "" };
  await addSend(tx, { ...send, ...unsigned, caip2, progress: { from, ...progress } });
  await enqueueFollowing(tx, { organizationId: send.organizationId, caip2, from }, send.now);
}

/** A Solana transaction of another capability. */
export interface SolanaSend {
  organization: { id: string; parentId: string | null };
  /** The id that `get_send_transaction_status` expects. */
  id: string;
  activityId: string;
  caip2: SolanaChain;
  /** Whether the installation pays for it; the caller must then count its cost. */
  isSponsored: boolean;
  now: number;
}

/**
 * Queues a signed one. The database transaction must hold the organization's scope, as for `addSend`.
 *
 * @param signed the wire transaction
 * @throws KeysteadError SEND_REPEATED if the organization has sent an identical one before; QUOTA_EXCEEDED
 */
export async function queueSigned(
  tx: Transactor,
  { organization, id, activityId, caip2, isSponsored, now }: SolanaSend,
  signed: Uint8Array,
): Promise<void> {
  const organizationId = organization.id;
  const transactionHash = signatureOf(signed);
  const isFirst = await noteOwner(tx, { organizationId, caip2, transactionHash, activityId, isSponsored });
  if (!isFirst) refuseRepeated(caip2, { isTransient: false });
  const send = { organizationId, id, activityId, caip2, isSponsored, now };
  await addSend(tx, { ...send, signedTransaction: signed, transactionHash });
  await enqueueOnSolana(tx, { organizationId, caip2 }, now);
}

/** Stores one that is neither signed nor sent, as FAILED with this error. */
export async function storeUnsent(
  tx: Transactor,
  { organization, id, activityId, caip2, isSponsored, now }: SolanaSend,
  error: TxError,
): Promise<void> {
  const organizationId = organization.id;
  const unsigned = { signedTransaction: Buffer.alloc(0), transactionHash: "" };
  await addSend(tx, { organizationId, id, activityId, caip2, isSponsored, ...unsigned, now });
  await moveSend(tx, organization, await requireSend(tx, organizationId, id), { to: "FAILED", error }, now);
}

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function requireSend(read: Reader, organizationId: string, id: string): Promise<SentTransaction> {
  const [row] = await selectSend(read, { organizationId, id });
  return row ? sendOf(row) : fail("RESOURCE_NOT_FOUND", { kind: "sent transaction", id, organizationId });
}

/** The organization's transactions on a chain that have not ended, the oldest first; those of one activity in their order. */
export async function findOpenSends(read: Reader, organizationId: string, caip2: string): Promise<SentTransaction[]> {
  const rows = await selectOpen(read, { organizationId, caip2 });
  // Sorted here, because with an ORDER BY SQLite would scan all transactions of the organization.
  return rows.map(sendOf).sort(byRequest);
}

/** The times at which those were created, for callers that need nothing else. */
export async function openTimes(
  read: Reader,
  organizationId: string,
  caip2: string,
): Promise<Pick<SentTransaction, "createdAt">[]> {
  const rows = await selectOpenTimes(read, { organizationId, caip2 });
  return rows.map(({ created_at: createdAt }) => ({ createdAt }));
}

/** Keeps the transactions of an activity together even if another has the same time, because later ones depend on the first. */
const byRequest = (a: SentTransaction, b: SentTransaction): number =>
  a.createdAt - b.createdAt || textOrder(a.activityId, b.activityId) || partOf(a) - partOf(b) || textOrder(a.id, b.id);
const textOrder = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const partOf = ({ progress }: SentTransaction): number => (progress as { part?: number } | undefined)?.part ?? 0;

/**
 * The hash of a transaction, if it may be shown. On Solana it is the payer's signature. The sponsor's signature stays secret until the
 * transaction is first sent to a node. Otherwise the sender, who has the message and can sign it too, could have it executed at the sponsor's
 * cost after it has failed and was counted as free.
 */
export function toldHash({ caip2, isSponsored, status, sentAt, transactionHash }: SentTransaction): string | undefined {
  const isKept = isSponsored && caip2.startsWith("solana:") && status !== "INCLUDED" && sentAt === undefined;
  return isKept || transactionHash === "" ? undefined : transactionHash;
}

/** A change of a transaction's status. */
export type Move =
  | ({ to: "BROADCASTING"; progress: object } & Partial<SignedAs>)
  | { to: "INCLUDED"; error?: TxError; transactionHash?: string }
  | { to: "FAILED"; error: TxError };

/** The signed form of a transaction, which changes when it gets another fee or nonce. */
export type SignedAs = Pick<SentTransaction, "signedTransaction" | "transactionHash">;

/**
 * Changes a transaction's status and announces that to webhooks. If another process has changed, signed or sent the transaction since it was
 * read, nothing is changed or announced. Resolves to whether this call changed it.
 */
export async function moveSend(
  tx: Transactor,
  organization: { id: string; parentId: string | null },
  send: SentTransaction,
  move: Move,
  now: number,
): Promise<boolean> {
  const signedAs = { ...send, ...move };
  const error = "error" in move ? (move.error ?? null) : null;
  const moved = await updateStatus(tx, {
    ...readAs(send),
    from: send.status,
    to: move.to,
    error: error === null ? null : JSON.stringify(error),
    progress: JSON.stringify("progress" in move ? move.progress : (send.progress ?? null)),
    signedTransaction: signedAs.signedTransaction,
    transactionHash: signedAs.transactionHash,
    sentAt: move.to === "BROADCASTING" ? now : (send.sentAt ?? null),
    now,
  });
  if (moved.length === 0) return false;
  if (move.to === "BROADCASTING" && move.transactionHash !== undefined) await noteOwnerOf(tx, signedAs);
  await announceMove(tx, organization, signedAs, move.to, error, now);
  return true;
}

/**
 * Replaces the bytes of a transaction that is in flight, or removes them. No webhook event is announced. Resolves to false if another process
 * has replaced or sent the bytes since they were read.
 */
export async function replaceSigned(
  tx: Transactor,
  send: SentTransaction,
  { signedTransaction, transactionHash, progress }: SignedAs & { progress: object },
  now: number,
): Promise<boolean> {
  const replaced = await updateSigned(tx, {
    ...readAs(send),
    signedTransaction,
    transactionHash,
    progress: JSON.stringify(progress),
    now,
  });
  if (replaced.length === 0) return false;
  if (transactionHash !== "") await noteOwnerOf(tx, { ...send, transactionHash });
  return true;
}

/** Recorded for each hash that a transaction gets, so that the account's history shows it as sent by the organization. */
export const noteOwnerOf = (tx: Transactor, send: SentTransaction): Promise<boolean> => {
  const { organizationId, caip2, transactionHash, activityId, isSponsored } = send;
  return noteOwner(tx, { organizationId, caip2, transactionHash, activityId, isSponsored });
};

async function announceMove(
  tx: Transactor,
  organization: { id: string; parentId: string | null },
  { id, activityId, caip2, transactionHash }: SentTransaction,
  status: SendStatus,
  error: TxError | null,
  now: number,
): Promise<void> {
  const msg = {
    sendTransactionStatusId: id,
    activityId,
    status,
    caip2,
    idempotencyKey: createHash("sha256").update(`${id}:${status}`).digest("hex"),
    timestamp: Math.floor(now / 1000),
    ...(status === "INCLUDED" ? { txHash: transactionHash } : {}),
    ...(error === null ? {} : { error }),
  };
  const eventType = "SEND_TRANSACTION_STATUS_UPDATES";
  await announceEvent(tx, { eventType, organization, type: "transaction:status", facts: { status, caip2 }, msg, now });
}

/**
 * Records that a transaction was given to nodes, and the state of the following job. Resolves to the recorded time; undefined if another
 * process has changed, signed or sent the transaction since it was read.
 */
export async function noteGiven(
  tx: Transactor,
  send: SentTransaction,
  progress: object,
  now: number,
): Promise<number | undefined> {
  // Always later than the previous time, so that `isAsRead` can tell the two records apart.
  const sentAt = Math.max(now, (send.sentAt ?? 0) + 1);
  const noted = await updateSent(tx, { ...readAs(send), progress: JSON.stringify(progress), sentAt, now });
  return noted.length > 0 ? sentAt : undefined;
}

/** Corrects the hash and error of an INCLUDED transaction, which may differ after a reorganization. */
export async function correctIncluded(
  tx: Transactor,
  send: SentTransaction,
  { transactionHash, error }: { transactionHash: string; error: TxError | undefined },
  now: number,
): Promise<void> {
  await updateIncluded(tx, {
    ...readAs(send),
    transactionHash,
    error: error === undefined ? null : JSON.stringify(error),
    now,
  });
}

/** The values of a row as they were read. Changes apply only while the row still has them. */
const readAs = ({ organizationId, id, transactionHash, sentAt }: SentTransaction): ReadAs => ({
  organizationId,
  id,
  hashBefore: transactionHash,
  sentBefore: sentAt ?? null,
});

interface ReadAs extends Record<string, unknown> {
  organizationId: string;
  id: string;
  hashBefore: string;
  sentBefore: number | null;
}

type SendRow = Awaited<ReturnType<typeof selectSend>>[number];

export const sendOf = (row: SendRow): SentTransaction => ({
  organizationId: row.organization_id,
  id: row.id,
  activityId: row.activity_id,
  caip2: row.caip2,
  status: row.status,
  isSponsored: row.sponsored === 1,
  signedTransaction: row.signed_transaction,
  transactionHash: row.transaction_hash,
  error: row.error === null ? undefined : (JSON.parse(row.error) as TxError),
  progress: row.progress === null ? undefined : JSON.parse(row.progress),
  sentAt: row.sent_at ?? undefined,
  createdAt: row.created_at,
});

const selectSend = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db.selectFrom("send_transactions").selectAll().where("organization_id", "=", organizationId).where("id", "=", id),
);

const selectOpen = prepared<{ organizationId: string; caip2: string }>()((db, { organizationId, caip2 }) =>
  db
    .selectFrom("send_transactions")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("status", "in", openStatuses)
    .where("caip2", "=", caip2)
    .limit(MAX_OPEN_SENDS),
);

const selectOpenTimes = prepared<{ organizationId: string; caip2: string }>()((db, { organizationId, caip2 }) =>
  db
    .selectFrom("send_transactions")
    .select("created_at")
    .where("organization_id", "=", organizationId)
    .where("status", "in", openStatuses)
    .where("caip2", "=", caip2)
    .limit(MAX_OPEN_SENDS),
);

const selectOpenIds = prepared<{ organizationId: string }>()((db, { organizationId }) =>
  db
    .selectFrom("send_transactions")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("status", "in", openStatuses)
    .limit(MAX_OPEN_SENDS + 1),
);

const insertSend = preparedWrite<
  Omit<NewSend, "progress" | "isSponsored" | "isShared"> & { sponsored: number; progress: string | null }
>()((db, row) =>
  db
    .insertInto("send_transactions")
    .values({
      organization_id: row.organizationId,
      id: row.id,
      activity_id: row.activityId,
      caip2: row.caip2,
      status: "INITIALIZED",
      signed_transaction: row.signedTransaction,
      transaction_hash: row.transactionHash,
      sponsored: row.sponsored,
      error: null,
      progress: row.progress,
      sent_at: null,
      created_at: row.now,
      updated_at: row.now,
    })
    .returning("id"),
);

/** Matches the row only while it is unchanged since it was read. */
const isAsRead = (row: ReadAs, status: SendStatus) => (is: ExpressionBuilder<Schema, "send_transactions">) =>
  is.and([
    is("organization_id", "=", row.organizationId),
    is("id", "=", row.id),
    is("status", "=", status),
    is("transaction_hash", "=", row.hashBefore),
    is("sent_at", "is not distinct from", row.sentBefore),
  ]);

const updateStatus = preparedWrite<
  ReadAs & {
    from: SendStatus;
    to: SendStatus;
    error: string | null;
    progress: string;
    signedTransaction: Uint8Array;
    transactionHash: string;
    sentAt: number | null;
    now: number;
  }
>()((db, row) =>
  db
    .updateTable("send_transactions")
    .set({
      status: row.to,
      error: row.error,
      progress: row.progress,
      signed_transaction: row.signedTransaction,
      transaction_hash: row.transactionHash,
      sent_at: row.sentAt,
      updated_at: row.now,
    })
    .where(isAsRead(row, row.from))
    .returning("id"),
);

const updateSigned = preparedWrite<
  ReadAs & { signedTransaction: Uint8Array; transactionHash: string; progress: string; now: number }
>()((db, row) =>
  db
    .updateTable("send_transactions")
    .set({
      signed_transaction: row.signedTransaction,
      transaction_hash: row.transactionHash,
      progress: row.progress,
      updated_at: row.now,
    })
    .where(isAsRead(row, "BROADCASTING"))
    .returning("id"),
);

const updateSent = preparedWrite<ReadAs & { progress: string; sentAt: number; now: number }>()((db, row) =>
  db
    .updateTable("send_transactions")
    .set({ progress: row.progress, sent_at: row.sentAt, updated_at: row.now })
    .where(isAsRead(row, "BROADCASTING"))
    .returning("id"),
);

const updateIncluded = preparedWrite<ReadAs & { transactionHash: string; error: string | null; now: number }>()(
  (db, row) =>
    db
      .updateTable("send_transactions")
      .set({ transaction_hash: row.transactionHash, error: row.error, updated_at: row.now })
      .where(isAsRead(row, "INCLUDED"))
      .returning("id"),
);
