import type { EvmChain } from "../../chains/evm/networks.ts";
import { reconciler } from "../../engine/jobs/jobs.ts";
import { deleteInPortions } from "../../engine/jobs/portions.ts";
import { HOUR_MS } from "../../kernel/durations.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { EARN_PRICES_KEPT_MS } from "../../kernel/limits.ts";
import { latestHeader } from "../../nodes/evm-blocks.ts";
import { readContracts, wordIn } from "../../nodes/evm-reads.ts";
import { hexOfNumber } from "../../nodes/hex-values.ts";
import type { EvmNodes } from "../../nodes/pool.ts";
import type { Database } from "../../storage/database.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";
import { catalogOf, MAX_DECIMALS } from "./catalog.ts";
import { questions } from "./contracts.ts";
import { type EarnEntry, earnChains } from "./services.ts";

/** The prices of vault shares over time, and the yearly yields that follow from them. */

const HOUR = 3600;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;
const WINDOW = 7 * DAY;
/** A chain's clock may be ahead of ours by less than this. A later timestamp is not that of a real block. */
const EARLY_SECONDS = HOUR;
/** The highest credible yield, as a fraction: 10,000 percent. */
const HIGHEST_YIELD = 100;
const PRECISION = 10n ** 15n;

interface Price {
  /** The timestamp of the block, in seconds. */
  at: number;
  blockNumber: number;
  /** The price of one whole share, in the asset's smallest units. */
  assets: bigint;
}

/** Stores the share price of each vault once an hour. */
export const sampleEarnSharePrices = reconciler({
  name: "sample_earn_share_prices",
  everyMs: HOUR_MS,
  needs: ["evm", "earn"],
  async run({ database, evm, earn, clock, log }) {
    const entries = await catalogOf(database.read, earn);
    for (const chain of earnChains) {
      const vaults = entries.filter((one) => one.chainCaip2 === chain);
      if (vaults.length === 0) continue;
      const prices = await pricesOf(evm, chain, vaults).catch((error: unknown) => {
        // An unavailable chain does not delay the prices of the others.
        if (!(error instanceof KeysteadError)) throw error;
        log.warn({ chain, reason: error.message }, "the values of vault shares could not be read");
        return new Map<string, Price>();
      });
      await storePrices(database, chain, prices, clock());
    }
    await prunePrices(database, clock() - EARN_PRICES_KEPT_MS);
    return undefined;
  },
});

async function storePrices(
  database: Pick<Database, "read" | "transact">,
  chain: EvmChain,
  prices: ReadonlyMap<string, Price>,
  now: number,
): Promise<void> {
  const rows: Schema["earn_share_prices"][] = [];
  for (const [address, { at, blockNumber, assets }] of prices) {
    if (at > now / 1000 + EARLY_SECONDS) continue;
    const newest = await findNewest(database.read, { chain, address });
    if (newest && newest.at >= at) continue;
    rows.push({
      caip2: chain,
      vault_address: address,
      block_timestamp: at,
      block_number: blockNumber,
      assets_per_share: String(assets),
    });
  }
  if (rows.length === 0) return;
  await database.transact(undefined, (tx) =>
    tx
      .insertInto("earn_share_prices")
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute(),
  );
}

/** Deletes all prices of a block together: there are few. */
async function prunePrices(database: Pick<Database, "transact">, beforeMs: number): Promise<void> {
  const before = Math.floor(beforeMs / 1000);
  await deleteInPortions(database, async (tx, limit) => {
    const old = await tx
      .selectFrom("earn_share_prices")
      .select("block_timestamp")
      .where("block_timestamp", "<", before)
      .limit(limit)
      .execute();
    const times = [...new Set(old.map((row) => row.block_timestamp))];
    if (times.length === 0) return 0;
    await tx.deleteFrom("earn_share_prices").where("block_timestamp", "in", times).execute();
    return old.length;
  });
}

async function pricesOf(evm: EvmNodes, chain: EvmChain, vaults: readonly EarnEntry[]): Promise<Map<string, Price>> {
  await evm.requireChain(chain);
  const { number: blockNumber, timestamp: at } = await latestHeader(evm, chain);
  const block = hexOfNumber(blockNumber);
  const decimals = await readContracts(
    evm,
    chain,
    vaults.map((one) => questions.decimals(one.vaultAddress)),
    block,
  );
  const asked = vaults.flatMap(({ vaultAddress }, index) => {
    const count = wordIn(decimals[index]);
    return count === undefined || count > MAX_DECIMALS ? [] : [{ vaultAddress, share: 10n ** count }];
  });
  const answers = await readContracts(
    evm,
    chain,
    asked.map((one) => questions.convertToAssets(one.vaultAddress, one.share)),
    block,
  );
  const prices = new Map<string, Price>();
  for (const [index, { vaultAddress }] of asked.entries()) {
    const assets = wordIn(answers[index]);
    if (assets !== undefined && assets > 0n) prices.set(vaultAddress, { at, blockNumber, assets });
  }
  return prices;
}

/**
 * The gross yearly yield of a vault, as a fraction. Undefined until there are prices a day apart, if the newest price is older than a day, and
 * if the yield is not credible.
 *
 * @param vault lowercase
 * @param now milliseconds
 */
export async function yieldOf(read: Reader, vault: PricedVault, now: number): Promise<number | undefined> {
  const newest = await findNewest(read, vault);
  if (!newest || newest.at < now / 1000 - DAY) return undefined;
  const [row] = await selectOldest(read, { ...vault, since: newest.at - WINDOW });
  if (!row) return undefined;
  const oldest = priceOf(row);
  if (newest.at - oldest.at < DAY) return undefined;
  // Before the division: such growth is not credible over any period, and its quotient may be too large for a number.
  if (newest.assets > oldest.assets * BigInt(HIGHEST_YIELD + 1)) return undefined;
  const growth = Number((newest.assets * PRECISION) / oldest.assets) / Number(PRECISION);
  const rate = growth ** (YEAR / (newest.at - oldest.at)) - 1;
  return rate <= HIGHEST_YIELD ? rate : undefined;
}

/** The yields of these vaults. A vault that is listed several times is read once. */
export async function yieldsOf(
  read: Reader,
  vaults: readonly PricedVault[],
  now: number,
): Promise<(vault: PricedVault) => number | undefined> {
  const nameOf = ({ chain, address }: PricedVault) => `${chain} ${address}`;
  const distinct = new Map(vaults.map((vault) => [nameOf(vault), vault]));
  const rates = new Map<string, number | undefined>();
  for (const [name, vault] of distinct) rates.set(name, await yieldOf(read, vault, now));
  return (vault) => rates.get(nameOf(vault));
}

/** A yield as in responses: a fraction with six decimal places. */
export function shownYield(rate: number): string {
  const shown = rate.toFixed(6);
  return shown === "-0.000000" ? "0.000000" : shown;
}

/** The yield after fees. There is no fee on a loss. */
export const netYield = (rate: number, feeBps: number): number => (rate > 0 ? rate * (1 - feeBps / 10_000) : rate);

type PricedVault = { chain: EvmChain; address: string };

const selectNewest = prepared<PricedVault>()((db, { chain, address }) =>
  db
    .selectFrom("earn_share_prices")
    .selectAll()
    .where("caip2", "=", chain)
    .where("vault_address", "=", address)
    .orderBy("block_timestamp", "desc")
    .limit(1),
);

const selectOldest = prepared<PricedVault & { since: number }>()((db, { chain, address, since }) =>
  db
    .selectFrom("earn_share_prices")
    .selectAll()
    .where("caip2", "=", chain)
    .where("vault_address", "=", address)
    .where("block_timestamp", ">=", since)
    .orderBy("block_timestamp")
    .limit(1),
);

async function findNewest(read: Reader, vault: PricedVault): Promise<Price | undefined> {
  const [row] = await selectNewest(read, vault);
  return row && priceOf(row);
}

const priceOf = (row: Schema["earn_share_prices"]): Price => ({
  at: row.block_timestamp,
  blockNumber: row.block_number,
  assets: BigInt(row.assets_per_share),
});
