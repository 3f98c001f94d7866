import type { EvmChain } from "../../chains/evm/networks.ts";
import { fail, KeysteadError } from "../../kernel/errors.ts";
import { MAX_EARN_VAULTS } from "../../kernel/limits.ts";
import { addressIn, readContracts, wordIn } from "../../nodes/evm-reads.ts";
import type { EvmNodes } from "../../nodes/pool.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { questions } from "./contracts.ts";
import type { EarnAsset } from "./model.ts";
import { type EarnEntry, type EarnSettings, earnChains, earnProviders } from "./services.ts";

/** The catalog of vaults: those of the configuration and imported ones, if their chains confirm them. */

export type Vault = EarnEntry & { asset: EarnAsset; totalAssets: bigint };

/** A vault, or the reason why an entry is not one. */
export type Checked = { vault: Vault } | { problem: string };

/** The entries of the catalog, the configuration's first. They take precedence over imported ones of the same vault. */
export async function catalogOf(read: Reader, { vaults }: EarnSettings): Promise<EarnEntry[]> {
  const imported = await read.selectFrom("earn_vaults").selectAll().limit(MAX_EARN_VAULTS).execute();
  const entries = new Map<string, EarnEntry>();
  const add = (entry: EarnEntry) => {
    const name = `${entry.chainCaip2} ${entry.vaultAddress}`;
    if (!entries.has(name)) entries.set(name, entry);
  };
  vaults.forEach(add);
  for (const { caip2, vault_address: vaultAddress, provider, name, curator } of imported) {
    const chainCaip2 = earnChains.find((one) => one === caip2);
    const known = earnProviders.find((one) => one === provider);
    if (chainCaip2 && known) add({ vaultAddress, chainCaip2, provider: known, name, curator });
  }
  return [...entries.values()];
}

/**
 * The entry of a vault.
 *
 * @throws KeysteadError EARN_SETUP_REQUIRED if the catalog is empty; FIELD_INVALID if it does not contain the vault
 */
export function requireEntry(catalog: readonly EarnEntry[], vaultAddress: string, chain: EvmChain): EarnEntry {
  if (catalog.length === 0) {
    return fail("EARN_SETUP_REQUIRED", {
      reason:
        "this server has no vaults to earn in; its operator can configure them under `earn` in the configuration file",
    });
  }
  const sought = vaultAddress.toLowerCase();
  const found = catalog.find((one) => one.vaultAddress === sought && one.chainCaip2 === chain);
  if (found) return found;
  const elsewhere = catalog.find((one) => one.vaultAddress === sought);
  const reason = elsewhere
    ? `is a vault on ${elsewhere.chainCaip2}, not on ${chain}; set \`chainCaip2\` to that chain`
    : `is not in this server's catalog of vaults on ${chain}; list_earn_vaults shows those that are`;
  return fail("FIELD_INVALID", { field: "parameters.vaultAddress", reason });
}

/**
 * Checks for each entry whether there is an ERC-4626 vault on the chain, with an asset that reports its decimals.
 *
 * @throws KeysteadError CHAIN_NOT_CONFIGURED, CHAIN_UNAVAILABLE
 */
export async function checkVaults(evm: EvmNodes, chain: EvmChain, entries: readonly EarnEntry[]): Promise<Checked[]> {
  if (entries.length === 0) return [];
  await evm.requireChain(chain);
  const perVault = 4;
  const answers = await readContracts(
    evm,
    chain,
    entries.flatMap(({ vaultAddress: vault }) => [
      questions.asset(vault),
      questions.decimals(vault),
      questions.totalAssets(vault),
      questions.convertToAssets(vault, 1n),
    ]),
  );
  const assets = entries.map((_, index) => addressIn(answers[perVault * index]));
  const decimals = await decimalsOf(evm, chain, assets);
  return entries.map((entry, index): Checked => {
    const [first, ...rest] = answers.slice(perVault * index, perVault * (index + 1));
    if (first === "0x") return { problem: `is no contract on ${chain}` };
    const address = assets[index];
    const [shareDecimals, totalAssets, price] = rest.map(wordIn);
    const isVault = shareDecimals !== undefined && shareDecimals <= MAX_DECIMALS && price !== undefined;
    if (address === undefined || totalAssets === undefined || !isVault) {
      return { problem: `is no ERC-4626 vault on ${chain}: it does not answer what one has to answer` };
    }
    const assetDecimals = decimals.get(address);
    if (assetDecimals === undefined)
      return { problem: `has an asset, ${address}, that is no ERC-20 token on ${chain}` };
    return { vault: { ...entry, asset: { chain, address, decimals: assetDecimals }, totalAssets } };
  });
}

/** Far more than any token has. A wrapper has six decimals more than its vault. */
export const MAX_DECIMALS = 77n;

async function decimalsOf(
  evm: EvmNodes,
  chain: EvmChain,
  tokens: readonly (string | undefined)[],
): Promise<Map<string, number>> {
  const known = [...new Set(tokens.filter((token) => token !== undefined))];
  const answers = await readContracts(evm, chain, known.map(questions.decimals));
  const found = new Map<string, number>();
  for (const [index, token] of known.entries()) {
    const value = wordIn(answers[index]);
    if (value !== undefined && value <= MAX_DECIMALS) found.set(token, Number(value));
  }
  return found;
}

/**
 * The vault of an entry, as read from its chain now.
 *
 * @throws KeysteadError FIELD_INVALID with the reason if there is no such vault; CHAIN_NOT_CONFIGURED, CHAIN_UNAVAILABLE
 */
export async function requireVault(evm: EvmNodes, entry: EarnEntry): Promise<Vault> {
  const [checked] = await checkVaults(evm, entry.chainCaip2, [entry]);
  if (checked && "vault" in checked) return checked.vault;
  const reason = checked?.problem ?? "could not be looked at";
  return fail("FIELD_INVALID", { field: "parameters.vaultAddress", reason });
}

/**
 * Adds vaults to the catalog. They replace imported ones with the same address. If one of them is not a vault, nothing is stored. Resolves to
 * the number of imported vaults afterwards.
 *
 * @param refuse called with the index of the rejected entry and the reason
 */
export async function importVaults(
  {
    evm,
    read,
    transact,
  }: { evm: EvmNodes; read: Reader; transact: <T>(run: (tx: Transactor) => Promise<T>) => Promise<T> },
  entries: readonly EarnEntry[],
  now: number,
  refuse: (index: number, problem: string) => never,
): Promise<number> {
  for (const chain of new Set(entries.map(({ chainCaip2 }) => chainCaip2))) {
    const ofChain = entries.filter(({ chainCaip2 }) => chainCaip2 === chain);
    const checked = await checkVaults(evm, chain, ofChain).catch((error: unknown): Checked[] => {
      if (!(error instanceof KeysteadError)) throw error;
      return ofChain.map(() => ({ problem: `cannot be looked at: ${error.message}` }));
    });
    for (const [index, entry] of ofChain.entries()) {
      const found = checked[index];
      if (found && "problem" in found) refuse(entries.indexOf(entry), `${entry.vaultAddress} ${found.problem}`);
    }
  }
  const before = await read.selectFrom("earn_vaults").select(["caip2", "vault_address"]).execute();
  const names = new Set(before.map((row) => `${row.caip2} ${row.vault_address}`));
  for (const { chainCaip2, vaultAddress } of entries) names.add(`${chainCaip2} ${vaultAddress}`);
  if (names.size > MAX_EARN_VAULTS)
    refuse(MAX_EARN_VAULTS, `is one too many: the catalog can hold ${MAX_EARN_VAULTS} vaults`);
  await transact(async (tx) => {
    for (const { chainCaip2: caip2, vaultAddress: vault_address, provider, name, curator } of entries) {
      const row = { provider, name, curator, updated_at: now };
      await tx
        .insertInto("earn_vaults")
        .values({ caip2, vault_address, ...row, created_at: now })
        .onConflict((conflict) => conflict.columns(["caip2", "vault_address"]).doUpdateSet(row))
        .execute();
    }
  });
  return names.size;
}
