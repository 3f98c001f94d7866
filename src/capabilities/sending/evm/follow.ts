import { Type } from "typebox";
import { GAS_STATION, GAS_STATION_ADDRESS, nonceInSponsorData } from "../../../chains/evm/gas-station.ts";
import { type EvmChain, evmChains } from "../../../chains/evm/networks.ts";
import { parseSignedTransaction } from "../../../chains/evm/signed-transaction.ts";
import { OneOf } from "../../../engine/fields.ts";
import { type JobContext, job } from "../../../engine/jobs/jobs.ts";
import { findRestoredSince } from "../../../engine/restored.ts";
import { MINUTE_MS } from "../../../kernel/durations.ts";
import { fail, KeysteadError } from "../../../kernel/errors.ts";
import { newId } from "../../../kernel/ids.ts";
import { MAX_BROADCAST_REFUSALS, MAX_STRANGERS_WAITING, SETTLED_BLOCKS } from "../../../kernel/limits.ts";
import { broadcast } from "../../../nodes/evm-broadcast.ts";
import {
  feeQuote,
  type MinedTransaction,
  newestBlock,
  type Receipt,
  receiptOf,
  recentBlock,
  transactionCount,
  transactionWithNonce,
} from "../../../nodes/evm-calls.ts";
import { SignerRefused } from "../../../signer/client.ts";
import { INSTALLATION } from "../../../signer/protocol.ts";
import type { Reader } from "../../../storage/engine.ts";
import {
  correctCost,
  endSponsored,
  evmSponsor,
  findOpenSponsored,
  lastSponsored,
  planDeployment,
  planSponsored,
  putOff,
  putOffBehindOthers,
  raiseCost,
  sponsorSend,
} from "../../sponsoring/store.ts";
import { followOnce, pauseFor, severalAtATime } from "../following.ts";
import type { TxError } from "../model.ts";
import {
  findOpenSends,
  type Move,
  moveSend,
  noteGiven,
  noteOwnerOf,
  replaceSigned,
  requireSend,
  type SentTransaction,
  type SignedAs,
} from "../store.ts";
import {
  type AlsoTaken,
  authorizedNonces,
  type Nonces,
  noteExecuted,
  type StillNow,
  turnToExecute,
  turnToSend,
} from "./execution.ts";
import { BLOCKS_BEFORE, unlessAway } from "./lost-nonce.ts";
import { minedFailure, paidFor } from "./mined.ts";
import { freeNonces, hasGap, nextNonce, strangersBetween, takeNonce, takenNonces } from "./nonces.ts";
import { enqueueFollowing, enqueueSettling, FOLLOW_EVM_SENDS, type Followed, laneOf } from "./queue.ts";
import { withRollupFees } from "./rollup-fees.ts";
import { decidedOn, organizationOf, signAgain, signDecided } from "./sign.ts";
import {
  digitsOf,
  type Fees,
  feesOf,
  feesWithin,
  greatestCost,
  type Plan,
  plannedFees,
  raisedFees,
  requireRollupFeesWithinCap,
} from "./transaction.ts";

/**
 * Follows the transactions of one account from their commit to their end: it assigns each a nonce, has it signed, stores it, sends it, and
 * replaces it with a higher fee if it is stuck. Everything is stored before it is sent to a node. A transaction gets its nonce only once nodes
 * have the one before, so that a failed one leaves no gap.
 *
 * A transaction gets another nonce only if no block can include it with its current one. Either another transaction with that nonce was found in
 * a block; or nodes have always rejected it, a later block used the nonce, and no node knows the transaction in any block since.
 *
 * After a restore, the database does not know what was signed after its backup. A transaction from before is therefore sent with the nonce that it
 * has, which the chain takes only once, but gets no nonce: it may have been sent with one already.
 */

/** The shortest pause between two rounds, ... */
const SHORTEST_PAUSE_MS = 50;
/** ... and the longest while a transaction waits for its turn. */
const TURN_PAUSE_MS = 300;
/** A transaction that is in no block is sent to a node again after this long ... */
const RESEND_MS = 3000;
/** ... but at most this many per round, the lowest nonces first, because the others wait for those. */
const RESENT_AT_ONCE = 16;
/** A transaction whose nonce is next is stuck after this long ... */
const STUCK_MS = 15_000;
/** ... or after this many blocks. */
const STUCK_BLOCKS = 3;
/** How many transactions are signed in one round, so that earlier ones are checked in between. */
const SIGNED_AT_ONCE = 16;
/** How many sponsored transactions may be found not ready in one round. They are then put off, and the next round starts with others. */
const PUT_OFF_AT_ONCE = 16;
const REFUSED_PAUSE_MS = 1000;
const FIRST_SETTLING_MS = 5000;
/** How long nodes are asked which transaction used a nonce, before a transaction from before a restore ends without knowing. */
const UNKNOWN_VERSION_MS = 10 * MINUTE_MS;
/** The error of a transaction of which a restored database does not know whether it was sent. */
const SENT_BEFORE_RESTORE =
  "this transaction was accepted before the service was restored from a backup, and may have been sent before the restore; look for it on the chain, and submit it again only if it is not there";

const Payload = Type.Object({ organizationId: Type.String(), caip2: OneOf(evmChains), from: Type.String() });
type Context = JobContext<
  { organizationId: string; caip2: EvmChain; from: string },
  "evm" | "assets",
  "sign" | "signSponsorTransaction"
>;

/** What is stored about a transaction between rounds. */
export interface Progress {
  from: string;
  /** The account whose calls `from` pays for, if the transaction is sponsored. */
  account?: string;
  /** The index of the transaction in its activity, if that has several ... */
  part?: number;
  /** ... and the id of the one before it. If that fails without being sent, this one is not sent either. */
  after?: string;
  /** Present once it is signed. */
  signed?: Signed;
}

export interface Signed {
  nonce: number;
  /** The nonces that the account's signatures inside it use. */
  alsoTaken?: AlsoTaken[];
  /** The fees of the current bytes, in digits. */
  fees: Plan["fees"];
  /** The hashes of its versions with lower fees, which a block may still include. */
  olderHashes: string[];
  /** When its nonce became the next one, with the current bytes: in milliseconds, and the newest block then. */
  turn?: { at: number; block: number };
  /** The newest block at which the nonce was known to be free. */
  takenAtBlock: number;
  /** When it got this nonce; milliseconds. Absent in rows of earlier versions. */
  signedAt?: number;
  /** Whether a node may have it. Set before it is first sent; a clear rejection resets it. */
  mayBeOut: boolean;
  /** The number of rejections while no node has ever had it, and the last error. */
  refusals: number;
  refusal?: string;
}

export const followEvmSends = job({
  name: FOLLOW_EVM_SENDS,
  payload: Payload,
  needs: ["evm", "assets"],
  asks: ["sign", "signSponsorTransaction"],
  maxAttempts: Number.POSITIVE_INFINITY,
  run: (context) =>
    followOnce({
      context,
      lane: laneOf(context.payload),
      look: () => look(context),
      openOf: (read) => openOf(read, context.payload),
      // The time that it waited for its turn does not count, because nothing was sent before.
      since: (one) => signedOf(one)?.signedAt ?? one.createdAt,
      pauseAfter,
      enqueue: (tx, now) => enqueueFollowing(tx, context.payload, now),
    }),
});

function pauseAfter(left: readonly SentTransaction[], youngestMs: number): number {
  if (left.some((one) => (signedOf(one)?.refusals ?? 0) > 0)) return REFUSED_PAUSE_MS;
  const usual = pauseFor(youngestMs, SHORTEST_PAUSE_MS);
  const isTurnAwaited = left.some((one) => signedOf(one) === undefined || one.isAwaited === true);
  return isTurnAwaited ? Math.min(usual, TURN_PAUSE_MS) : usual;
}

const openOf = async (read: Reader, { organizationId, caip2, from }: Followed) =>
  organizationId === INSTALLATION
    ? findOpenSponsored(read, caip2, from)
    : (await findOpenSends(read, organizationId, caip2)).filter((one) => (one.progress as Progress).from === from);

const signedOf = ({ progress }: SentTransaction): Signed | undefined => (progress as Progress).signed;
const progressOf = ({ progress }: SentTransaction, signed?: Signed): Progress => {
  const { signed: _, ...kept } = progress as Progress;
  return { ...kept, ...(signed ? { signed } : {}) };
};
const requireSigned = (one: SentTransaction): Signed => signedOf(one) as Signed;

type Follower = Context & { read: Reader };

/** The account's state on chain at the start of a round. */
interface Account {
  newest: number;
  /** The number of its transactions in blocks, which is its next nonce. */
  count: number;
}

async function look(context: Context): Promise<boolean> {
  const { payload, database, evm } = context;
  const { caip2, from } = payload;
  const open = await openOf(database.read, payload);
  if (open.length === 0) return false;
  const follower: Follower = { ...context, read: database.read };
  const unsigned = begunFirst(open.filter((one) => signedOf(one) === undefined));
  const [newest, counts] = await Promise.all([
    recentBlock(evm, caip2),
    unsigned.length > 0 ? countsOf(follower) : transactionCount(evm, caip2, from, "latest"),
  ]);
  const account = { newest, count: typeof counts === "number" ? counts : counts.count };
  const signed = open.filter((one) => signedOf(one) !== undefined);
  signed.sort((one, other) => requireSigned(one).nonce - requireSigned(other).nonce);
  const waiting = await settleAll(follower, signed, account);
  const inSight = await keepInSight(follower, waiting, account);
  // First the transactions that nodes may not have: nothing gets a later nonce before those are sent.
  for (const [place, one] of inSight.entries()) {
    if (place >= RESENT_AT_ONCE && requireSigned(one).mayBeOut) continue;
    if ((await pushOn(follower, one, account)) !== "taken in") return false;
  }
  if (typeof counts === "number") return false;
  return signAll(follower, unsigned, { ...counts, newest, busy: new Set(waiting.map(accountOf)) });
}

/**
 * Puts the rest of an activity whose first transactions are signed before all others. One with an earlier time may be stored only now, and its
 * approval would replace the one that the rest relies on. Sponsored transactions keep their order, because none of them has an `after`.
 */
function begunFirst(unsigned: readonly SentTransaction[]): SentTransaction[] {
  const ids = new Set(unsigned.map(({ id }) => id));
  const begun = new Set<string>();
  for (const { progress, activityId } of unsigned) {
    const { after } = progress as Progress;
    if (after !== undefined && !ids.has(after)) begun.add(activityId);
  }
  const rank = ({ activityId }: SentTransaction): number => (begun.has(activityId) ? 0 : 1);
  return unsigned.toSorted((one, other) => rank(one) - rank(other));
}

/** How many transactions an account has, as nodes report it. */
interface Counts {
  /** In blocks; `pending` includes those that wait for a block. */
  count: number;
  pending: number;
  /** How many of the waiting ones this installation did not send. */
  strangers: number;
}

/**
 * If nodes report unknown transactions, asks again and uses the lower answer: a nonce that is too high would never be corrected, and nodes
 * reject one that is too low.
 */
async function countsOf({ evm, payload, read }: Follower): Promise<Counts> {
  const { caip2, from } = payload;
  const taken = await takenNonces(read, payload);
  const ask = async (): Promise<Counts> => {
    const [latest, waiting] = (await Promise.all(
      (["latest", "pending"] as const).map((at) => transactionCount(evm, caip2, from, at)),
    )) as [number, number];
    // A block may have come between the two answers.
    const [count, pending] = [Math.min(latest, waiting), Math.max(latest, waiting)];
    return { count, pending, strangers: strangersBetween(count, pending, taken) };
  };
  const counts = await ask();
  if (counts.strangers === 0) return counts;
  const again = await ask();
  const isLess = again.pending === counts.pending ? again.strangers < counts.strangers : again.pending < counts.pending;
  return isLess ? again : counts;
}

/** @throws KeysteadError CHAIN_UNAVAILABLE if a transaction with the next nonce would probably never get into a block */
function requireLikely(chain: EvmChain, strangers: number): void {
  if (strangers <= MAX_STRANGERS_WAITING) return;
  const reason = `a node says that ${strangers} transactions from elsewhere are waiting before the next one; more than ${MAX_STRANGERS_WAITING} are not believed`;
  fail("CHAIN_UNAVAILABLE", { chain, reason });
}

/** Settles those whose nonce a block has used; resolves to the others, in their order. */
async function settleAll(
  follower: Follower,
  signed: readonly SentTransaction[],
  account: Account,
): Promise<SentTransaction[]> {
  const ended = new Set<SentTransaction>();
  const problems: unknown[] = [];
  const passed = signed.filter((one) => requireSigned(one).nonce < account.count);
  await severalAtATime(problems, passed, async (one) => {
    if (await settlePassed(follower, one, account)) ended.add(one);
  });
  const [problem] = problems;
  if (problem !== undefined) throw problem;
  return signed.filter((one) => !ended.has(one));
}

/**
 * Updates `takenAtBlock` of transactions whose nonce is still free at the newest block. If another transaction takes the nonce, the search for
 * it starts there, and most nodes do not have the state of accounts at old blocks.
 */
async function keepInSight(
  follower: Follower,
  waiting: readonly SentTransaction[],
  { newest, count }: Account,
): Promise<readonly SentTransaction[]> {
  const { evm, payload } = follower;
  const isDue = ({ nonce, takenAtBlock }: Signed) => nonce >= count && newest - takenAtBlock >= BLOCKS_BEFORE;
  if (!waiting.some((one) => isDue(requireSigned(one)))) return waiting;
  // Read the count at exactly that block, because the account's count may come from a node that is behind.
  const countThere = await transactionCount(evm, payload.caip2, payload.from, newest).catch(unlessAway);
  const kept: SentTransaction[] = [];
  for (const one of waiting) {
    const signed = requireSigned(one);
    const isFree = countThere !== undefined && signed.nonce >= countThere;
    kept.push(isFree && isDue(signed) ? await remember(follower, one, { ...signed, takenAtBlock: newest }) : one);
  }
  return kept;
}

/** Handles a transaction whose nonce a block has used: ends it, or takes the nonce from it. Resolves to whether it did either. */
async function settlePassed(follower: Follower, one: SentTransaction, { newest }: Account): Promise<boolean> {
  const { evm, payload, read } = follower;
  const { caip2, from } = payload;
  const { olderHashes, nonce, takenAtBlock, mayBeOut } = requireSigned(one);
  const hashes = [one.transactionHash, ...olderHashes];
  for (const hash of hashes) {
    const receipt = await receiptOf(evm, caip2, hash);
    if (!receipt) continue;
    const error = receipt.isSuccess ? undefined : await minedFailure(read, evm, one, receipt.blockNumber);
    await endAs(follower, one, { to: "INCLUDED", transactionHash: hash, ...(error ? { error } : {}) }, { receipt });
    const account = accountOf(one);
    if (account !== undefined && !error) {
      const { transaction } = parseSignedTransaction(one.signedTransaction, "signedTransaction");
      noteExecuted(evm, { caip2, account }, nonceInSponsorData(transaction.data), follower.clock());
    }
    return true;
  }
  const range = { from: Math.max(0, takenAtBlock - BLOCKS_BEFORE), to: newest };
  const other = await transactionWithNonce(evm, caip2, { address: from, nonce }, range).catch(unlessAway);
  if (other && hashes.includes(other.hash)) return false;
  const restoredAt = await restoredAfter(read, one);
  if (restoredAt !== undefined) return settleUnknown(follower, one, { other, newest, restoredAt });
  // If a node may have ours, require a proof that no reorganization can undo, because that could free the nonce again.
  if (mayBeOut && (!other || newest - other.blockNumber < SETTLED_BLOCKS)) return false;
  // One URL often has several nodes behind it: a transaction that one rejected and does not know may be in that block through another.
  if (!mayBeOut && !other && newest - takenAtBlock < SETTLED_BLOCKS) return false;
  const taker = other ? `another transaction of the account, ${other.hash}, took` : "the account has used";
  await loseNonce(follower, one, `${taker} the nonce ${nonce}`);
  return true;
}

interface Taken {
  /** The transaction that used the nonce; undefined if no node tells, be it for the moment or because it lacks the old states. */
  other: MinedTransaction | undefined;
  newest: number;
  restoredAt: number;
}

/**
 * Handles a transaction from before a restore whose nonce another has used: the version of it with another fee that the restored database does
 * not know, or a different one. It gets no other nonce, because it may have had one already.
 */
async function settleUnknown(
  follower: Follower,
  one: SentTransaction,
  { other, newest, restoredAt }: Taken,
): Promise<boolean> {
  const { evm, payload, clock } = follower;
  const { caip2, from } = payload;
  if (other && isSameCall(one, other)) {
    await adopt(follower, one, other.hash);
    return false;
  }
  if (!other && clock() - restoredAt < UNKNOWN_VERSION_MS) return false;
  const { nonce } = requireSigned(one);
  const count = await transactionCount(evm, caip2, from, Math.max(0, newest - SETTLED_BLOCKS)).catch(unlessAway);
  if (count === undefined || count <= nonce) return false;
  const taker = other ? `transaction ${other.hash}` : "a transaction that no node shows";
  const message = `${SENT_BEFORE_RESTORE}. Its nonce ${nonce} of ${from} was used by ${taker}`;
  // It is looked for further: a node that is behind may have shown no receipt.
  await endAs(follower, one, { to: "FAILED", error: { message } }, { isLookedFor: true });
  return true;
}

/** Whether two transactions have the same recipient, value and data. */
function isSameCall({ signedTransaction }: SentTransaction, { to, value, data }: MinedTransaction): boolean {
  const { transaction } = parseSignedTransaction(signedTransaction, "signedTransaction");
  return to === transaction.to?.toLowerCase() && value === transaction.value && data === transaction.data.toLowerCase();
}

/** When the database was restored, in milliseconds, if it has lost whether the transaction was signed or sent since its backup. */
async function restoredAfter(read: Reader, { createdAt }: SentTransaction): Promise<number | undefined> {
  const restoredAt = await findRestoredSince(read);
  return restoredAt !== undefined && createdAt < restoredAt ? restoredAt : undefined;
}

/** Adds a version of a transaction that was signed with a higher fee, of which a restored database does not know. */
async function adopt({ payload, database, clock }: Follower, one: SentTransaction, transactionHash: string) {
  const signed = requireSigned(one);
  const progress = progressOf(one, { ...signed, olderHashes: [transactionHash, ...signed.olderHashes] });
  await database.transact(laneOf(payload), async (tx) => {
    if (await noteGiven(tx, one, progress, clock())) await noteOwnerOf(tx, { ...one, transactionHash });
  });
}

/** Releases the nonce of a transaction that no block can include, so that it gets another; ends it if the caller named the nonce. */
async function loseNonce(follower: Follower, one: SentTransaction, reason: string): Promise<void> {
  const { payload, database, clock } = follower;
  const { plan } = await decidedOn(follower.read, one);
  if (plan.nonce !== undefined) {
    await endAs(follower, one, { to: "FAILED", error: { message: `no block has the transaction: ${reason}` } });
    return;
  }
  const progress = progressOf(one);
  await database.transact(laneOf(payload), async (tx) => {
    const unsigned = { signedTransaction: Buffer.alloc(0), transactionHash: "", progress };
    if (await replaceSigned(tx, one, unsigned, clock())) await freeNonces(tx, payload, one);
  });
}

interface Ending {
  receipt?: Receipt;
  /** Whether nodes rejected it. */
  isRefused?: boolean;
  /** Whether blocks are searched for it for another while. */
  isLookedFor?: boolean;
}

/**
 * Ends a transaction and releases its nonce; one in a block keeps the nonce until the block can no longer be reorganized. For a sponsored
 * transaction, the actual cost replaces the greatest possible cost, unless the receipt does not contain it.
 */
async function endAs(
  follower: Follower,
  one: SentTransaction,
  move: Move,
  { receipt, isRefused = false, isLookedFor = isRefused }: Ending = {},
): Promise<void> {
  const { payload, database, clock } = follower;
  const now = clock();
  const organization = await organizationOf(follower.read, one);
  await database.transact(laneOf(payload), async (tx) => {
    if (!(await moveSend(tx, organization, one, move, now))) return;
    if (one.isSponsored) await endSponsored(tx, { ...one, now });
    // It delayed everybody for a while, and nodes may also reject other transactions of its organization.
    if (one.isSponsored && isRefused) await putOffBehindOthers(tx, { ...payload, organization, now });
    const paid = receipt ? paidFor(one, receipt) : 0n;
    if (one.isSponsored && paid !== undefined) await correctCost(tx, one, paid);
    if (move.to === "INCLUDED" || isLookedFor) await enqueueSettling(tx, one, now + FIRST_SETTLING_MS, now);
    if (move.to !== "INCLUDED") await freeNonces(tx, payload, one);
  });
}

/** The result of sending a transaction: nodes have it, they rejected it for now, or it has ended or lost its nonce. */
type Given = "taken in" | "refused" | "settled";

/** Sends a transaction to the nodes again if that is due, with a higher fee if it is stuck. */
async function pushOn(follower: Follower, one: SentTransaction, { newest, count }: Account): Promise<Given> {
  const { clock } = follower;
  const { nonce, turn, mayBeOut } = requireSigned(one);
  if (mayBeOut && nonce === count) {
    if (!turn) {
      const begun = { ...requireSigned(one), turn: { at: clock(), block: newest } };
      await remember(follower, one, begun);
      return "taken in";
    }
    if (clock() - turn.at >= STUCK_MS || newest - turn.block >= STUCK_BLOCKS) {
      const raised = await raise(follower, one);
      if (raised) return give(follower, raised);
    }
  }
  if (mayBeOut && clock() - (one.sentAt ?? 0) < RESEND_MS) return "taken in";
  // If its fee is below the base fee, nodes would reject it again, so raise it first.
  const raised = !mayBeOut && (await feeTooLow(follower, one)) !== undefined ? await raise(follower, one) : undefined;
  return give(follower, raised ?? one);
}

/** The base fee, in wei, if a transaction offers less; undefined if it offers enough. */
async function feeTooLow({ evm, payload }: Follower, one: SentTransaction): Promise<bigint | undefined> {
  const { baseFee } = await feeQuote(evm, payload.caip2);
  return baseFee > feesOf(requireSigned(one).fees).maxFeePerGas ? baseFee : undefined;
}

/** Signs and stores the transaction with a higher fee; undefined if the limits do not allow it or another process changed it first. */
async function raise(follower: Follower, one: SentTransaction): Promise<SentTransaction | undefined> {
  const { payload, database, evm, read, clock } = follower;
  const decided = await decidedOn(read, one);
  const { turn: _, ...signed } = requireSigned(one);
  const quote = await feeQuote(evm, payload.caip2);
  const plan = one.isSponsored ? await withRollupFees(evm, decided.plan) : decided.plan;
  const highest = one.isSponsored
    ? sponsorsWithin(follower, plan, plannedFees({}, quote).highest)
    : feesOf(plan.highest);
  const fees = raisedFees(feesOf(signed.fees), quote, highest);
  if (!fees) return undefined;
  const signedAs = await signAgain(follower, decided, one, fees).catch(unlessLasting);
  if (!signedAs) return undefined;
  const now = clock();
  const progress = progressOf(one, {
    ...signed,
    fees: digitsOf(fees),
    olderHashes: [one.transactionHash, ...signed.olderHashes],
  });
  const isOurs = await database.transact(laneOf(payload), async (tx) => {
    // If it has ended in the meantime, store nothing more: its activity may be archived already.
    if (!(await replaceSigned(tx, one, { ...signedAs, progress }, now))) return false;
    if (one.isSponsored) await raiseCost(tx, one, greatestCost(plan, fees));
    return true;
  });
  return isOurs ? { ...one, ...signedAs, progress } : undefined;
}

/** If signing fails permanently, for example because the key was deleted, the transaction stays as it is. */
function unlessLasting(error: unknown): undefined {
  if (!(error instanceof KeysteadError) || error.isTransient) throw error;
}

/**
 * Stores the new state of a transaction after sending it.
 *
 * @throws Error if another process has changed it, so that the state here is outdated
 */
async function remember(follower: Follower, one: SentTransaction, signed: Signed): Promise<SentTransaction> {
  const { payload, database, clock } = follower;
  const progress = progressOf(one, signed);
  const sentAt = await database.transact(laneOf(payload), (tx) => noteGiven(tx, one, progress, clock()));
  if (sentAt === undefined) throw new Error(`the transaction ${one.id} was changed meanwhile`);
  return { ...one, progress, sentAt };
}

/**
 * Sends a signed transaction to the nodes, and stores the result.
 *
 * @param isNew whether it was only just stored, so that no node can have it yet
 */
async function give(follower: Follower, given: SentTransaction, { isNew = false } = {}): Promise<Given> {
  const { evm, payload, clock } = follower;
  const { refusal: _, ...signed } = requireSigned(given);
  const neverOut = isNew || !signed.mayBeOut;
  // Store this before sending, so that after a crash nobody assumes that it was rejected.
  const one = signed.mayBeOut ? given : await remember(follower, given, { ...signed, mayBeOut: true });
  const { transactionHash } = one;
  const signedTransaction = `0x${Buffer.from(one.signedTransaction).toString("hex")}`;
  const outcome = await broadcast(evm, payload.caip2, { signedTransaction, transactionHash }, { isNew });
  if (outcome.isKnown || outcome.isInDoubt || !neverOut) {
    // It was stored in this state already.
    if (isNew && clock() - (one.sentAt ?? 0) < RESEND_MS) return "taken in";
    // A transaction that was sent before stays possibly out even if a node rejects it now, because another may have it.
    await remember(follower, one, { ...signed, mayBeOut: true, refusals: 0 });
    return "taken in";
  }
  const refused = { ...signed, mayBeOut: false, refusals: signed.refusals + 1, refusal: outcome.reason };
  return settleRefused(follower, await remember(follower, one, refused));
}

/** Handles a rejected transaction: it gets another nonce if another transaction has used its own, and ends after several rejections. */
async function settleRefused(follower: Follower, one: SentTransaction): Promise<Given> {
  const { evm, payload, read } = follower;
  const { caip2, from } = payload;
  const { nonce, refusals, refusal = "" } = requireSigned(one);
  const count = await transactionCount(evm, caip2, from, "latest");
  if (count > nonce) {
    const newest = await newestBlock(evm, caip2);
    return (await settlePassed(follower, one, { newest, count })) ? "settled" : "refused";
  }
  const { plan } = await decidedOn(read, one);
  // A transaction with its nonce is waiting. It may be this one, at another node behind the same URL. If it comes from elsewhere, nothing with
  // a later nonce could be included before it either. The block that includes it will show which one it is.
  if (plan.nonce === undefined && (await transactionCount(evm, caip2, from, "pending")) > nonce) return "refused";
  if (refusals < MAX_BROADCAST_REFUSALS) return "refused";
  const message = `the nodes of ${caip2} rejected the transaction: ${refusal}${await adviceOnFees(follower, one)}`;
  await endAs(follower, one, { to: "FAILED", error: { message } }, { isRefused: true });
  return "settled";
}

/** Advice to append to an error if the fees are too low and cannot be raised enough; empty if they are high enough. */
async function adviceOnFees(follower: Follower, one: SentTransaction): Promise<string> {
  const baseFee = await feeTooLow(follower, one);
  if (baseFee === undefined) return "";
  const remedy = one.isSponsored
    ? "submit it again when fees are lower"
    : "submit it again, with a higher `maxFeePerGas` if the request names one";
  const { maxFeePerGas } = requireSigned(one).fees;
  return `; a unit of gas costs ${baseFee} wei now, but the transaction offers at most ${maxFeePerGas}; ${remedy}`;
}

const accountOf = ({ progress }: SentTransaction): string | undefined => (progress as Progress).account;

type Situation = Account &
  Counts & {
    /** Accounts with sponsored calls in flight; their next calls wait. */
    busy: Set<string | undefined>;
  };

/**
 * Assigns nonces, signs, and sends transactions, in the order of the requests. Resolves to whether there are more than one round may sign.
 */
async function signAll(follower: Follower, unsigned: readonly SentTransaction[], account: Situation): Promise<boolean> {
  const { payload, database, clock } = follower;
  const later: SentTransaction[] = [];
  const areMore = await signInTurn(follower, unsigned, account, later);
  if (later.length < PUT_OFF_AT_ONCE) return areMore;
  const now = clock();
  await database.transact(laneOf(payload), async (tx) => {
    for (const { organizationId, id } of later) await putOff(tx, { organizationId, id, now });
  });
  return areMore;
}

/**
 * Resolves to whether it stopped at the limit of one round.
 *
 * @param later receives the sponsored transactions whose turn has not come
 */
async function signInTurn(
  follower: Follower,
  unsigned: readonly SentTransaction[],
  account: Situation,
  later: SentTransaction[],
): Promise<boolean> {
  const { payload, read } = follower;
  const { pending } = account;
  // Read them again: since the account was counted, ended transactions have released nonces, and others may have taken some.
  const taken = await takenNonces(read, payload);
  const authorized = await authorizedNonces(read, payload);
  let signed = 0;
  let isFilling = false;
  for (const one of unsigned) {
    if (signed >= SIGNED_AT_ONCE) return true;
    if (isFilling && !hasGap(pending, taken)) return false;
    const ofAccount = accountOf(one);
    if (ofAccount !== undefined && account.busy.has(ofAccount)) continue;
    const stored = await signOne(follower, one, { ...account, taken, authorized });
    if (stored === "later" && one.isSponsored) {
      // Later calls of the same account wait for it.
      account.busy.add(ofAccount);
      later.push(one);
      if (later.length >= PUT_OFF_AT_ONCE) return false;
      continue;
    }
    // Later transactions wait for it, except those that fill the gap that it waits for.
    if (stored === "later") return false;
    isFilling ||= stored === "behind a gap";
    if (!stored || stored === "behind a gap") continue;
    signed++;
    const { nonce, alsoTaken = [] } = requireSigned(stored);
    taken.set(nonce, one.id);
    for (const other of one.isSponsored ? [] : alsoTaken) {
      taken.set(other.nonce, one.id);
      authorized.add(other.nonce);
    }
    if (ofAccount !== undefined) account.busy.add(ofAccount);
    // If it was rejected, it is sent again before any other gets a nonce.
    if ((await give(follower, stored, { isNew: true })) !== "taken in") return false;
  }
  return false;
}

/** Not ready: something must end first; or it waits for a gap of nonces, which later transactions may fill. */
type NotYet = "later" | "behind a gap";

/** Signs a transaction and stores it with its nonce; undefined if it ended instead. */
async function signOne(
  follower: Follower,
  one: SentTransaction,
  { newest, strangers, ...nonces }: Account & Counts & Nonces,
): Promise<SentTransaction | NotYet | undefined> {
  const { read, clock } = follower;
  const { count, pending, taken } = nonces;
  try {
    const decided = await decidedOn(read, one);
    const { plan } = decided;
    const problem =
      plan.revert ??
      (await problemOfRestore(read, one)) ??
      problemOfTime(plan, clock()) ??
      problemOfNonce(plan, count, taken) ??
      (await problemBefore(read, one));
    if (problem) {
      await endAs(follower, one, { to: "FAILED", error: problem });
      return undefined;
    }
    if (plan.nonce === undefined) requireLikely(plan.caip2, strangers);
    const nonce = plan.nonce ?? nextNonce(pending, taken);
    const { execution } = plan;
    const turn = execution
      ? await turnToExecute(follower, { ...one, caip2: plan.caip2 }, { ...plan, execution })
      : await turnToSend(follower, { plan, nonce }, follower.payload, nonces);
    if (turn.is === "later") return turn.isBehindGap ? "behind a gap" : "later";
    if (turn.is === "without station") return await deployStation(follower, one, turn.station);
    if (turn.is === "over") {
      await endAs(follower, one, { to: "FAILED", error: turn.error });
      return undefined;
    }
    const { inner, alsoTaken, isStillNow } = turn;
    const { fees, cost } = await feesToSignWith(follower, one, plan);
    const signedAs = await signDecided(follower, decided, { ...fees, nonce, inner });
    const signed: Signed = {
      nonce,
      alsoTaken,
      fees: digitsOf(fees),
      olderHashes: [],
      takenAtBlock: newest,
      signedAt: clock(),
      mayBeOut: true,
      refusals: 0,
    };
    return await storeSigned(follower, one, signedAs, signed, async (tx) => {
      if (isStillNow && !(await isStillNow(tx))) return false;
      if (one.isSponsored) await raiseCost(tx, one, cost);
      return true;
    });
  } catch (error) {
    // Transactions of other organizations do not wait for that.
    if (one.isSponsored && isOfItsKey(error)) return "later";
    // A permanent error: for example, the key or the activity has been deleted since.
    if (!(error instanceof KeysteadError) || error.isTransient) throw error;
    await endAs(follower, one, { to: "FAILED", error: { message: error.message } });
    return undefined;
  }
}

/** Whether an error of the signer may concern only one organization: too many of its requests wait there, or its key cannot be used. */
const isOfItsKey = (error: unknown): boolean =>
  error instanceof SignerRefused ||
  (error instanceof KeysteadError && ["SIGNER_BUSY", "SIGNER_UNAVAILABLE"].includes(error.code));

/**
 * The fees to sign with, and the greatest cost with them, in wei. If the account pays, the fees are those of the approved plan. The sponsor pays
 * the current fees, up to its cap, because transactions of others wait behind this one; what a rollup charges beyond gas is asked again too.
 *
 * @throws KeysteadError FEE_CAP_EXCEEDED if that alone exceeds the cap
 */
async function feesToSignWith(
  follower: Follower,
  { isSponsored }: SentTransaction,
  planned: Plan,
): Promise<{ fees: Fees; cost: bigint }> {
  const { evm, payload } = follower;
  if (!isSponsored) return { fees: feesOf(planned.fees), cost: greatestCost(planned, feesOf(planned.fees)) };
  const [plan, quote] = await Promise.all([withRollupFees(evm, planned), feeQuote(evm, payload.caip2)]);
  requireRollupFeesWithinCap(evm, plan);
  const fees = sponsorsWithin(follower, plan, plannedFees({}, quote).fees);
  return { fees, cost: greatestCost(plan, fees) };
}

const sponsorsWithin = ({ evm, payload }: Follower, plan: Plan, fees: Fees): Fees =>
  feesWithin(evm.feeCap(payload.caip2, "sponsor"), plan, fees);

/**
 * Has the sponsor deploy the gas station before the first calls through it. If that fails, the calls that waited for it fail too; later calls
 * try again.
 */
async function deployStation(follower: Follower, one: SentTransaction, station: string): Promise<"later" | undefined> {
  const { payload, database, evm, assets, read, clock } = follower;
  const { caip2 } = payload;
  const purpose = "deploy_gas_station";
  if (station !== GAS_STATION_ADDRESS) fail("CHAIN_WITHOUT_STATION", { chain: caip2, station });
  const from = await evmSponsor(read);
  const last = await lastSponsored(read, { caip2, from, purpose });
  if (last && last.status !== "INCLUDED" && last.status !== "FAILED") return "later";
  if (last && last.createdAt >= one.createdAt) {
    // It is deployed, and the node that does not show it is behind.
    if (!last.error) return "later";
    const message = `the gas station, through which its calls go, could not be deployed: ${last.error.message}`;
    await endAs(follower, one, { to: "FAILED", error: { message } });
    return undefined;
  }
  const { call } = await planDeployment(evm, caip2, GAS_STATION);
  if (!call) return "later";
  const { organizationId, activityId } = one;
  const plan = await planSponsored({ evm, assets, read, organizationId }, { chain: caip2, ...call });
  const organization = await organizationOf(read, one);
  const send = { organization, id: newId(), activityId, purpose, plan, isShared: true, now: clock() } as const;
  await database.transact(laneOf({ organizationId: INSTALLATION, caip2, from }), async (tx) => {
    // Several accounts may have found the station missing at the same time; only one deploys it.
    const newest = await lastSponsored(tx, { caip2, from, purpose });
    if (newest?.id === last?.id) await sponsorSend(tx, send);
  });
  return "later";
}

const problemOfRestore = async (read: Reader, one: SentTransaction): Promise<TxError | undefined> =>
  (await restoredAfter(read, one)) === undefined ? undefined : { message: SENT_BEFORE_RESTORE };

/** The error of a transaction whose predecessor in the same activity failed. */
async function problemBefore(read: Reader, one: SentTransaction): Promise<TxError | undefined> {
  const { after } = one.progress as Progress;
  if (after === undefined) return undefined;
  const { status, error } = await requireSend(read, one.organizationId, after);
  if (status !== "FAILED") return undefined;
  return { message: `the transaction before it was not sent: ${error?.message ?? after}` };
}

const problemOfTime = ({ late }: Plan, now: number): { message: string } | undefined =>
  late && now >= late.from ? { message: late.message } : undefined;

function problemOfNonce(
  { nonce }: Plan,
  count: number,
  taken: ReadonlyMap<number, string>,
): { message: string } | undefined {
  if (nonce === undefined) return undefined;
  if (nonce < count) return { message: `the account has used the nonce ${nonce}; its next is ${count}` };
  const other = taken.get(nonce);
  return other === undefined ? undefined : { message: `the transaction ${other} has the nonce ${nonce}` };
}

/** Stores a transaction with its nonce. "later" if it must wait after all because of a change during signing; the signature is discarded. */
async function storeSigned(
  { payload, database, read, clock }: Follower,
  one: SentTransaction,
  signedAs: SignedAs,
  signed: Signed,
  isStillNow: StillNow,
): Promise<SentTransaction | "later"> {
  const now = clock();
  const organization = await organizationOf(read, one);
  const progress = progressOf(one, signed);
  const isStored = await database.transact(laneOf(payload), async (tx) => {
    if (!(await isStillNow(tx))) return false;
    const isOurs =
      one.status === "INITIALIZED"
        ? await moveSend(tx, organization, one, { to: "BROADCASTING", progress, ...signedAs }, now)
        : await replaceSigned(tx, one, { ...signedAs, progress }, now);
    // Another process changed it; the signature is discarded.
    if (!isOurs || !(await takeNonce(tx, payload, signed.nonce, one.id, now)))
      throw new Error(`the transaction ${one.id} or the nonce ${signed.nonce} was taken meanwhile`);
    for (const other of signed.alsoTaken ?? []) {
      if (!(await takeNonce(tx, other, other.nonce, one.id, now)))
        throw new Error(`the nonce ${other.nonce} of ${other.from} was taken meanwhile`);
    }
    return true;
  });
  if (!isStored) return "later";
  const sentAt = one.status === "INITIALIZED" ? now : one.sentAt;
  return { ...one, ...signedAs, status: "BROADCASTING", progress, sentAt };
}
