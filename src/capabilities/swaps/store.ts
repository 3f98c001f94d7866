import { enqueue } from "../../engine/jobs/jobs.ts";
import type { Services } from "../../engine/services.ts";
import { fail, failForNow } from "../../kernel/errors.ts";
import { MAX_SWAP_QUOTES } from "../../kernel/limits.ts";
import { type SwapOffer, SwapProblem } from "../../providers/swaps/provider.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";
import type { TxError } from "../sending/model.ts";
import type { Refund } from "./model.ts";

/** Stores fees, quotes and swaps. Addresses are lowercase. */

type SwapService = NonNullable<Services["swaps"]>;

/** @throws KeysteadError SWAPS_NOT_CONFIGURED */
export const requireSwaps = (swaps: Services["swaps"]): SwapService => swaps ?? fail("SWAPS_NOT_CONFIGURED", {});

/**
 * Calls the provider and translates its errors.
 *
 * @throws KeysteadError SWAP_REFUSED, SWAP_QUOTE_REFUSED or SWAPS_UNAVAILABLE
 */
export async function asking<T>({ provider }: SwapService, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof SwapProblem)) throw error;
    const { message: reason } = error;
    if (error.of === "order") return fail("SWAP_REFUSED", { provider, reason });
    if (error.of === "offer") return fail("SWAP_QUOTE_REFUSED", { provider, reason });
    if (error.of === "account") {
      return fail("SWAPS_UNAVAILABLE", {
        provider,
        reason: `${reason}; the operator of this server must set the provider's key`,
      });
    }
    if (error.pauseMs === undefined) return fail("SWAPS_UNAVAILABLE", { provider, reason });
    return failForNow("SWAPS_UNAVAILABLE", { provider, reason }, Math.ceil(error.pauseMs / 1000));
  }
}

export interface SwapConfig {
  /** Digits; undefined if none was given. */
  feeBps: string | undefined;
  stableFeeBps: string | undefined;
  receiver: string | undefined;
  /** The address of the wallet that was created to receive the fees. */
  madeReceiver: string | undefined;
}

/** A parent's configuration of fees; undefined if it has never set one. */
export async function findConfig(read: Reader, organizationId: string): Promise<SwapConfig | undefined> {
  const [row] = await selectConfig(read, { organizationId });
  return (
    row && {
      feeBps: row.fee_bps ?? undefined,
      stableFeeBps: row.stable_fee_bps ?? undefined,
      receiver: row.receiver ?? undefined,
      madeReceiver: row.made_receiver ?? undefined,
    }
  );
}

/** Replaces a parent's configuration. */
export async function putConfig(
  tx: Transactor,
  organizationId: string,
  config: SwapConfig,
  now: number,
): Promise<void> {
  const row = {
    fee_bps: config.feeBps ?? null,
    stable_fee_bps: config.stableFeeBps ?? null,
    receiver: config.receiver ?? null,
    made_receiver: config.madeReceiver ?? null,
    updated_at: now,
  };
  await tx
    .insertInto("swap_configs")
    .values({ organization_id: organizationId, ...row, created_at: now })
    .onConflict((conflict) => conflict.columns(["organization_id"]).doUpdateSet(row))
    .execute();
}

export interface StoredQuote {
  organizationId: string;
  id: string;
  /** The text whose hash is the id. */
  terms: string;
  provider: string;
  offer: SwapOffer;
  /** Milliseconds. */
  expiresAt: number;
}

/** Stores a quote. If there are more than MAX_SWAP_QUOTES, those that expire first are deleted. Must hold the organization's scope. */
export async function addQuote(tx: Transactor, quote: StoredQuote, now: number): Promise<void> {
  const { organizationId, id, terms, provider, offer, expiresAt } = quote;
  await tx
    .insertInto("swap_quotes")
    .values({
      organization_id: organizationId,
      id,
      terms,
      provider,
      offer: JSON.stringify(offer),
      expires_at: expiresAt,
      created_at: now,
      updated_at: now,
    })
    .execute();
  const [first] = await selectBeyond(tx, { organizationId });
  if (first) await deleteExpired(tx, { organizationId, before: first.expires_at + 1 });
}

/**
 * Finds a quote that has not been used.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND, SWAP_QUOTE_ALREADY_USED
 */
export async function requireQuote(read: Reader, organizationId: string, id: string): Promise<StoredQuote> {
  const [row] = await selectQuote(read, { organizationId, id });
  // Read the use after the quote: one that is stored between the two reads has deleted the quote.
  if ((await selectUse(read, { organizationId, id })).length > 0) fail("SWAP_QUOTE_ALREADY_USED", { quoteId: id });
  if (!row) return fail("RESOURCE_NOT_FOUND", { kind: "swap quote", id, organizationId });
  const { terms, provider, offer, expires_at: expiresAt } = row;
  return { organizationId, id, terms, provider, offer: JSON.parse(offer) as SwapOffer, expiresAt };
}

/** Why a swap failed, as the API shows it. */
export interface SwapError {
  reason: "ORIGIN_TRANSACTION_FAILED" | "PROVIDER_FILL_FAILED";
  message: string;
  originTxError?: TxError;
  providerReason?: string;
}

export interface Swap {
  organizationId: string;
  /** The activity's fingerprint. */
  id: string;
  quoteId: string;
  /** The id of the swap's transaction. */
  sendId: string;
  provider: string;
  providerRequestId: string;
  kind: Schema["swaps"]["kind"];
  walletAddress: string;
  inputToken: string;
  outputToken: string;
  inputAmount: string;
  status: Schema["swaps"]["status"];
  outputAmount: string | undefined;
  destinationHashes: string[] | undefined;
  refund: Refund | undefined;
  error: SwapError | undefined;
  createdAt: number;
  updatedAt: number;
}

/**
 * Uses up a quote, stores the swap, and queues the job that follows it.
 *
 * @throws KeysteadError SWAP_QUOTE_ALREADY_USED
 */
export async function addSwap(
  tx: Transactor,
  swap: Omit<Swap, "status" | "outputAmount" | "destinationHashes" | "refund" | "error" | "createdAt" | "updatedAt">,
  now: number,
): Promise<void> {
  const { organizationId, id, quoteId } = swap;
  const taken = await insertSwap(tx, { ...swap, now });
  if (taken.length === 0) fail("SWAP_QUOTE_ALREADY_USED", { quoteId });
  await deleteQuote(tx, { organizationId, id: quoteId });
  const lane = `swap:${organizationId}:${id}`;
  const kind = FOLLOW_SWAP;
  const payload = { organizationId, id };
  // The gate is the source of the outcome: a slow chain delays only swaps on that chain, and a slow provider only those between chains.
  const chain = swap.inputToken.slice(0, swap.inputToken.indexOf("/"));
  const gate = `swaps:${swap.kind === "SAME_CHAIN" ? chain : swap.provider}`;
  await enqueue(tx, { kind, payload, lane, gate, organizationId, runAt: now, now, key: lane });
}

/** The job kind that follows a swap; `follow-swap.ts` declares it. */
export const FOLLOW_SWAP = "follow_swap";

export async function findSwap(read: Reader, organizationId: string, id: string): Promise<Swap | undefined> {
  const [row] = await selectSwap(read, { organizationId, id });
  return row && swapOf(row);
}

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export const requireSwap = async (read: Reader, organizationId: string, id: string): Promise<Swap> =>
  (await findSwap(read, organizationId, id)) ?? fail("RESOURCE_NOT_FOUND", { kind: "swap", id, organizationId });

/** Stores the current state of a swap. Does nothing if its status has been changed since it was read. */
export async function noteSwap(
  tx: Transactor,
  swap: Swap,
  known: Pick<Swap, "status" | "outputAmount" | "destinationHashes" | "refund" | "error">,
  now: number,
): Promise<void> {
  const { organizationId, id, status: before } = swap;
  const { status, outputAmount, destinationHashes, refund, error } = known;
  await updateSwap(tx, {
    organizationId,
    id,
    before,
    status,
    outputAmount: outputAmount ?? null,
    destinationHashes: jsonOf(destinationHashes),
    refund: jsonOf(refund),
    error: jsonOf(error),
    now,
  });
}

const jsonOf = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));
const parsed = <T>(text: string | null): T | undefined => (text === null ? undefined : (JSON.parse(text) as T));

const swapOf = (row: Schema["swaps"]): Swap => ({
  organizationId: row.organization_id,
  id: row.id,
  quoteId: row.quote_id,
  sendId: row.send_id,
  provider: row.provider,
  providerRequestId: row.provider_request_id,
  kind: row.kind,
  walletAddress: row.wallet_address,
  inputToken: row.input_token,
  outputToken: row.output_token,
  inputAmount: row.input_amount,
  status: row.status,
  outputAmount: row.output_amount ?? undefined,
  destinationHashes: parsed(row.destination_hashes),
  refund: parsed(row.refund),
  error: parsed(row.error),
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

const selectConfig = prepared<{ organizationId: string }>()((db, { organizationId }) =>
  db.selectFrom("swap_configs").selectAll().where("organization_id", "=", organizationId),
);

const selectQuote = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db.selectFrom("swap_quotes").selectAll().where("organization_id", "=", organizationId).where("id", "=", id),
);

/** The latest expiry among the quotes beyond the limit. */
const selectBeyond = prepared<{ organizationId: string }>()((db, { organizationId }) =>
  db
    .selectFrom("swap_quotes")
    .select("expires_at")
    .where("organization_id", "=", organizationId)
    .orderBy("expires_at", "desc")
    .offset(MAX_SWAP_QUOTES)
    .limit(1),
);

const deleteExpired = preparedWrite<{ organizationId: string; before: number }>()((db, { organizationId, before }) =>
  db
    .deleteFrom("swap_quotes")
    .where("organization_id", "=", organizationId)
    .where("expires_at", "<", before)
    .returning("id"),
);

const deleteQuote = preparedWrite<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db.deleteFrom("swap_quotes").where("organization_id", "=", organizationId).where("id", "=", id).returning("id"),
);

const selectUse = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db.selectFrom("swaps").select("id").where("organization_id", "=", organizationId).where("quote_id", "=", id),
);

const selectSwap = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db.selectFrom("swaps").selectAll().where("organization_id", "=", organizationId).where("id", "=", id),
);

const insertSwap = preparedWrite<
  Omit<Swap, "status" | "outputAmount" | "destinationHashes" | "refund" | "error" | "createdAt" | "updatedAt"> & {
    now: number;
  }
>()((db, row) =>
  db
    .insertInto("swaps")
    .values({
      organization_id: row.organizationId,
      id: row.id,
      quote_id: row.quoteId,
      send_id: row.sendId,
      provider: row.provider,
      provider_request_id: row.providerRequestId,
      kind: row.kind,
      wallet_address: row.walletAddress,
      input_token: row.inputToken,
      output_token: row.outputToken,
      input_amount: row.inputAmount,
      status: "PENDING",
      output_amount: null,
      destination_hashes: null,
      refund: null,
      error: null,
      created_at: row.now,
      updated_at: row.now,
    })
    .onConflict((conflict) => conflict.columns(["organization_id", "quote_id"]).doNothing())
    .returning("id"),
);

const updateSwap = preparedWrite<{
  organizationId: string;
  id: string;
  before: Swap["status"];
  status: Swap["status"];
  outputAmount: string | null;
  destinationHashes: string | null;
  refund: string | null;
  error: string | null;
  now: number;
}>()((db, row) =>
  db
    .updateTable("swaps")
    .set({
      status: row.status,
      output_amount: row.outputAmount,
      destination_hashes: row.destinationHashes,
      refund: row.refund,
      error: row.error,
      updated_at: row.now,
    })
    .where("organization_id", "=", row.organizationId)
    .where("id", "=", row.id)
    .where("status", "=", row.before)
    .returning("id"),
);
