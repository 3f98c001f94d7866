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
import { type SponsoredOutcome, sponsoredOutcome } from "../sponsoring/store.ts";
import { questions } from "./contracts.ts";
import {
  type EarnRequest,
  endRequest,
  FOLLOW_EARN_REQUEST,
  findRequest,
  findTotals,
  findWrapper,
  storeTotals,
  type Totals,
  type Wrapper,
} from "./store.ts";

/**
 * Waits for the end of a request's last transaction, and books what came of it in one transaction with the request's own end: whoever is
 * told that it is completed finds the totals of the position as they are then.
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
    if (!wrapper || request.status !== "PENDING") return { next: { do: "finish" } };
    const outcome = await sponsoredOutcome(read, organizationId, id);
    if (outcome.status === "PENDING") {
      return { next: { do: "retry", inMs: pauseUntilEnd(clock() - request.createdAt) } };
    }
    const end = await endOf(evm, wrapper, request, outcome).catch(unlessAway);
    if (!end) return { next: { do: "retry", inMs: AWAY_PAUSE_MS } };
    return {
      next: { do: "finish" },
      record: async (tx) => {
        const now = clock();
        const isOurs = await endRequest(tx, request, end.end, now);
        if (isOurs && end.end.status === "COMPLETED") await end.book?.(tx, now);
      },
    };
  },
});

interface End {
  end: Parameters<typeof endRequest>[2];
  /** What changes with it. */
  book?: (tx: Transactor, now: number) => Promise<void>;
}

async function endOf(evm: EvmNodes, wrapper: Wrapper, request: EarnRequest, outcome: Ended): Promise<End> {
  const transactionHash = "hash" in outcome ? outcome.hash : "";
  if (outcome.status === "FAILED" || outcome.error) {
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
  if (request.amount !== "MAX") return { end, book: (tx, now) => addToTotals(tx, request, blockNumber, now) };
  // What came in while all was going out begins a position of its own. A node that is behind knows only what was there before: whoever
  // has the withdrawal's own block is asked for that.
  const readAtBlock = Math.max(await newestBlock(evm, wrapper.chain), blockNumber);
  const left = await valueLeft(evm, wrapper, request.walletAddress, readAtBlock);
  const totals = { totalDeposited: left, totalWithdrawn: 0n, readAtBlock };
  return {
    end,
    async book(tx, now) {
      if ((await totalsOf(tx, request)).readAtBlock < readAtBlock) await storeTotals(tx, request, totals, now);
    },
  };
}

type Ended = Exclude<SponsoredOutcome, { status: "PENDING" }>;

/** @param blockNumber where it is: what was read there or later counts it already */
async function addToTotals(tx: Transactor, request: EarnRequest, blockNumber: number, now: number): Promise<void> {
  const { totalDeposited, totalWithdrawn, readAtBlock } = await totalsOf(tx, request);
  if (blockNumber <= readAtBlock) return;
  const amount = BigInt(request.amount);
  const totals =
    request.kind === "DEPOSIT"
      ? { totalDeposited: totalDeposited + amount, totalWithdrawn }
      : { totalDeposited, totalWithdrawn: totalWithdrawn + amount };
  await storeTotals(tx, request, { ...totals, readAtBlock }, now);
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
