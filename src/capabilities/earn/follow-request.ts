import { Type } from "typebox";
import { findOrganization } from "../../engine/identity/organizations.ts";
import { type JobResult, job } from "../../engine/jobs/jobs.ts";
import { fail } from "../../kernel/errors.ts";
import { newestBlock, receiptOf } from "../../nodes/evm-calls.ts";
import { readContracts, wordIn } from "../../nodes/evm-reads.ts";
import { codeAt } from "../../nodes/evm-state.ts";
import type { EvmNodes } from "../../nodes/pool.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { AWAY_PAUSE_MS, pauseUntilEnd, unlessAway } from "../sending/store.ts";
import { isSettled, type SponsoredOutcome, sponsoredOutcome } from "../sponsoring/store.ts";
import { questions } from "./contracts.ts";
import {
  type Booking,
  type EarnRequest,
  endRequest,
  FOLLOW_EARN_REQUEST,
  findNextOfAll,
  findRequest,
  findTotals,
  findWrapper,
  noteBooking,
  type RequestEnd,
  storeTotals,
  type Totals,
  type Wrapper,
} from "./store.ts";

/**
 * Waits for the end of a request's last transaction, and books what came of it in one transaction with the request's own end: whoever is
 * told that it is completed finds the totals of the position as they are then. Until no reorganization can give it another end, it looks
 * whether one did, and puts end and totals right.
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
    if (isKnown(request, outcome)) return { next };
    const end = await endOf(evm, wrapper, request, outcome).catch(unlessAway);
    if (!end) return { next: { do: "retry", inMs: AWAY_PAUSE_MS } };
    return { next, record: (tx) => noteEnd(tx, request, end, clock()) };
  },
});

/** Whether a request ended as its transaction did. A deployment that failed may be completed all the same. */
const isKnown = (request: EarnRequest, outcome: Ended): boolean =>
  request.status === (isSuccess(outcome) ? "COMPLETED" : "FAILED") && request.transactionHash === hashOf(outcome);

const isSuccess = ({ status, error }: Ended): boolean => status === "INCLUDED" && error === undefined;
const hashOf = (outcome: Ended): string => ("hash" in outcome ? outcome.hash : "");

interface End {
  end: RequestEnd;
  /** What the totals of its position become; undefined where they count it already. */
  book?: (before: Totals) => Totals | undefined;
}

async function noteEnd(tx: Transactor, request: EarnRequest, { end, book }: End, now: number): Promise<void> {
  const [was, is] = [request.status === "COMPLETED", end.status === "COMPLETED"];
  const before = await totalsOf(tx, request);
  const after = is && !was ? book?.(before) : undefined;
  const booked = is && was ? request.booked : after && differenceOf(before, after);
  const isOurs = await endRequest(tx, request, end, booked, now);
  if (isOurs && after) await storeTotals(tx, request, after, now);
  if (isOurs && was && !is && request.booked) await takeBack(tx, request, request.booked, now);
}

const differenceOf = (before: Totals, after: Totals): Booking => ({
  deposited: after.totalDeposited - before.totalDeposited,
  withdrawn: after.totalWithdrawn - before.totalWithdrawn,
});

/** Of a request that came to nothing after all. A withdrawal of everything after it began anew with what was left, whatever had come in by then. */
async function takeBack(tx: Transactor, request: EarnRequest, { deposited, withdrawn }: Booking, now: number) {
  const later = await findNextOfAll(tx, request);
  if (later?.booked) {
    const booked = { deposited: later.booked.deposited + deposited, withdrawn: later.booked.withdrawn + withdrawn };
    return noteBooking(tx, later, booked);
  }
  const { totalDeposited, totalWithdrawn, readAtBlock } = await totalsOf(tx, request);
  const totals = {
    totalDeposited: totalDeposited - deposited,
    totalWithdrawn: totalWithdrawn - withdrawn,
    // What was read for it is not in them any more.
    readAtBlock: request.amount === "MAX" ? 0 : readAtBlock,
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
  if (request.amount !== "MAX") return { end, book: (before) => withAmount(before, request, blockNumber) };
  // What came in while all was going out begins a position of its own. A node that is behind knows only what was there before: whoever
  // has the withdrawal's own block is asked for that.
  const readAtBlock = Math.max(await newestBlock(evm, wrapper.chain), blockNumber);
  const left = await valueLeft(evm, wrapper, request.walletAddress, readAtBlock);
  const totals = { totalDeposited: left, totalWithdrawn: 0n, readAtBlock };
  return { end, book: (before) => (before.readAtBlock < readAtBlock ? totals : undefined) };
}

type Ended = Exclude<SponsoredOutcome, { status: "PENDING" }>;

/** @param blockNumber where it is: what was read there or later counts it already */
function withAmount(before: Totals, { kind, amount }: EarnRequest, blockNumber: number): Totals | undefined {
  if (blockNumber <= before.readAtBlock) return undefined;
  return kind === "DEPOSIT"
    ? { ...before, totalDeposited: before.totalDeposited + BigInt(amount) }
    : { ...before, totalWithdrawn: before.totalWithdrawn + BigInt(amount) };
}

async function totalsOf(read: Reader, { organizationId, walletAddress, wrapperAddress }: EarnRequest): Promise<Totals> {
  const totals = await findTotals(read, organizationId, walletAddress);
  return totals.get(wrapperAddress) ?? { totalDeposited: 0n, totalWithdrawn: 0n, readAtBlock: 0 };
}

/** What a wallet has in a wrapper as of a block, in its asset. */
async function valueLeft(
  evm: EvmNodes,
  { chain, wrapperAddress }: Wrapper,
  wallet: string,
  blockNumber: number,
): Promise<bigint> {
  const at = `0x${blockNumber.toString(16)}`;
  const [shares] = await readContracts(evm, chain, [questions.balanceOf(wrapperAddress, wallet)], at);
  const count = wordIn(shares);
  if (count === undefined) throw new Error("the wrapper does not say what is left");
  if (count === 0n) return 0n;
  const [value] = await readContracts(evm, chain, [questions.previewRedeem(wrapperAddress, count)], at);
  return wordIn(value) ?? 0n;
}
