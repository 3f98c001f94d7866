import { Type } from "typebox";
import type { EvmChain } from "../../../chains/evm/networks.ts";
import { parseSignedTransaction, transactionHash } from "../../../chains/evm/signed-transaction.ts";
import { type JobResult, job } from "../../../engine/jobs/jobs.ts";
import { MINUTE_MS } from "../../../kernel/durations.ts";
import { KeysteadError } from "../../../kernel/errors.ts";
import { SETTLED_BLOCKS } from "../../../kernel/limits.ts";
import { broadcast } from "../../../nodes/evm-broadcast.ts";
import { receiptOf, recentBlock } from "../../../nodes/evm-calls.ts";
import type { EvmNodes } from "../../../nodes/pool.ts";
import { INSTALLATION } from "../../../signer/protocol.ts";
import type { Reader } from "../../../storage/engine.ts";
import { correctCost } from "../../sponsoring/store.ts";
import type { TxError } from "../model.ts";
import { correctIncluded, type Move, moveSend, requireSend, type SentTransaction } from "../store.ts";
import type { Progress, Signed } from "./follow.ts";
import { minedFailure, paidFor } from "./mined.ts";
import { freeNonces } from "./nonces.ts";
import { LONGEST_SETTLING_MS, SETTLE_EVM_SEND } from "./queue.ts";
import { organizationOf } from "./sign.ts";

/**
 * Checks a transaction in a block until enough blocks follow. If a reorganization removes it, the job sends the same bytes to the nodes again;
 * the transaction keeps its nonce. Its status stays INCLUDED, and no event reports the reorganization. Its hash and error become those in the
 * block that includes it now.
 *
 * The job also checks a transaction that FAILED because nodes rejected it, or because a restored database does not know what became of it: a
 * block may include it nevertheless. It then becomes INCLUDED, and
 * its cost counts.
 */

const SHORTEST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 5 * MINUTE_MS;

export const settleEvmSend = job({
  name: SETTLE_EVM_SEND,
  payload: Type.Object({ organizationId: Type.String(), id: Type.String(), until: Type.Optional(Type.Integer()) }),
  needs: ["evm"],
  maxAttempts: Number.POSITIVE_INFINITY,
  concurrent: true,
  async run({ payload: { organizationId, id, until }, database, evm, clock, attempts }): Promise<JobResult> {
    const one = await requireSend(database.read, organizationId, id);
    const { from, signed } = one.progress as Progress;
    if (!signed) return { next: { do: "finish" } };
    const { isSettled, paid, correction } = await look(database.read, evm, one, signed).catch(unlessTransient);
    const isRevived = one.status === "FAILED" && correction !== undefined;
    const organization = isRevived ? await organizationOf(database.read, one) : undefined;
    const isOver = isSettled || clock() > (until ?? one.createdAt + LONGEST_SETTLING_MS);
    return {
      next: isOver
        ? { do: "finish" }
        : { do: "retry", inMs: Math.min(LONGEST_PAUSE_MS, SHORTEST_PAUSE_MS * 2 ** attempts) },
      record: async (tx) => {
        if (correction && organization) await moveSend(tx, organization, one, includedAs(correction), clock());
        else if (correction) await correctIncluded(tx, one, correction, clock());
        if (one.isSponsored && paid !== undefined) await correctCost(tx, one, paid);
        if (!isOver) return;
        const owner = one.isSponsored ? INSTALLATION : organizationId;
        await freeNonces(tx, { organizationId: owner, caip2: one.caip2 as EvmChain, from }, one);
      },
    };
  },
});

const includedAs = ({ transactionHash, error }: NonNullable<Found["correction"]>): Move => ({
  to: "INCLUDED",
  transactionHash,
  ...(error ? { error } : {}),
});

interface Found {
  /** Whether enough blocks follow. */
  isSettled: boolean;
  /** Its cost in the block that includes it, if the receipt has it; the price of gas may differ in another block. */
  paid?: bigint;
  /** What to correct: after a reorganization, the block may include it with another fee, or it may have another outcome. */
  correction?: { transactionHash: string; error: TxError | undefined };
}

const NOTHING: Found = { isSettled: false };

async function look(
  read: Reader,
  evm: EvmNodes,
  one: SentTransaction,
  { olderHashes }: Pick<Signed, "olderHashes">,
): Promise<Found> {
  const caip2 = one.caip2 as EvmChain;
  const newest = await recentBlock(evm, caip2);
  // A block may include any of the versions with different fees.
  const bytes = bytesOf(one);
  for (const transactionHash of new Set([one.transactionHash, bytes.transactionHash, ...olderHashes])) {
    const receipt = await receiptOf(evm, caip2, transactionHash);
    if (!receipt) continue;
    const isSettled = newest - receipt.blockNumber >= SETTLED_BLOCKS;
    const paid = paidFor(one, receipt);
    const found: Found = { isSettled, ...(paid === undefined ? {} : { paid }) };
    const isAsKnown = transactionHash === one.transactionHash && receipt.isSuccess === (one.error === undefined);
    if (isAsKnown && one.status === "INCLUDED") return found;
    const error = receipt.isSuccess ? undefined : await minedFailure(read, evm, one, receipt.blockNumber);
    return { ...found, correction: { transactionHash, error } };
  }
  if (one.status === "INCLUDED") await broadcast(evm, caip2, bytes);
  return NOTHING;
}

/** If no node answers, nothing is settled yet. */
function unlessTransient(error: unknown): Found {
  if (error instanceof KeysteadError && error.isTransient) return NOTHING;
  throw error;
}

/** The bytes that were signed last, and their hash. */
const bytesOf = ({ signedTransaction }: SentTransaction) => ({
  signedTransaction: `0x${Buffer.from(signedTransaction).toString("hex")}`,
  transactionHash: transactionHash(parseSignedTransaction(signedTransaction, "signedTransaction")),
});
