import type { AssetBook } from "../../chains/evm/assets.ts";
import type { EvmChain } from "../../chains/evm/networks.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import { serviceKeyOwner } from "../../engine/keys/service-keys.ts";
import type { AskedSigner } from "../../engine/services.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_FOLLOWED_SPONSORED, MAX_SPONSORED_GAS } from "../../kernel/limits.ts";
import { estimateGas, feeQuote } from "../../nodes/evm-calls.ts";
import type { EvmNodes } from "../../nodes/pool.ts";
import { INSTALLATION } from "../../signer/protocol.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import type { TxError } from "../sending/model.ts";
import {
  addSend,
  digitsOf,
  enqueueFollowing,
  feesOf,
  gasWithRoom,
  greatestCost,
  isSettling,
  type Plan,
  pauseUntilFinal,
  plannedFees,
  requireSend,
  revertError,
  type SentTransaction,
  sendOf,
  toldHash,
  UNSENT,
  withinFeeCap,
  withRollupFees,
} from "../sending/store.ts";
import { nativePrice, reserveCost } from "./gas-usage.ts";
import { findSponsorKey, sponsorAddress } from "./sponsor-keys.ts";

export { SponsoredPlan } from "../sending/store.ts";
export { planDeployment } from "./deployment.ts";
export { correctCost, raiseCost, reserveCost, type SolanaSponsor, solanaSponsor } from "./gas-usage.ts";
export { sponsorAddress } from "./sponsor-keys.ts";

/**
 * Transactions on Ethereum chains that this installation pays for. They have the same guarantees as those that customers pay for: nonces are
 * assigned under the account's lock, stuck transactions are replaced, crashes do not interrupt following, and nothing is sent twice.
 *
 * An activity plans the transaction with `planSponsored`, so that policies see it. Its `run` queues the transaction with `sponsorSend`, in the
 * database transaction that stores the activity. Queries, or the activity's `effect`, learn the outcome from `sponsoredOutcome`.
 */

/** A call to send: addresses and data are 0x hex, `value` is in wei. */
export interface SponsoredCall {
  chain: EvmChain;
  to: string;
  value?: bigint;
  data?: string;
  /** If it is not given, a call that would revert now or needs too much gas is planned as failed and never sent. */
  gasLimit?: bigint;
  /** What an account signs for the call to execute. */
  execution?: Plan["execution"];
}

/** The address that pays on Ethereum chains; lowercase. */
export const evmSponsor = async (read: Reader): Promise<string> => (await sponsorAddress(read, "eip155")).toLowerCase();

export interface Sponsoring {
  evm: EvmNodes;
  /** The assets whose prices determine the cost. */
  assets: AssetBook;
  read: Reader;
  organizationId: string;
}

/**
 * Plans a transaction from the sponsor's account: determines its gas and fees.
 *
 * @throws KeysteadError CHAIN_NOT_CONFIGURED, CHAIN_UNAVAILABLE, FEE_CAP_EXCEEDED
 */
export async function planSponsored(
  { evm, assets, read, organizationId }: Sponsoring,
  { chain, to, value = 0n, data = "0x", gasLimit, execution }: SponsoredCall,
): Promise<Plan> {
  await evm.requireChain(chain);
  const from = await evmSponsor(read);
  const { fees, highest } = plannedFees({}, await feeQuote(evm, chain));
  const call = { from, to: to.toLowerCase(), value, data: data.toLowerCase() };
  const price = nativePrice(assets, chain);
  const plan = {
    ...call,
    value: String(value),
    caip2: chain,
    fees: digitsOf(fees),
    highest: digitsOf(highest),
    ...(price === undefined ? {} : { nativePrice: price }),
    ...(execution ? { execution } : {}),
  };
  const priced = async (gas: bigint) =>
    withinFeeCap(evm, await withRollupFees(evm, { ...plan, gas: String(gas) }), "sponsor");
  if (gasLimit !== undefined) return priced(gasLimit);
  const estimate = await estimateGas(evm, chain, call);
  if ("revert" in estimate) {
    return { ...plan, gas: "0", revert: await revertError(read, organizationId, UNSENT, call.to, estimate.revert) };
  }
  if (estimate.gas > MAX_SPONSORED_GAS) {
    const message = `the transaction was not sent: it takes ${estimate.gas} units of gas, but the service pays for at most ${MAX_SPONSORED_GAS}`;
    return { ...plan, gas: "0", revert: { message } };
  }
  const gas = gasWithRoom(estimate.gas);
  return priced(gas < MAX_SPONSORED_GAS ? gas : MAX_SPONSORED_GAS);
}

export interface NewSponsoredSend {
  organization: { id: string; parentId: string | null };
  /** The transaction's id, as `get_send_transaction_status` expects it. */
  id: string;
  activityId: string;
  /** The purpose that the signer records for this use of its key, such as `earn_deploy_wrapper`. */
  purpose: string;
  plan: Plan;
  /** Whether the transaction benefits everybody and so does not count toward the organization's limits. */
  isShared?: boolean;
  now: number;
}

/**
 * Queues a transaction that the sponsor signs, sends and pays for, in the database transaction that stores its activity. That must hold the
 * organization's scope, as `run` does. The greatest possible cost counts toward the parent's limits on sponsoring.
 *
 * @throws KeysteadError QUOTA_EXCEEDED, SPONSORING_DISABLED, GAS_PRICE_UNKNOWN, GAS_LIMIT_EXCEEDED
 */
export async function sponsorSend(
  tx: Transactor,
  { organization, purpose, plan, isShared = false, ...rest }: NewSponsoredSend,
): Promise<void> {
  const organizationId = organization.id;
  const send = { ...rest, organizationId };
  const { id, now } = send;
  const { caip2, from: payer } = plan;
  await addSend(tx, {
    ...send,
    caip2,
    isSponsored: true,
    // The transaction is signed later, when it gets its nonce.
    signedTransaction: Buffer.alloc(0),
    transactionHash: "",
    progress: { from: payer, ...(plan.execution ? { account: plan.execution.account } : {}) },
    isShared,
  });
  const queue = plan.execution?.account ?? id;
  await insertSponsored(tx, { organizationId, id, caip2, payer, purpose, plan: JSON.stringify(plan), queue, now });
  if (!isShared) {
    const cost = greatestCost(plan, feesOf(plan.highest));
    await reserveCost(tx, { organization, sendId: id, caip2, greatestCost: cost, price: plan.nativePrice, now });
  }
  await enqueueFollowing(tx, { organizationId: INSTALLATION, caip2, from: payer }, now);
}

/**
 * The outcome of a transaction so far. `hash` is present once it is first signed, on Solana once it is first sent to a node; it is the final
 * one once a block includes the transaction.
 */
export type SponsoredOutcome =
  | { status: "PENDING"; hash?: string }
  /** `error`: a block includes it, and it failed there. */
  | { status: "INCLUDED"; hash: string; error?: TxError }
  /** No block includes it, as far as anybody has seen. */
  | { status: "FAILED"; error: TxError };

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function sponsoredOutcome(read: Reader, organizationId: string, id: string): Promise<SponsoredOutcome> {
  const send = await requireSend(read, organizationId, id);
  const { status, transactionHash, error } = send;
  const hash = toldHash(send);
  switch (status) {
    case "INCLUDED":
      return { status, hash: transactionHash, ...(error ? { error } : {}) };
    case "FAILED":
      return { status, error: error ?? { message: "the transaction was not sent" } };
    default:
      return { status: "PENDING", ...(hash === undefined ? {} : { hash }) };
  }
}

/** What a job that follows a transaction's outcome must know. */
export interface FollowedOutcome {
  outcome: SponsoredOutcome;
  /** Whether the outcome can no longer change. Until then another block may include the transaction, or one may although it FAILED. */
  isFinal: boolean;
  /** Milliseconds until the next look at it. */
  pauseMs: number;
}

/**
 * The outcome of a transaction for a job that follows it: whatever depends on a transaction, such as a deposit or a swap, takes back or makes
 * up for what it did when the outcome changes, until it is final.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND
 */
export async function followedOutcome(
  read: Reader,
  organizationId: string,
  id: string,
  now: number,
): Promise<FollowedOutcome> {
  const send = await requireSend(read, organizationId, id);
  const hasEnded = send.status === "INCLUDED" || send.status === "FAILED";
  // On Solana, it is INCLUDED only once two thirds of the stake have voted for its block, and is not followed after that.
  const isFinal = hasEnded && (send.caip2.startsWith("solana:") || !(await isSettling(read, id)));
  // Read last: if nothing was left to change the outcome, the one that is read now is final.
  const outcome = await sponsoredOutcome(read, organizationId, id);
  return { outcome, isFinal, pauseMs: pauseUntilFinal(now - send.createdAt, outcome.status === "FAILED") };
}

/**
 * The transactions of a paying account to follow now, from all organizations: those in flight, and the oldest of each queue. Those that were
 * never put off come first, then the oldest.
 */
export async function findOpenSponsored(read: Reader, caip2: string, payer: string): Promise<SentTransaction[]> {
  const rows = await selectOpen(read, { caip2, payer });
  return rows.map((row) => ({ ...sendOf(row), isAwaited: row.queued > 1 }));
}

/** The newest transaction with this purpose that the account pays for. */
export async function lastSponsored(
  read: Reader,
  { caip2, from: payer, purpose }: { caip2: string; from: string; purpose: string },
): Promise<SentTransaction | undefined> {
  const [row] = await selectLast(read, { caip2, payer, purpose });
  return row && sendOf(row);
}

/** The plan and the purpose of a sponsored transaction. */
export async function sponsoredSend(
  read: Reader,
  { organizationId, id }: Pick<SentTransaction, "organizationId" | "id">,
): Promise<{ plan: Plan; purpose: string }> {
  const [row] = await selectSponsored(read, { organizationId, id });
  if (!row) return fail("RESOURCE_NOT_FOUND", { kind: "sponsored transaction", id, organizationId });
  return { plan: JSON.parse(row.plan) as Plan, purpose: row.purpose };
}

/** Puts a transaction off, so that others go before it, because it is not its turn yet. */
export const putOff = preparedWrite<{ organizationId: string; id: string; now: number }>()(
  (db, { organizationId, id, now }) =>
    db
      .updateTable("sponsored_sends")
      .set({ put_off_at: now })
      .where("organization_id", "=", organizationId)
      .where("id", "=", id)
      .returning("id"),
);

/**
 * Puts off all waiting transactions of an organization: those of other parents go first, then those of its own parent. The order within an
 * account stays the same.
 */
export async function putOffBehindOthers(
  tx: Transactor,
  {
    organization,
    caip2,
    from: payer,
    now,
  }: { organization: { id: string; parentId: string | null }; caip2: string; from: string; now: number },
): Promise<void> {
  await putOffFamily(tx, { caip2, payer, rootId: rootIdOf(organization), now: now - 1 });
  await putOffAll(tx, { caip2, payer, organizationId: organization.id, now });
}

/** Puts off those of a parent and its sub-organizations that were never put off before. */
const putOffFamily = preparedWrite<{ caip2: string; payer: string; rootId: string; now: number }>()(
  (db, { caip2, payer, rootId, now }) =>
    db
      .updateTable("sponsored_sends")
      .set({ put_off_at: now })
      .where("caip2", "=", caip2)
      .where("payer", "=", payer)
      .where("ended_at", "is", null)
      .where("put_off_at", "=", 0)
      .where((where) =>
        where.or([
          where("organization_id", "=", rootId),
          where(
            "organization_id",
            "in",
            where.selectFrom("organizations").select("id").where("parent_id", "=", rootId),
          ),
        ]),
      )
      .returning("id"),
);

const putOffAll = preparedWrite<{ caip2: string; payer: string; organizationId: string; now: number }>()(
  (db, { caip2, payer, organizationId, now }) =>
    db
      .updateTable("sponsored_sends")
      .set({ put_off_at: now })
      .where("caip2", "=", caip2)
      .where("payer", "=", payer)
      .where("ended_at", "is", null)
      .where("organization_id", "=", organizationId)
      .returning("id"),
);

/** Notes that the transaction need not be followed any more. */
export const endSponsored = preparedWrite<{ organizationId: string; id: string; now: number }>()(
  (db, { organizationId, id, now }) =>
    db
      .updateTable("sponsored_sends")
      .set({ ended_at: now })
      .where("organization_id", "=", organizationId)
      .where("id", "=", id)
      .returning("id"),
);

/**
 * Signs a transaction from the sponsor's account.
 *
 * @param transaction the unsigned transaction
 * @param signer the signer for the activity that the transaction belongs to
 */
export async function signAsSponsor(
  { read, signer }: { read: Reader; signer: AskedSigner<"signSponsorTransaction"> },
  { organizationId, caip2, payer, purpose }: { organizationId: string; caip2: string; payer: string; purpose: string },
  transaction: Uint8Array,
): Promise<{ r: string; s: string; v: string }> {
  const key = await findSponsorKey(read, caip2.startsWith("solana:") ? "solana" : "eip155", payer);
  const { organizationKey: installationKey } = await serviceKeyOwner(read);
  const { signature } = await signer.ask({
    verb: "signSponsorTransaction",
    organizationId,
    installationKey,
    key: { keyId: key.id, curve: key.curve, sealedKey: Buffer.from(key.sealedKey).toString("base64") },
    transaction: Buffer.from(transaction).toString("base64"),
    purpose,
  });
  return signature;
}

const insertSponsored = preparedWrite<{
  organizationId: string;
  id: string;
  caip2: string;
  payer: string;
  purpose: string;
  plan: string;
  queue: string;
  now: number;
}>()((db, row) =>
  db
    .insertInto("sponsored_sends")
    .values({
      organization_id: row.organizationId,
      id: row.id,
      caip2: row.caip2,
      payer: row.payer,
      purpose: row.purpose,
      plan: row.plan,
      queue: row.queue,
      put_off_at: 0,
      ended_at: null,
      created_at: row.now,
    })
    .returning("id"),
);

const selectOpen = prepared<{ caip2: string; payer: string }>()((db, { caip2, payer }) =>
  db
    .selectFrom((inner) =>
      inner
        .selectFrom("sponsored_sends")
        .select(["organization_id", "id", "put_off_at"])
        .select(({ fn }) => [
          fn
            .agg<number>("row_number")
            .over((over) => over.partitionBy("queue").orderBy("created_at").orderBy("id"))
            .as("place"),
          fn
            .countAll<number>()
            .over((over) => over.partitionBy("queue"))
            .as("queued"),
        ])
        .where("caip2", "=", caip2)
        .where("payer", "=", payer)
        .where("ended_at", "is", null)
        .as("p"),
    )
    .innerJoin("send_transactions as s", (join) =>
      join.onRef("s.organization_id", "=", "p.organization_id").onRef("s.id", "=", "p.id"),
    )
    .selectAll("s")
    .select("p.queued")
    .where((where) => where.or([where("p.place", "=", 1), where("s.status", "=", "BROADCASTING")]))
    .orderBy((order) => order("s.status", "=", "BROADCASTING"), "desc")
    .orderBy("p.put_off_at")
    .orderBy("s.created_at")
    .orderBy("s.id")
    .limit(MAX_FOLLOWED_SPONSORED),
);

const selectLast = prepared<{ caip2: string; payer: string; purpose: string }>()((db, { caip2, payer, purpose }) =>
  db
    .selectFrom("sponsored_sends as p")
    .innerJoin("send_transactions as s", (join) =>
      join.onRef("s.organization_id", "=", "p.organization_id").onRef("s.id", "=", "p.id"),
    )
    .selectAll("s")
    .where("p.caip2", "=", caip2)
    .where("p.payer", "=", payer)
    .where("p.purpose", "=", purpose)
    .orderBy("p.created_at", "desc")
    .limit(1),
);

const selectSponsored = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db
    .selectFrom("sponsored_sends")
    .select(["plan", "purpose"])
    .where("organization_id", "=", organizationId)
    .where("id", "=", id),
);
