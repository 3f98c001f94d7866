import { Type } from "typebox";
import { type SolanaChain, solanaChains } from "../../../chains/solana/networks.ts";
import { costOfSponsored } from "../../../chains/solana/sponsored.ts";
import { parseTransaction } from "../../../chains/solana/transaction.ts";
import { OneOf } from "../../../engine/fields.ts";
import { findOrganization } from "../../../engine/identity/organizations.ts";
import { type JobContext, job } from "../../../engine/jobs/jobs.ts";
import type { Organization } from "../../../engine/operations.ts";
import {
  executionFailure,
  knownBy,
  type SolanaFailure,
  send,
  signatureStatuses,
  simulate,
  tooOldSince,
} from "../../../nodes/solana-calls.ts";
import { correctCost } from "../../sponsoring/store.ts";
import { followOnce, pauseFor, severalAtATime } from "../following.ts";
import type { TxError } from "../model.ts";
import { findOpenSends, type Move, moveSend, noteGiven, openTimes, type SentTransaction } from "../store.ts";
import { enqueueFollowing, FOLLOW_SOLANA_SENDS, laneOf } from "./queue.ts";
import { TRANSACTION_FIELD } from "./unsponsored.ts";

/**
 * Follows an organization's transactions on a cluster from their commit to their end. It sends exactly the committed bytes. Any number of
 * processes may send them any number of times, because the chain executes them only once.
 *
 * A transaction is simulated before anybody receives it or even its signature. Only at that point may a failed simulation end it. Once it is
 * BROADCASTING, a node may have it, and only the chain decides how it ends: a block includes it, or none can any more because its blockhash is
 * too old.
 */

/** The shortest pause between two rounds. */
const SHORTEST_PAUSE_MS = 400;
/** A transaction that is in no block is sent to a node again after this long. */
const RESEND_MS = 2000;

const Payload = Type.Object({ organizationId: Type.String(), caip2: OneOf(solanaChains) });
type Context = JobContext<{ organizationId: string; caip2: SolanaChain }, "solana">;

/** What is stored about a transaction between rounds. */
interface Progress {
  /** A slot at which its blockhash certainly existed. */
  knownAt: number;
  /** Why a node last rejected it. */
  refusal?: SolanaFailure;
}

export const followSolanaSends = job({
  name: FOLLOW_SOLANA_SENDS,
  payload: Payload,
  needs: ["solana"],
  maxAttempts: Number.POSITIVE_INFINITY,
  run: (context) => {
    const { organizationId, caip2 } = context.payload;
    return followOnce({
      context,
      lane: laneOf(context.payload),
      look: () => look(context),
      openOf: (read) => openTimes(read, organizationId, caip2),
      pauseAfter: (_, youngestMs) => pauseFor(youngestMs, SHORTEST_PAUSE_MS),
      enqueue: (tx, now) => enqueueFollowing(tx, context.payload, now),
    });
  },
});

/** One round. A problem with one transaction does not hold up the others; the first problem is thrown at the end. */
async function look(context: Context): Promise<boolean> {
  const { payload, database, clock } = context;
  const { organizationId, caip2 } = payload;
  const organization = await findOrganization(database.read, organizationId);
  const open = await findOpenSends(database.read, organizationId, caip2);
  if (!organization || open.length === 0) return false;
  const follower: Follower = { ...context, organization, problems: [] };
  const [fresh, sent] = [open.filter(isFresh), open.filter((one) => !isFresh(one))];
  const { waiting } = await settleFound(follower, sent);
  const admitted = await tryOut(follower, fresh);
  const due = waiting.filter((one) => clock() - (one.sentAt ?? 0) >= RESEND_MS);
  const still = await settleTooOld(follower, due);
  await giveToNodes(follower, [...admitted, ...still]);
  const [problem] = follower.problems;
  if (problem !== undefined) throw problem;
  return false;
}

type Follower = Context & {
  organization: Organization;
  /** The errors of individual transactions. */
  problems: unknown[];
};

const isFresh = ({ status }: SentTransaction): boolean => status === "INITIALIZED";

/** Ends those in a confirmed block. Resolves to those in no block; those in an unconfirmed block are in neither group. */
async function settleFound(
  follower: Follower,
  open: readonly SentTransaction[],
): Promise<{ slot: number; waiting: SentTransaction[] }> {
  const { solana, payload } = follower;
  if (open.length === 0) return { slot: 0, waiting: [] };
  const hashes = open.map(({ transactionHash }) => transactionHash);
  const { slot, statuses } = await signatureStatuses(solana, payload.caip2, hashes);
  const moves: Moves = [];
  const waiting: SentTransaction[] = [];
  for (const [index, one] of open.entries()) {
    const status = statuses[index];
    if (status?.isConfirmed) moves.push([one, includedWith(status.error)]);
    else if (!status) waiting.push(one);
  }
  await moveAll(follower, moves);
  return { slot, waiting };
}

function includedWith(error: unknown): Move {
  if (error === undefined) return { to: "INCLUDED" };
  return {
    to: "INCLUDED",
    error: txError("the transaction was included in a block, but failed", executionFailure(error)),
  };
}

/** Simulates new transactions before any node has them, and ends those that fail. Resolves to the others, which are then BROADCASTING. */
async function tryOut(follower: Follower, fresh: readonly SentTransaction[]): Promise<SentTransaction[]> {
  const { solana, payload } = follower;
  const moves: Moves = [];
  const admitted: SentTransaction[] = [];
  const now = follower.clock();
  await severalAtATime(follower.problems, fresh, async (one) => {
    const { slot, failure } = await simulate(solana, payload.caip2, one.signedTransaction);
    if (failure) {
      moves.push([
        one,
        { to: "FAILED", error: txError("the transaction was not sent because it would fail", failure) },
      ]);
      return;
    }
    const progress: Progress = { knownAt: slot ?? (await knownBy(solana, payload.caip2, blockhashOf(one))) };
    moves.push([one, { to: "BROADCASTING", progress }]);
    admitted.push({ ...one, status: "BROADCASTING", sentAt: now, progress });
  });
  await moveAll(follower, moves, now);
  return admitted;
}

/** Ends those that no block can include any more; resolves to the others. */
async function settleTooOld(follower: Follower, sent: readonly SentTransaction[]): Promise<SentTransaction[]> {
  const { solana, payload } = follower;
  const old = new Set<SentTransaction>();
  let newestFinal = 0;
  const groups = [...Map.groupBy(sent, blockhashOf)];
  await severalAtATime(follower.problems, groups, async ([blockhash, those]) => {
    const knownAt = Math.max(...those.map((one) => progressOf(one).knownAt));
    const final = await tooOldSince(solana, payload.caip2, { blockhash, knownAt });
    if (final === undefined) return;
    newestFinal = Math.max(newestFinal, final);
    for (const one of those) old.add(one);
  });
  const still = sent.filter((one) => !old.has(one));
  if (old.size > 0) {
    // The last block that could include one may have come since its status was read.
    const { slot, waiting } = await settleFound(follower, [...old]);
    // The node that answered is behind and may not know that block yet.
    if (slot < newestFinal) return [...still, ...waiting];
    await moveAll(
      follower,
      waiting.map((one) => [one, { to: "FAILED", error: tooOldError(one) }]),
    );
  }
  return still;
}

function tooOldError(one: SentTransaction): TxError {
  const { refusal } = progressOf(one);
  const text = `no block included the transaction before its blockhash ${blockhashOf(one)} became too old`;
  return refusal ? txError(`${text}; nodes did not take it`, refusal) : { message: text };
}

/** Sends transactions to nodes, and stores when, and why a node rejected one. */
async function giveToNodes(follower: Follower, all: readonly SentTransaction[]): Promise<void> {
  const { solana, payload, database, clock } = follower;
  const given: { one: SentTransaction; progress: Progress }[] = [];
  await severalAtATime(follower.problems, all, async (one) => {
    const { signedTransaction: signed, transactionHash: signature } = one;
    const { refusal } = await send(solana, payload.caip2, { signed, signature });
    given.push({ one, progress: { knownAt: progressOf(one).knownAt, ...(refusal ? { refusal } : {}) } });
  });
  if (given.length === 0) return;
  await database.transact(laneOf(payload), async (tx) => {
    for (const { one, progress } of given) await noteGiven(tx, one, progress, clock());
  });
}

type Moves = [SentTransaction, Move][];

async function moveAll(
  { payload, database, organization, clock }: Follower,
  moves: Moves,
  now = clock(),
): Promise<void> {
  if (moves.length === 0) return;
  await database.transact(laneOf(payload), async (tx) => {
    for (const [one, move] of moves) {
      const isMoved = await moveSend(tx, organization, one, move, now);
      if (isMoved && one.isSponsored && move.to !== "BROADCASTING") await correctCost(tx, one, paidFor(one, move));
    }
  });
}

/** What the sponsor paid: nothing if no block includes the transaction, and only the fee if it failed in its block. */
function paidFor({ signedTransaction }: SentTransaction, move: Move): bigint {
  if (move.to === "FAILED") return 0n;
  const { fee, grants } = costOfSponsored(parseTransaction(signedTransaction, TRANSACTION_FIELD));
  return "error" in move ? fee : fee + grants;
}

const progressOf = ({ progress }: SentTransaction): Progress => progress as Progress;

const blockhashOf = ({ signedTransaction }: SentTransaction): string =>
  parseTransaction(signedTransaction, TRANSACTION_FIELD).recentBlockhash;

/** An error whose message includes the cause in one line. */
function txError(text: string, solana: SolanaFailure): TxError {
  const cause = solana.rpcMessage ?? solana.transactionErrorJson;
  return { message: cause === undefined ? text : `${text}: ${cause}`, solana };
}
