import type { AssetBook } from "../../chains/evm/assets.ts";
import { type EvmChain, evmChains } from "../../chains/evm/networks.ts";
import { SOL } from "../../chains/solana/assets.ts";
import { type SolanaChain, solanaChains } from "../../chains/solana/networks.ts";
import type { Services } from "../../engine/services.ts";
import { MINUTE_MS } from "../../kernel/durations.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_SPONSORED_USD } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import { sponsorAddress } from "./sponsor-keys.ts";
import { costOf, microUsd, shownUsd } from "./usd.ts";

/**
 * The cost of sponsoring, and its limits. A parent sets one limit for itself together with its sub-organizations, and one for each
 * sub-organization. The greatest possible cost of a transaction is counted when it is queued, and replaced by the actual cost once that is
 * known.
 *
 * Costs are summed per minute, in one row for each organization; a parent's rows include its sub-organizations' costs. A minute counts until
 * all of it is older than the window.
 */

export interface GasUsageConfig {
  id: string;
  /** As the user wrote it; `0` means no limit. */
  orgLimitUsd: string;
  subOrgLimitUsd: string;
  windowMinutes: number;
  isEnabled: boolean;
  /** Whether rent on Solana is paid, on clusters for which the operator allows it. */
  paysRent: boolean;
}

/** Applies to parents without a configuration: no limits, and usage is reported for a day. */
const UNLIMITED = { orgLimitUsd: "0", subOrgLimitUsd: "0", windowMinutes: 24 * 60, isEnabled: true, paysRent: true };

interface Payer {
  id: string;
  parentId: string | null;
}

const minuteOf = (now: number): number => Math.floor(now / MINUTE_MS);

/** US dollars for one unit of a chain's native asset, as the operator wrote it; "1" on chains without one, where gas is priced in dollars. */
export function nativePrice(assets: AssetBook, chain: EvmChain | SolanaChain): string | undefined {
  const native = assets.assetOf(chain, null);
  return native ? assets.priceOf(native.caip19) : "1";
}

/** Configured chains on which the service can pay but has no price for the native asset, so that costs there are not counted. */
export function unpricedChains({ evm, solana, assets }: Pick<Services, "evm" | "solana" | "assets">): string[] {
  const reached = { ...evm.health(), ...solana.health() };
  return [...evmChains, ...solanaChains].filter(
    (chain) => chain in reached && nativePrice(assets, chain) === undefined,
  );
}

/** The decimals of the unit of a chain's fees: wei or lamports. */
const decimalsOn = (caip2: string): number => (caip2.startsWith("solana:") ? SOL.decimals : 18);

/** A transaction to be sponsored. */
export interface Reservation {
  organization: Payer;
  sendId: string;
  caip2: string;
  /** Its greatest possible cost, in wei or lamports. */
  greatestCost: bigint;
  /** Undefined if it is unknown. */
  price: string | undefined;
  now: number;
}

/**
 * Counts the greatest cost of a transaction and enforces the limits. The parent's configuration is locked until the commit, so that the next
 * transaction sees this one's cost.
 *
 * @throws KeysteadError SPONSORING_DISABLED, GAS_PRICE_UNKNOWN, GAS_LIMIT_EXCEEDED
 */
export async function reserveCost(
  tx: Transactor,
  { organization, sendId, caip2, greatestCost, price, now }: Reservation,
): Promise<void> {
  const { id: organizationId, parentId } = organization;
  const [row] = await holdConfig(tx, { organizationId: parentId ?? organizationId });
  const config = row ? configOf(row) : UNLIMITED;
  if (!config.isEnabled) fail("SPONSORING_DISABLED", { organizationId: parentId ?? organizationId });
  const limits = limitsOn(organization, config);
  if (price === undefined) {
    if (limits.length > 0) fail("GAS_PRICE_UNKNOWN", { chain: caip2 });
    return;
  }
  const cost = costOf(greatestCost, price, decimalsOn(caip2));
  const most = microUsd(MAX_SPONSORED_USD);
  if (cost > most) fail("GAS_LIMIT_EXCEEDED", { limit: MAX_SPONSORED_USD, span: "for one transaction" });
  const minute = minuteOf(now);
  await insertCost(tx, { organizationId, sendId, parentId, minute, price, cost: Number(cost) });
  await count(tx, organization, minute, Number(cost));
  for (const { payer, limitUsd } of limits) {
    const usage = await usageOf(tx, payer, config.windowMinutes, now);
    if (usage <= microUsd(limitUsd)) continue;
    const left = microUsd(limitUsd) - usage + cost;
    const span = `in ${config.windowMinutes} minutes, of which ${shownUsd(left > 0n ? left : 0n)} are left; this transaction may cost ${shownUsd(cost)}`;
    fail("GAS_LIMIT_EXCEEDED", { limit: limitUsd, span });
  }
}

/** The limits that apply to an organization's sponsored transactions, each with the organization whose usage counts toward it. */
function limitsOn(
  { id, parentId }: Payer,
  { orgLimitUsd, subOrgLimitUsd }: Pick<GasUsageConfig, "orgLimitUsd" | "subOrgLimitUsd">,
): { payer: string; limitUsd: string }[] {
  const limits = [{ payer: parentId ?? id, limitUsd: orgLimitUsd }];
  if (parentId !== null) limits.push({ payer: id, limitUsd: subOrgLimitUsd });
  return limits.filter(({ limitUsd }) => microUsd(limitUsd) > 0n);
}

/**
 * Corrects the counted cost of a transaction. If it was not counted because the price was unknown, it is not counted now either.
 *
 * @param paid the actual cost, in wei or lamports
 */
export async function correctCost(
  tx: Transactor,
  { organizationId, id: sendId, caip2 }: { organizationId: string; id: string; caip2: string },
  paid: bigint,
): Promise<void> {
  await recount(tx, { organizationId, sendId, caip2 }, paid, (cost, before) => cost !== before);
}

/**
 * Raises the counted cost of a transaction that is signed with higher fees than were counted.
 *
 * @param greatest its greatest possible cost now, in wei
 */
export async function raiseCost(
  tx: Transactor,
  { organizationId, id: sendId, caip2 }: { organizationId: string; id: string; caip2: string },
  greatest: bigint,
): Promise<void> {
  await recount(tx, { organizationId, sendId, caip2 }, greatest, (cost, before) => cost > before);
}

async function recount(
  tx: Transactor,
  { caip2, ...send }: { organizationId: string; sendId: string; caip2: string },
  amount: bigint,
  isWanted: (cost: number, before: number) => boolean,
): Promise<void> {
  const [row] = await selectCost(tx, send);
  if (!row) return;
  const worth = costOf(amount, row.native_price, decimalsOn(caip2));
  const cost = Number(worth < microUsd(MAX_SPONSORED_USD) ? worth : microUsd(MAX_SPONSORED_USD));
  if (!isWanted(cost, row.micro_usd)) return;
  const corrected = await updateCost(tx, { ...send, before: row.micro_usd, cost });
  if (corrected.length === 0) return;
  await count(tx, { id: send.organizationId, parentId: row.parent_id }, row.minute, cost - row.micro_usd);
}

/** Always locks the parent's row first, so that concurrent transactions cannot deadlock. */
async function count(tx: Transactor, { id, parentId }: Payer, minute: number, cost: number): Promise<void> {
  if (cost === 0) return;
  for (const organizationId of parentId === null ? [id] : [parentId, id]) {
    await addUsage(tx, { organizationId, minute, cost });
  }
}

async function usageOf(read: Reader, organizationId: string, windowMinutes: number, now: number): Promise<bigint> {
  const since = minuteOf(now) - windowMinutes;
  const [row] = await sumUsage(read, { organizationId, since });
  return BigInt(row?.usage ?? 0);
}

/** An organization's usage and limit; a parent's include its sub-organizations. */
export async function gasUsage(
  read: Reader,
  { id, parentId }: Payer,
  now: number,
): Promise<{ windowMinutes: number; limitUsd: string; usageUsd: string }> {
  const { windowMinutes, ...config } = (await findConfig(read, parentId ?? id)) ?? UNLIMITED;
  const limitUsd = parentId === null ? config.orgLimitUsd : config.subOrgLimitUsd;
  return { windowMinutes, limitUsd, usageUsd: shownUsd(await usageOf(read, id, windowMinutes, now)) };
}

/** The account that pays on Solana for an organization's accounts. */
export interface SolanaSponsor {
  payer: string;
  /** Whether it also pays the rent of created accounts. */
  paysRent: boolean;
  /** Absent if it is unknown. */
  nativePrice?: string;
}

/**
 * The Solana sponsor for an organization. Rent is paid if the operator allows it and the organization's parent has not disabled it. If the
 * parent has disabled sponsoring, the request is refused here, before any work is done for it; `reserveCost` checks again.
 *
 * @throws KeysteadError SPONSORING_DISABLED
 */
export async function solanaSponsor(
  {
    read,
    organization,
    assets,
    rentPaid,
  }: Pick<Services, "assets" | "rentPaid"> & { read: Reader; organization: Payer },
  caip2: SolanaChain,
): Promise<SolanaSponsor> {
  const parentId = organization.parentId ?? organization.id;
  const { isEnabled, paysRent } = (await findConfig(read, parentId)) ?? UNLIMITED;
  if (!isEnabled) fail("SPONSORING_DISABLED", { organizationId: parentId });
  const price = nativePrice(assets, caip2);
  return {
    payer: await sponsorAddress(read, "solana"),
    paysRent: rentPaid.on(caip2) && paysRent,
    ...(price === undefined ? {} : { nativePrice: price }),
  };
}

/** A parent's configuration, if it has one. */
export async function findConfig(read: Reader, organizationId: string): Promise<GasUsageConfig | undefined> {
  const [row] = await selectConfig(read, { organizationId });
  return row && configOf(row);
}

type ConfigRow = Awaited<ReturnType<typeof selectConfig>>[number];

const configOf = (row: ConfigRow): GasUsageConfig => ({
  id: row.id,
  orgLimitUsd: row.org_limit_usd,
  subOrgLimitUsd: row.sub_org_limit_usd,
  windowMinutes: row.window_minutes,
  isEnabled: row.enabled === 1,
  paysRent: row.pays_rent === 1,
});

const selectConfig = prepared<{ organizationId: string }>()((db, { organizationId }) =>
  db.selectFrom("gas_usage_configs").selectAll().where("organization_id", "=", organizationId),
);

/** Changes nothing, but locks the row until the commit. */
const holdConfig = preparedWrite<{ organizationId: string }>()((db, { organizationId }) =>
  db
    .updateTable("gas_usage_configs")
    .set((of) => ({ enabled: of.ref("enabled") }))
    .where("organization_id", "=", organizationId)
    .returningAll(),
);

export const putConfig = preparedWrite<{
  organizationId: string;
  id: string;
  orgLimitUsd: string;
  subOrgLimitUsd: string;
  windowMinutes: number;
  enabled: number;
  paysRent: number;
  now: number;
}>()((db, row) =>
  db
    .insertInto("gas_usage_configs")
    .values({
      organization_id: row.organizationId,
      id: row.id,
      org_limit_usd: row.orgLimitUsd,
      sub_org_limit_usd: row.subOrgLimitUsd,
      window_minutes: row.windowMinutes,
      enabled: row.enabled,
      pays_rent: row.paysRent,
      created_at: row.now,
      updated_at: row.now,
    })
    .onConflict((conflict) =>
      conflict.column("organization_id").doUpdateSet((of) => ({
        org_limit_usd: of.ref("excluded.org_limit_usd"),
        sub_org_limit_usd: of.ref("excluded.sub_org_limit_usd"),
        window_minutes: of.ref("excluded.window_minutes"),
        enabled: of.ref("excluded.enabled"),
        pays_rent: of.ref("excluded.pays_rent"),
        updated_at: of.ref("excluded.updated_at"),
      })),
    )
    .returning("id"),
);

const addUsage = preparedWrite<{ organizationId: string; minute: number; cost: number }>()(
  (db, { organizationId, minute, cost }) =>
    db
      .insertInto("gas_usage")
      .values({ organization_id: organizationId, minute, micro_usd: cost })
      .onConflict((conflict) =>
        conflict.columns(["organization_id", "minute"]).doUpdateSet((of) => ({
          micro_usd: of("gas_usage.micro_usd", "+", of.ref("excluded.micro_usd")),
        })),
      )
      .returning("minute"),
);

const sumUsage = prepared<{ organizationId: string; since: number }>()((db, { organizationId, since }) =>
  db
    .selectFrom("gas_usage")
    .select((of) => of.fn.sum<number | string | null>("micro_usd").as("usage"))
    .where("organization_id", "=", organizationId)
    .where("minute", ">=", since),
);

const insertCost = preparedWrite<{
  organizationId: string;
  sendId: string;
  parentId: string | null;
  minute: number;
  price: string;
  cost: number;
}>()((db, row) =>
  db
    .insertInto("gas_costs")
    .values({
      organization_id: row.organizationId,
      send_id: row.sendId,
      parent_id: row.parentId,
      minute: row.minute,
      native_price: row.price,
      micro_usd: row.cost,
    })
    .returning("send_id"),
);

const selectCost = prepared<{ organizationId: string; sendId: string }>()((db, { organizationId, sendId }) =>
  db
    .selectFrom("gas_costs")
    .select(["parent_id", "minute", "native_price", "micro_usd"])
    .where("organization_id", "=", organizationId)
    .where("send_id", "=", sendId),
);

const updateCost = preparedWrite<{ organizationId: string; sendId: string; before: number; cost: number }>()(
  (db, { organizationId, sendId, before, cost }) =>
    db
      .updateTable("gas_costs")
      .set({ micro_usd: cost })
      .where("organization_id", "=", organizationId)
      .where("send_id", "=", sendId)
      .where("micro_usd", "=", before)
      .returning("send_id"),
);
