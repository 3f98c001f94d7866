import { isDeepStrictEqual } from "node:util";
import { Type } from "typebox";
import { type AssetBook, tokenId } from "../../chains/evm/assets.ts";
import { chainIdOf, type EvmChain, isEvmChain } from "../../chains/evm/networks.ts";
import { findOrganization, rootIdOf } from "../../engine/identity/organizations.ts";
import { type JobContext, type JobResult, job } from "../../engine/jobs/jobs.ts";
import type { Organization } from "../../engine/operations.ts";
import { MINUTE_MS } from "../../kernel/durations.ts";
import { fail } from "../../kernel/errors.ts";
import { SWAP_REFUND_MS } from "../../kernel/limits.ts";
import { transfersOf } from "../../nodes/evm-transfers.ts";
import { gainsIn } from "../../nodes/solana-blocks.ts";
import { SwapProblem, type SwapSettlement } from "../../providers/swaps/provider.ts";
import { AWAY_PAUSE_MS, unlessAway as unlessNodeAway } from "../sending/store.ts";
import { followedOutcome, type SponsoredOutcome } from "../sponsoring/store.ts";
import type { Refund } from "./model.ts";
import { asOfOrigin } from "./origin.ts";
import { swapCluster } from "./services.ts";
import { FOLLOW_SWAP, findSwap, noteSwap, type Swap } from "./store.ts";

/**
 * Follows a swap to its end. The input's chain is the source for what happens there, and the provider for what happens on another chain. The
 * provider is polled until everything is known; amounts and refunds that it reports later are added. The outcome of the transaction is read
 * again until it is final: a reorganization may change it, and a block may include what nodes rejected.
 */

/** The interval if the operator no longer configures a provider. */
const USUAL_PAUSE_MS = 5000;
/** Polling slows down with a swap's age: the interval is this part of the age, ... */
const PART_OF_AGE = 1 / 10;
/** ... but at most this long. */
const RAREST_MS = 10 * MINUTE_MS;

export const followSwap = job({
  name: FOLLOW_SWAP,
  payload: Type.Object({ organizationId: Type.String(), id: Type.String() }),
  needs: ["swaps", "evm", "solana", "assets"],
  maxAttempts: Number.POSITIVE_INFINITY,
  async run(context): Promise<JobResult> {
    const { payload, database, clock, swaps } = context;
    const { read } = database;
    const swap = await findSwap(read, payload.organizationId, payload.id);
    const organization = swap && (await findOrganization(read, swap.organizationId));
    const age = clock() - (swap?.createdAt ?? 0);
    if (!swap || !organization) return { next: { do: "finish" } };
    if (swap.status !== "PENDING" && age > SWAP_REFUND_MS) return { next: { do: "finish" } };
    const { outcome, isFinal, pauseMs } = await followedOutcome(read, swap.organizationId, swap.sendId, clock());
    if (outcome.status === "PENDING") return { next: { do: "retry", inMs: pauseMs } };
    const current = asOfOrigin(swap, outcome);
    const learned = await learn(context, { swap: current, organization, outcome, isFinal }).catch(unlessAway);
    const { status, outputAmount, destinationHashes, refund, error } = { ...current, ...learned };
    const known = { status, outputAmount, destinationHashes, refund, error };
    const usual = learned ? (swaps?.terms.pollMs ?? USUAL_PAUSE_MS) : AWAY_PAUSE_MS;
    const inMs = outcome.status === "FAILED" ? pauseMs : Math.min(RAREST_MS, Math.max(usual, age * PART_OF_AGE));
    const isOver = learned !== undefined && nothingIsLeft({ ...swap, ...known }, isFinal);
    return {
      next: isOver ? { do: "finish" } : { do: "retry", inMs },
      ...(isNew(swap, known) ? { record: (tx) => noteSwap(tx, swap, known, clock()) } : {}),
    };
  },
});

/** Whether everything about the swap is known and final. @param isFinal whether the outcome of the input's transaction is final */
function nothingIsLeft({ status, kind, outputAmount, error, refund }: Swap, isFinal: boolean): boolean {
  if (status === "PENDING") return false;
  if (error?.reason === "ORIGIN_TRANSACTION_FAILED") return isFinal;
  if (status === "FAILED") return refund !== undefined;
  return outputAmount !== undefined && (kind === "CROSS_CHAIN" || isFinal);
}

const isNew = (swap: Swap, known: Known): boolean =>
  Object.entries(known).some(([name, value]) => !isDeepStrictEqual(value, swap[name as keyof Known]));

/** Swallows errors of unavailable nodes and of the provider, after which polling continues; rethrows all others. */
const unlessAway = (error: unknown): undefined => (error instanceof SwapProblem ? undefined : unlessNodeAway(error));

type Known = Partial<Parameters<typeof noteSwap>[2]>;
type Needs = "swaps" | "evm" | "solana" | "assets";
type Context = Pick<JobContext<unknown, Needs>, Needs>;
interface Followed {
  swap: Swap;
  organization: Organization;
  outcome: Exclude<SponsoredOutcome, { status: "PENDING" }>;
  /** Whether the outcome can no longer change. */
  isFinal: boolean;
}

/** The new information on a swap; empty if there is none. */
async function learn(context: Context, followed: Followed): Promise<Known> {
  const { swap, outcome, isFinal } = followed;
  if (outcome.status === "FAILED" || outcome.error) return {};
  if (swap.kind === "CROSS_CHAIN") return learnFromProvider(context, followed);
  // The amount is read once when a block includes the transaction, and again when that block is final.
  if (swap.outputAmount !== undefined && !isFinal) return {};
  const asked = amountIn(context, followed, outcome.hash);
  const outputAmount = await (swap.status === "PENDING" ? asked.catch(unlessAway) : asked);
  return { status: "COMPLETED", ...(outputAmount === undefined ? {} : { outputAmount }) };
}

const chainIn = (caip19: string): EvmChain => caip19.slice(0, caip19.indexOf("/")) as EvmChain;

const NO_RECEIPT = "no node returns the receipt of a transaction that is in a block";

/** The net amount of the output token that the wallet received in a transaction; undefined if it is not known yet. */
async function amountIn(context: Context, followed: Followed, hash: string): Promise<string | undefined> {
  const { walletAddress, outputToken } = followed.swap;
  if (outputToken.startsWith("solana:")) return amountOnSolana(context, followed, hash);
  const [, contract] = /\/erc20:(.*)$/.exec(outputToken) ?? [];
  const token = contract?.toLowerCase() ?? null;
  const of = token === null ? "native asset" : "tokens";
  const transfers = await transfersOf(context.evm, chainIn(outputToken), hash, of);
  if (transfers === "untold") return (await settlementOf(context, followed))?.outputAmount;
  // Do not keep an amount that was read from an earlier block if the final block cannot be read.
  if (!transfers && followed.isFinal) fail("CHAIN_UNAVAILABLE", { chain: chainIn(outputToken), reason: NO_RECEIPT });
  if (!transfers) return undefined;
  let net = 0n;
  for (const { token: moved, from, to, amount } of transfers) {
    if (moved !== token) continue;
    if (to === walletAddress) net += amount;
    if (from === walletAddress) net -= amount;
  }
  return String(net);
}

/** The same on Solana, from the balances before and after the transaction. */
async function amountOnSolana(
  { solana }: Context,
  { swap: { walletAddress: wallet, outputToken }, isFinal }: Followed,
  signature: string,
): Promise<string | undefined> {
  const gains = await gainsIn(solana, swapCluster, { signature, wallet });
  if (!gains && isFinal) fail("CHAIN_UNAVAILABLE", { chain: swapCluster, reason: NO_RECEIPT });
  if (!gains) return undefined;
  const [, mint] = /\/token:(.*)$/.exec(outputToken) ?? [];
  return String(mint === undefined ? gains.lamports : (gains.tokens.get(mint) ?? 0n));
}

const settlementOf = async (
  { swaps }: Context,
  { swap, organization }: Followed,
): Promise<SwapSettlement | undefined> =>
  swaps?.settlementOf(rootIdOf(organization), swap.providerRequestId, Number(chainIdOf(chainIn(swap.inputToken))));

async function learnFromProvider(context: Context, followed: Followed): Promise<Known> {
  const { swaps } = context;
  const { swap, organization } = followed;
  if (!swaps) return {};
  if (swap.status === "PENDING") {
    const progress = await swaps.progressOf(rootIdOf(organization), swap.providerRequestId);
    if (progress.status === "PENDING") return {};
    const end: Known =
      progress.status === "COMPLETED"
        ? { status: "COMPLETED", destinationHashes: progress.hashes }
        : { status: "FAILED", error: fillError(progress.reason) };
    return { ...end, ...(await detailsOf(context, followed, progress.status).catch(unlessAway)) };
  }
  return detailsOf(context, followed, swap.status);
}

const fillError = (reason: string | undefined) => ({
  reason: "PROVIDER_FILL_FAILED" as const,
  message: "the provider could not complete the swap on the chain of the output",
  ...(reason === undefined ? {} : { providerReason: reason }),
});

/** The output amount or the refund, once the provider reports it. */
async function detailsOf(context: Context, followed: Followed, status: Swap["status"]): Promise<Known> {
  const settlement = await settlementOf(context, followed);
  if (status === "COMPLETED") {
    const { outputAmount } = settlement ?? {};
    return outputAmount === undefined ? {} : { outputAmount };
  }
  const refund = refundOf(context.assets, settlement?.refund);
  return refund ? { refund } : {};
}

function refundOf(assets: AssetBook, refund: SwapSettlement["refund"]): Refund | undefined {
  if (!refund) return undefined;
  const chain = `eip155:${refund.chainId}`;
  if (!isEvmChain(chain)) return undefined;
  const asset = refund.token === null ? assets.assetOf(chain, null)?.caip19 : tokenId(chain, refund.token);
  if (asset === undefined) return undefined;
  const { amount, transactionHash } = refund;
  return { asset, amount, ...(transactionHash === undefined ? {} : { txHash: transactionHash }) };
}
