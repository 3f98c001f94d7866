import { Type } from "typebox";
import { findOrganization } from "../../engine/identity/organizations.ts";
import { type JobResult, job } from "../../engine/jobs/jobs.ts";
import { fail } from "../../kernel/errors.ts";
import { headerAt } from "../../nodes/evm-blocks.ts";
import { newestBlock, receiptOf } from "../../nodes/evm-calls.ts";
import { readContracts, wordIn } from "../../nodes/evm-reads.ts";
import { codeAt } from "../../nodes/evm-state.ts";
import type { EvmNodes } from "../../nodes/pool.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { AWAY_PAUSE_MS, unlessAway } from "../sending/store.ts";
import { followedOutcome, type SponsoredOutcome } from "../sponsoring/store.ts";
import { questions } from "./contracts.ts";
import {
  type BlockRead,
  type BookedRequest,
  type Booking,
  type EarnRequest,
  endRequest,
  FOLLOW_EARN_REQUEST,
  findBookedBeside,
  findNextOfAll,
  findRequest,
  findTotals,
  findWrapper,
  lastReadBefore,
  noteBooking,
  type RequestEnd,
  storeTotals,
  type Totals,
  type Wrapper,
} from "./store.ts";
import { problemOfAsset } from "./wrapper-asset.ts";

/**
 * Follows a request's last transaction to its end. The request's end and its effect on the position's totals are stored in one transaction, so
 * that a reader who sees the request completed also sees the new totals. Until the transaction's outcome is final, the job keeps checking
 * whether it has changed, after a reorganization or because a block includes what nodes rejected, and corrects the end and the totals. It
 * continues beyond that only while the vault does not report what a full withdrawal left.
 */

export const followEarnRequest = job({
  name: FOLLOW_EARN_REQUEST,
  payload: Type.Object({ organizationId: Type.String(), id: Type.String() }),
  needs: ["evm"],
  maxAttempts: Number.POSITIVE_INFINITY,
  async run({ payload: { organizationId, id }, database, evm, clock }): Promise<JobResult> {
    const { read } = database;
    const [request, organization] = [
      await findRequest(read, organizationId, id),
      await findOrganization(read, organizationId),
    ];
    const wrapper = request && organization && (await findWrapper(read, organization, request.wrapperAddress));
    if (!wrapper) return { next: { do: "finish" } };
    const { outcome, isFinal, pauseMs } = await followedOutcome(read, organizationId, id, clock());
    const again = { do: "retry", inMs: pauseMs } as const;
    if (outcome.status === "PENDING") return { next: again };
    const next = isFinal ? ({ do: "finish" } as const) : again;
    const end = await newEndOf({ read, evm }, wrapper, request, outcome).catch(unlessAway);
    if (!end) return { next: { do: "retry", inMs: AWAY_PAUSE_MS } };
    if (end === "known") return { next };
    return { next: end.isUnread ? again : next, record: (tx) => noteEnd(tx, request, end, clock()) };
  },
});

interface Looking {
  read: Reader;
  evm: EvmNodes;
}

/** How a request ended; "known" if that and its effect on totals are stored already. */
async function newEndOf(
  looking: Looking,
  wrapper: Wrapper,
  request: EarnRequest,
  outcome: Ended,
): Promise<End | "known"> {
  if (isKnown(request, outcome) && (await isUpToDate(looking, wrapper, request))) return "known";
  const found = await endOf(looking.evm, wrapper, request, outcome);
  return isStored(request, found.end) && !found.counting && !found.isUnread ? "known" : found;
}

const isStored = (request: EarnRequest, end: RequestEnd): boolean =>
  request.status === end.status && request.transactionHash === end.transactionHash;

/** Whether the stored end is the one of the transaction. A deployment's may be the opposite; see `endOf`. */
const isKnown = (request: EarnRequest, outcome: Ended): boolean =>
  request.status === (isSuccess(outcome) ? "COMPLETED" : "FAILED") && request.transactionHash === hashOf(outcome);

const isSuccess = ({ status, error }: Ended): boolean => status === "INCLUDED" && error === undefined;
const hashOf = (outcome: Ended): string => ("hash" in outcome ? outcome.hash : "");

/**
 * Whether what the chain says of a request whose end is stored is stored too. After a reorganization, a vault may have had another asset when its
 * wrapper was deployed; a full withdrawal may have left another amount, and requests that were counted with that amount may have been included
 * after it.
 */
async function isUpToDate({ read, evm }: Looking, { chain }: Wrapper, request: EarnRequest): Promise<boolean> {
  const { status, kind, booked, transactionHash } = request;
  if (kind === "DEPLOY") return status !== "COMPLETED";
  if (status !== "COMPLETED" || (kind !== "DEPOSIT" && kind !== "WITHDRAW")) return true;
  if (booked?.readAt) {
    if (await findNextOfAll(read, request, booked.block)) return true;
    const block = await headerAt(evm, chain, booked.readAt.number);
    return block === undefined || block.hash === booked.readAt.hash;
  }
  if (booked) return true;
  const { readAtBlock } = await totalsOf(read, request);
  const receipt = await receiptOf(evm, chain, transactionHash);
  return receipt === undefined || receipt.blockNumber <= readAtBlock;
}

const isOfAll = ({ amount }: EarnRequest): boolean => amount === "MAX";

interface End {
  end: RequestEnd;
  /** How the totals change; undefined if the request does not affect totals. */
  counting?: Counting;
  /** Whether the totals stay unchanged for now, because the vault does not report what a full withdrawal left. */
  isUnread?: boolean;
}

interface Counting {
  /** The block of its transaction. */
  blockNumber: number;
  /** What a full withdrawal left, in the asset, and the block at which that was read. */
  rest?: { left: bigint; readAt: BlockRead };
}

async function noteEnd(tx: Transactor, seen: EarnRequest, { end, counting }: End, now: number): Promise<void> {
  // Its booking may have been corrected since the request was read.
  const current = await findRequest(tx, seen.organizationId, seen.id);
  const request = { ...seen, booked: current?.booked };
  const change = counting && (await changeBy(tx, request, counting));
  if (!change && isStored(request, end)) return;
  const isThere = end.status === "COMPLETED";
  const booked = isThere ? (change?.booked ?? request.booked) : undefined;
  if (!(await endRequest(tx, request, end, booked, now))) return;
  if (change) {
    for (const one of change.read) await noteBooking(tx, one, undefined);
    await storeTotals(tx, request, change.totals, now);
  } else if (!isThere && request.status === "COMPLETED" && request.booked) {
    await takeBack(tx, request, request.booked, now);
  }
}

interface Change {
  /** The new totals. */
  totals: Totals;
  /** The request's part in the change. */
  booked: Booking;
  /** Later requests that are included in what is left. Their own bookings are removed. */
  read: readonly BookedRequest[];
}

/** How a completed request changes the totals; undefined if they include it already. */
async function changeBy(
  tx: Transactor,
  request: EarnRequest,
  { blockNumber, rest }: Counting,
): Promise<Change | undefined> {
  const before = await totalsOf(tx, request);
  if (rest) return changeByRest(tx, request, { blockNumber, rest }, before);
  // Totals that were read at its block or later include it already.
  if (request.booked || blockNumber <= before.readAtBlock) return undefined;
  const amount = BigInt(request.amount);
  const effect = request.kind === "DEPOSIT" ? effectOf(amount, 0n) : effectOf(0n, amount);
  const booked = { ...effect, block: blockNumber };
  return { totals: { ...before, ...totalsWith(before, booked) }, booked, read: [] };
}

/**
 * The change by a full withdrawal: what is left after it, such as a deposit that was made meanwhile, starts a new position. Requests that blocks
 * included only after the one at which that was read are added to it.
 */
async function changeByRest(
  tx: Transactor,
  request: EarnRequest,
  { blockNumber, rest: { left, readAt } }: Required<Counting>,
  before: Totals,
): Promise<Change | undefined> {
  // Either a later full withdrawal has read what is left since, or an earlier one was read after this one and includes it.
  if (await findNextOfAll(tx, request, blockNumber)) return undefined;
  if (!request.booked && before.readAtBlock > readAt.number) return undefined;
  const others = (await findBookedBeside(tx, request)).filter((one) => !isOfAll(one));
  const isBeyond = ({ booked: { block } }: BookedRequest) => block !== undefined && block > readAt.number;
  const beyond = others.filter(isBeyond);
  const included = others.filter((one) => one.createdAt > request.createdAt && !isBeyond(one));
  // The totals without this request's earlier booking, and without the requests that count beside it or are included in what is left.
  let had: Sums = request.booked ? totalsWith(before, minus(request.booked)) : before;
  for (const { booked } of [...beyond, ...included]) had = totalsWith(had, minus(booked));
  const rest: Sums = { totalDeposited: left, totalWithdrawn: 0n };
  const now = beyond.reduce((sums, { booked }) => totalsWith(sums, booked), rest);
  return {
    totals: { ...now, readAtBlock: readAt.number },
    booked: { ...effectOf(left - had.totalDeposited, -had.totalWithdrawn), block: blockNumber, readAt },
    read: included,
  };
}

type Sums = Pick<Totals, "totalDeposited" | "totalWithdrawn">;

type Effect = Pick<Booking, "deposited" | "withdrawn">;
const effectOf = (deposited: bigint, withdrawn: bigint): Effect => ({ deposited, withdrawn });
const minus = ({ deposited, withdrawn }: Effect): Effect => effectOf(-deposited, -withdrawn);
const totalsWith = ({ totalDeposited, totalWithdrawn }: Sums, { deposited, withdrawn }: Effect): Sums => ({
  totalDeposited: totalDeposited + deposited,
  totalWithdrawn: totalWithdrawn + withdrawn,
});

/**
 * Reverts the booking of a request that failed after all. If a full withdrawal followed, the totals started anew with what that left, so only its
 * booking changes.
 */
async function takeBack(tx: Transactor, request: EarnRequest, booked: Booking, now: number) {
  const next = await findNextOfAll(tx, request, booked.block);
  if (next) {
    const deposited = next.booked.deposited + booked.deposited;
    const withdrawn = next.booked.withdrawn + booked.withdrawn;
    return noteBooking(tx, next, { ...next.booked, deposited, withdrawn });
  }
  const { readAtBlock, ...before } = await totalsOf(tx, request);
  const totals = {
    ...totalsWith(before, minus(booked)),
    // The totals are no longer those that were read for this request.
    readAtBlock: isOfAll(request) ? await lastReadBefore(tx, request) : readAtBlock,
  };
  return storeTotals(tx, request, totals, now);
}

async function endOf(evm: EvmNodes, wrapper: Wrapper, request: EarnRequest, outcome: Ended): Promise<End> {
  const transactionHash = hashOf(outcome);
  const error = isSuccess(outcome) ? undefined : (outcome.error?.message ?? "the transaction failed");
  // Somebody else may have deployed the same contract at this address meanwhile. Then the deployment is completed nevertheless.
  const isThere =
    request.kind === "DEPLOY" && (!error || (await codeAt(evm, wrapper.chain, wrapper.wrapperAddress)) !== "0x");
  const problem = isThere ? await problemOfAsset(evm, wrapper, wrapper.asset.address) : error;
  if (problem !== undefined) return { end: { status: "FAILED", transactionHash, error: problem } };
  const end = { status: "COMPLETED", transactionHash } as const;
  if (request.kind !== "DEPOSIT" && request.kind !== "WITHDRAW") return { end };
  const receipt = await receiptOf(evm, wrapper.chain, transactionHash);
  // A reorganization has removed the transaction, or the node is behind.
  if (!receipt) return fail("CHAIN_UNAVAILABLE", { chain: wrapper.chain, reason: "no node returns the block" });
  const { blockNumber } = receipt;
  if (!isOfAll(request)) return { end, counting: { blockNumber } };
  // A node that is behind would report the state before the withdrawal, so the read is at the withdrawal's own block at least.
  const number = Math.max(await newestBlock(evm, wrapper.chain), blockNumber, request.booked?.readAt?.number ?? 0);
  // The hash is read first: if the block is replaced before the value is read, the next run notices that.
  const block = await headerAt(evm, wrapper.chain, number);
  if (!block) return fail("CHAIN_UNAVAILABLE", { chain: wrapper.chain, reason: "no node returns the newest block" });
  const left = await valueLeft(evm, wrapper, request.walletAddress, number);
  if (left === undefined) return { end, isUnread: true };
  return { end, counting: { blockNumber, rest: { left, readAt: { number, hash: block.hash } } } };
}

type Ended = Exclude<SponsoredOutcome, { status: "PENDING" }>;

async function totalsOf(read: Reader, { organizationId, walletAddress, wrapperAddress }: EarnRequest): Promise<Totals> {
  const totals = await findTotals(read, organizationId, walletAddress);
  return totals.get(wrapperAddress) ?? { totalDeposited: 0n, totalWithdrawn: 0n, readAtBlock: 0 };
}

/** The value of a wallet's shares in a wrapper at a block, in the asset; undefined if the vault does not report it. */
async function valueLeft(
  evm: EvmNodes,
  { chain, wrapperAddress }: Wrapper,
  wallet: string,
  blockNumber: number,
): Promise<bigint | undefined> {
  const at = `0x${blockNumber.toString(16)}`;
  const [shares] = await readContracts(evm, chain, [questions.balanceOf(wrapperAddress, wallet)], at);
  const count = wordIn(shares);
  if (count === undefined) throw new Error("the wrapper does not say what is left");
  if (count === 0n) return 0n;
  const [value] = await readContracts(evm, chain, [questions.previewRedeem(wrapperAddress, count)], at);
  return wordIn(value);
}
