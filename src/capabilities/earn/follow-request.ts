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
import { AWAY_PAUSE_MS, pauseUntilEnd, unlessAway } from "../sending/store.ts";
import { isSettled, type SponsoredOutcome, sponsoredOutcome } from "../sponsoring/store.ts";
import { questions } from "./contracts.ts";
import {
  type BlockRead,
  type BookedRequest,
  type Booking,
  type EarnRequest,
  endRequest,
  FOLLOW_EARN_REQUEST,
  findBookedAfter,
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

/**
 * Waits for the end of a request's last transaction, and books what came of it in one transaction with the request's own end: whoever is
 * told that it is completed finds the totals of the position as they are then. Until no reorganization can give it another end, it looks
 * whether one did, and puts end and totals right; for longer only where the vault does not say what a withdrawal of everything left.
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
    // Before the outcome: what is settled when that is read is settled as it is read.
    const isFinal = await isSettled(read, organizationId, id);
    const outcome = await sponsoredOutcome(read, organizationId, id);
    const again = { do: "retry", inMs: pauseUntilEnd(clock() - request.createdAt) } as const;
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

/** What a request came to, where that or what it changed in totals is not stored as it is now. */
async function newEndOf(
  looking: Looking,
  wrapper: Wrapper,
  request: EarnRequest,
  outcome: Ended,
): Promise<End | "known"> {
  if (isKnown(request, outcome) && (await isCounted(looking, wrapper, request))) return "known";
  const found = await endOf(looking.evm, wrapper, request, outcome);
  return isStored(request, found.end) && !found.counting && !found.isUnread ? "known" : found;
}

const isStored = (request: EarnRequest, end: RequestEnd): boolean =>
  request.status === end.status && request.transactionHash === end.transactionHash;

/** Whether a request ended as its transaction did. A deployment that failed may be completed all the same. */
const isKnown = (request: EarnRequest, outcome: Ended): boolean =>
  request.status === (isSuccess(outcome) ? "COMPLETED" : "FAILED") && request.transactionHash === hashOf(outcome);

const isSuccess = ({ status, error }: Ended): boolean => status === "INCLUDED" && error === undefined;
const hashOf = (outcome: Ended): string => ("hash" in outcome ? outcome.hash : "");

/**
 * Whether totals are what they are by a request that ended as it is stored. After a reorganization a withdrawal of everything may have
 * left something else, and what was read with it may have come in after it.
 */
async function isCounted({ read, evm }: Looking, { chain }: Wrapper, request: EarnRequest): Promise<boolean> {
  const { status, kind, booked, transactionHash } = request;
  if (status !== "COMPLETED" || (kind !== "DEPOSIT" && kind !== "WITHDRAW")) return true;
  if (booked?.readAt) {
    if (await findNextOfAll(read, request)) return true;
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
  /** By what totals change; undefined where the request is in no totals. */
  counting?: Counting;
  /** Whether totals stay as they are for now, as nobody says what a withdrawal of everything left. */
  isUnread?: boolean;
}

interface Counting {
  /** Where its transaction is. */
  blockNumber: number;
  /** What a withdrawal of everything left, in the asset, and where that was read. */
  rest?: { left: bigint; readAt: BlockRead };
}

async function noteEnd(tx: Transactor, seen: EarnRequest, { end, counting }: End, now: number): Promise<void> {
  // What it changed in totals may have been put right since it was read.
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
  /** What they become. */
  totals: Totals;
  /** What of that is the request's. */
  booked: Booking;
  /** Whose changes were read with what is left, and have none of their own any more. */
  read: readonly BookedRequest[];
}

/** What a completed request changes in totals; undefined where they count it already. */
async function changeBy(
  tx: Transactor,
  request: EarnRequest,
  { blockNumber, rest }: Counting,
): Promise<Change | undefined> {
  const before = await totalsOf(tx, request);
  if (rest) return changeByRest(tx, request, rest, before);
  // What was read there or later counts it already.
  if (request.booked || blockNumber <= before.readAtBlock) return undefined;
  const amount = BigInt(request.amount);
  const booked = request.kind === "DEPOSIT" ? bookingOf(amount, 0n) : bookingOf(0n, amount);
  return { totals: { ...before, ...totalsWith(before, booked) }, booked, read: [] };
}

/** What came in while all was going out begins a position of its own. */
async function changeByRest(
  tx: Transactor,
  request: EarnRequest,
  { left, readAt }: NonNullable<Counting["rest"]>,
  before: Totals,
): Promise<Change | undefined> {
  // Another one after it has what was left since; or one before it read what this one left.
  if (await findNextOfAll(tx, request)) return undefined;
  if (!request.booked && before.readAtBlock > readAt.number) return undefined;
  const later = await findBookedAfter(tx, request);
  // Without what it changed before, and what is in what is left now.
  let had = request.booked ? totalsWith(before, minus(request.booked)) : before;
  for (const { booked } of later) had = totalsWith(had, minus(booked));
  return {
    totals: { totalDeposited: left, totalWithdrawn: 0n, readAtBlock: readAt.number },
    booked: { ...bookingOf(left - had.totalDeposited, -had.totalWithdrawn), readAt },
    read: later,
  };
}

type Sums = Pick<Totals, "totalDeposited" | "totalWithdrawn">;

const bookingOf = (deposited: bigint, withdrawn: bigint): Booking => ({ deposited, withdrawn });
const minus = ({ deposited, withdrawn }: Booking): Booking => bookingOf(-deposited, -withdrawn);
const totalsWith = ({ totalDeposited, totalWithdrawn }: Sums, { deposited, withdrawn }: Booking): Sums => ({
  totalDeposited: totalDeposited + deposited,
  totalWithdrawn: totalWithdrawn + withdrawn,
});

/** Of a request that came to nothing after all. A withdrawal of everything after it began anew with what was left, whatever had come in by then. */
async function takeBack(tx: Transactor, request: EarnRequest, booked: Booking, now: number) {
  const next = await findNextOfAll(tx, request);
  if (next) {
    const deposited = next.booked.deposited + booked.deposited;
    const withdrawn = next.booked.withdrawn + booked.withdrawn;
    return noteBooking(tx, next, { ...next.booked, deposited, withdrawn });
  }
  const { readAtBlock, ...before } = await totalsOf(tx, request);
  const totals = {
    ...totalsWith(before, minus(booked)),
    // What was read for it is not in them any more.
    readAtBlock: isOfAll(request) ? await lastReadBefore(tx, request) : readAtBlock,
  };
  return storeTotals(tx, request, totals, now);
}

async function endOf(evm: EvmNodes, wrapper: Wrapper, request: EarnRequest, outcome: Ended): Promise<End> {
  const transactionHash = hashOf(outcome);
  if (!isSuccess(outcome)) {
    const error = outcome.error?.message ?? "the transaction failed";
    // Somebody else may have deployed the same contract at its address meanwhile: then it is there all the same.
    const isThere = request.kind === "DEPLOY" && (await codeAt(evm, wrapper.chain, wrapper.wrapperAddress)) !== "0x";
    return { end: isThere ? { status: "COMPLETED", transactionHash } : { status: "FAILED", transactionHash, error } };
  }
  const end = { status: "COMPLETED", transactionHash } as const;
  if (request.kind !== "DEPOSIT" && request.kind !== "WITHDRAW") return { end };
  const receipt = await receiptOf(evm, wrapper.chain, transactionHash);
  // Taken out again by a reorganization, or a node is behind.
  if (!receipt) return fail("CHAIN_UNAVAILABLE", { chain: wrapper.chain, reason: "no node shows the block" });
  const { blockNumber } = receipt;
  if (!isOfAll(request)) return { end, counting: { blockNumber } };
  // A node that is behind knows only what was there before: whoever has the withdrawal's own block is asked for that.
  const number = Math.max(await newestBlock(evm, wrapper.chain), blockNumber, request.booked?.readAt?.number ?? 0);
  // Its hash first: where the block is another by the time of the reading, the next look sees that.
  const block = await headerAt(evm, wrapper.chain, number);
  if (!block) return fail("CHAIN_UNAVAILABLE", { chain: wrapper.chain, reason: "no node shows the newest block" });
  const left = await valueLeft(evm, wrapper, request.walletAddress, number);
  if (left === undefined) return { end, isUnread: true };
  return { end, counting: { blockNumber, rest: { left, readAt: { number, hash: block.hash } } } };
}

type Ended = Exclude<SponsoredOutcome, { status: "PENDING" }>;

async function totalsOf(read: Reader, { organizationId, walletAddress, wrapperAddress }: EarnRequest): Promise<Totals> {
  const totals = await findTotals(read, organizationId, walletAddress);
  return totals.get(wrapperAddress) ?? { totalDeposited: 0n, totalWithdrawn: 0n, readAtBlock: 0 };
}

/** What a wallet has in a wrapper as of a block, in its asset; undefined where the vault does not say what that is worth. */
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
