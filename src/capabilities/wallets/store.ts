import { type RawBuilder, type Selectable, sql } from "kysely";
import type { NewWallet as WalletOfAuthority } from "../../authority/rules/wallets.ts";
import { type AddressFormat, deriveAddress, normalizeAddress, normalizedBeginnings } from "../../crypto/addresses.ts";
import type { Curve } from "../../crypto/curves.ts";
import { timestampOf } from "../../engine/fields.ts";
import type { Organization, PolicyFacts } from "../../engine/operations.ts";
import { oldestFirst, type Page } from "../../engine/paging.ts";
import type { AskedSigner } from "../../engine/services.ts";
import { fail } from "../../kernel/errors.ts";
import type { IdFor } from "../../kernel/ids.ts";
import { MAX_OWNERS_PER_ADDRESS } from "../../kernel/limits.ts";
import type { WalletFacts } from "../../policy/facts.ts";
import type { AddressReference } from "../../signer/protocol.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";
import { accountFacts, sharedKeyFacts } from "../signing/store.ts";
import {
  type AccountParams,
  caip2PrefixOf,
  mnemonicLengthOf,
  type Wallet,
  type WalletAccount,
  type WalletParams,
} from "./model.ts";

/** The parts of an organization that the signer needs. */
type Owner = Pick<Organization, "id" | "sealedKey">;

export interface NewWalletAccount {
  id: string;
  curve: Curve;
  path: string;
  addressFormat: AddressFormat;
  address: string;
  /** Lowercase hex: compressed, or the 32 bytes of Ed25519. */
  publicKey: string;
  name: string | undefined;
}

/** A wallet that the signer generated or imported, ready to be stored. */
export type NewWallet = WalletOfAuthority & { accounts: readonly NewWalletAccount[] };

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

/** The signer, the organization that it works for, and the source of ids for new wallets and accounts. */
interface Making<Verb extends "createWallet" | "deriveAccounts"> {
  signer: AskedSigner<Verb>;
  organization: Owner;
  id: IdFor;
}

/** Has the signer generate a wallet. Does not store it. */
export async function generateWallet(
  { signer, organization: { id: organizationId, sealedKey }, id }: Making<"createWallet">,
  params: WalletParams,
): Promise<NewWallet> {
  const walletId = id("wallet");
  const { sealedWallet, publicKeys } = await signer.ask({
    verb: "createWallet",
    organizationId,
    organizationKey: base64(sealedKey),
    walletId,
    mnemonicLength: mnemonicLengthOf(params),
    accounts: params.accounts.map(({ curve, path }) => ({ curve, path })),
  });
  return {
    id: walletId,
    name: params.walletName,
    sealedWallet: Buffer.from(sealedWallet, "base64"),
    imported: false,
    accounts: accountsOf(params.accounts, publicKeys, id),
  };
}

/** The addresses of a wallet's new accounts, as references for app proofs. */
export const accountsToProve = (
  { id: walletId, sealedWallet }: { id: string; sealedWallet: Uint8Array },
  accounts: readonly NewWalletAccount[],
): AddressReference[] =>
  accounts.map(({ curve, path, addressFormat: format }) => ({
    key: { kind: "walletAccount", walletId, sealedWallet: base64(sealedWallet), curve, path },
    format,
  }));

/** The accounts with their addresses; `publicKeys` are those that the signer derived, in the same order. */
export const accountsOf = (
  params: readonly AccountParams[],
  publicKeys: readonly string[],
  id: IdFor,
): NewWalletAccount[] =>
  params.map(({ curve, path, addressFormat, name }, index) => {
    const publicKey = publicKeys[index] as string;
    const address = deriveAddress(addressFormat, curve, Buffer.from(publicKey, "hex"));
    return { id: id(`accounts.${index}`), curve, path, addressFormat, address, publicKey, name };
  });

/** Has the signer derive accounts of a stored wallet. Does not store them. */
export async function deriveAccounts(
  { signer, organization: { id: organizationId, sealedKey }, id }: Making<"deriveAccounts">,
  wallet: { id: string; sealedWallet: Uint8Array },
  params: readonly AccountParams[],
): Promise<NewWalletAccount[]> {
  const { publicKeys } = await signer.ask({
    verb: "deriveAccounts",
    organizationId,
    organizationKey: base64(sealedKey),
    walletId: wallet.id,
    sealedWallet: base64(wallet.sealedWallet),
    accounts: params.map(({ curve, path }) => ({ curve, path })),
  });
  return accountsOf(params, publicKeys, id);
}

/** @throws KeysteadError WALLET_PATH_TAKEN if the wallet already has one of the accounts */
export async function addAccounts(
  tx: Transactor,
  organizationId: string,
  walletId: string,
  accounts: readonly NewWalletAccount[],
  now: number,
): Promise<void> {
  if (accounts.length === 0) return;
  const rows = accounts.map((account) => ({
    id: account.id,
    organization_id: organizationId,
    wallet_id: walletId,
    curve: account.curve,
    path: account.path,
    address_format: account.addressFormat,
    address: account.address,
    lookup: normalizeAddress(account.address),
    public_key: account.publicKey,
    name: account.name ?? null,
    exported: 0,
    created_at: now,
    updated_at: now,
  }));
  const added = await tx
    .insertInto("wallet_accounts")
    .values(rows)
    .onConflict((conflict) =>
      conflict.columns(["organization_id", "wallet_id", "path", "curve", "address_format"]).doNothing(),
    )
    .returning("id")
    .execute();
  if (added.length === accounts.length) return;
  const ids = new Set(added.map(({ id }) => id));
  const refused = accounts.find(({ id }) => !ids.has(id)) as NewWalletAccount;
  const { path } = refused;
  const found = await findAccountsAt(tx, organizationId, { walletId, path });
  const taken = found.find(
    ({ curve, addressFormat }) => curve === refused.curve && addressFormat === refused.addressFormat,
  );
  fail("WALLET_PATH_TAKEN", { id: taken?.walletAccountId ?? "", path });
}

/** The parts of a wallet that the signer needs. */
export async function requireSealedWallet(
  read: Reader,
  organizationId: string,
  id: string,
): Promise<{ id: string; sealedWallet: Uint8Array }> {
  const row = await read
    .selectFrom("wallets")
    .select("sealed_wallet")
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) return fail("RESOURCE_NOT_FOUND", { kind: "wallet", id, organizationId });
  return { id, sealedWallet: row.sealed_wallet };
}

/** All wallets of the organization, or only those with these ids. */
export async function findWallets(read: Reader, organizationId: string, ids?: readonly string[]): Promise<Wallet[]> {
  const rows = await read
    .selectFrom("wallets")
    .select(["id", "name", "exported", "imported", "created_at", "updated_at"])
    .where("organization_id", "=", organizationId)
    .$if(ids !== undefined, (wallets) => wallets.where("id", "in", ids as string[]))
    .orderBy("id")
    .execute();
  return rows.map((row) => ({
    walletId: row.id,
    walletName: row.name,
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
    exported: row.exported === 1,
    imported: row.imported === 1,
  }));
}

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function requireWallet(read: Reader, organizationId: string, id: string): Promise<Wallet> {
  const [wallet] = await findWallets(read, organizationId, [id]);
  return wallet ?? fail("RESOURCE_NOT_FOUND", { kind: "wallet", id, organizationId });
}

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function requireAccount(read: Reader, organizationId: string, id: string): Promise<void> {
  const row = await read
    .selectFrom("wallet_accounts")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) fail("RESOURCE_NOT_FOUND", { kind: "wallet account", id, organizationId });
}

/** Wallets as policies see them; unknown ids are skipped. */
export async function walletFacts(
  read: Reader,
  organizationId: string,
  ids: readonly string[],
): Promise<WalletFacts[]> {
  const wallets = await findWallets(read, organizationId, ids);
  return wallets.map(({ walletId, walletName, imported, exported }) => ({
    id: walletId,
    label: walletName,
    imported,
    exported,
  }));
}

/** Accounts as policies see them; unknown ids are skipped. */
export async function accountsFacts(
  read: Reader,
  organizationId: string,
  ids: readonly string[],
): Promise<PolicyFacts> {
  const rows = await read
    .selectFrom("wallet_accounts as a")
    .innerJoin("wallets as w", (join) =>
      join.onRef("w.organization_id", "=", "a.organization_id").onRef("w.id", "=", "a.wallet_id"),
    )
    .select(["a.path", "a.address", "w.id as wallet_id", "w.name as wallet_name", "w.imported", "w.exported"])
    .where("a.organization_id", "=", organizationId)
    .where("a.id", "in", ids)
    .execute();
  return sharedKeyFacts(rows.map(accountFacts), "is about");
}

/** Marks every account with this address as exported, because the exported key controls them all. */
export async function markAccountsExported(
  tx: Transactor,
  organizationId: string,
  address: string,
  now: number,
): Promise<void> {
  await tx
    .updateTable("wallet_accounts")
    .set({ exported: 1, updated_at: now })
    .where("organization_id", "=", organizationId)
    .where("lookup", "=", normalizeAddress(address))
    .execute();
}

/** Narrows a list of accounts to one wallet, one account id, one address (in any spelling) or one path. All given members must match. */
export interface AccountFilter {
  accountId?: string | undefined;
  walletId?: string | undefined;
  address?: string | undefined;
  path?: string | undefined;
}

/**
 * Orders the few rows that a look-up by address or path finds. It is an expression so that no index can serve the order: the databases would
 * otherwise scan all accounts in the order of that index until they reach those rows.
 */
const idOfFew = sql<string>`id || ''`;

/** A page of accounts, oldest first; ids sort by creation time. */
export async function findAccounts(
  read: Reader,
  organizationId: string,
  { accountId, walletId, address, path }: AccountFilter,
  { limit, before, after }: Page,
): Promise<WalletAccount[]> {
  const id = address === undefined && path === undefined ? sql.ref<string>("id") : idOfFew;
  const rows = await read
    .selectFrom("wallet_accounts")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .$if(accountId !== undefined, (accounts) => accounts.where("id", "=", accountId as string))
    .$if(walletId !== undefined, (accounts) => accounts.where("wallet_id", "=", walletId as string))
    .$if(address !== undefined, (accounts) => accounts.where("lookup", "=", normalizeAddress(address as string)))
    .$if(path !== undefined, (accounts) => accounts.where("path", "=", path as string))
    // The first page starts after "". With this condition PostgreSQL reads the rows in index order, even before it has statistics.
    .where(id, before === undefined ? ">" : "<", before ?? after ?? "")
    .orderBy(id, before === undefined ? "asc" : "desc")
    .limit(limit)
    .execute();
  // `before` reads descending, to find the rows nearest to the cursor; the page itself is always oldest first.
  return (before === undefined ? rows : rows.reverse()).map(accountOf);
}

/** The last code point, which sorts after all characters of addresses and names. */
const BEHIND_ALL = "\u{10ffff}";

/** The first accounts of an organization whose address starts with `beginning`, in the order of addresses. */
export async function findAccountsBeginning(
  read: Reader,
  organizationId: string,
  beginning: string,
  limit: number,
): Promise<WalletAccount[]> {
  const found = new Map<string, Selectable<Schema["wallet_accounts"]>>();
  // No prefix is a prefix of another, so the results of the sorted prefixes, one after the other, are sorted too.
  for (const text of normalizedBeginnings(beginning).sort()) {
    const rows = await accountsFrom(read, organizationId, inOrderOfBytes(read, "lookup"), text, limit).execute();
    for (const row of rows) found.set(row.id, row);
  }
  return [...found.values()].slice(0, limit).map(accountOf);
}

/**
 * The first accounts of an organization whose name starts with `beginning`, in the order of names. Only ASCII letters match in any case,
 * because those are the only ones that the databases lowercase by their built-in rules.
 */
export async function findAccountsNamed(
  read: Reader,
  organizationId: string,
  beginning: string,
  limit: number,
): Promise<WalletAccount[]> {
  const name = sql<string>`lower(${inOrderOfBytes(read, "name")})`;
  const text = beginning.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  const rows = await accountsFrom(read, organizationId, name, text, limit).where("name", "is not", null).execute();
  return rows.map(accountOf);
}

/** The sort order of the indexes that serve searches by prefix. */
const inOrderOfBytes = (read: Reader, column: "lookup" | "name") =>
  read.kind === "postgres" ? sql<string>`${sql.ref(column)} collate "C"` : sql.ref<string>(column);

const accountsFrom = (read: Reader, organizationId: string, by: RawBuilder<string>, beginning: string, limit: number) =>
  read
    .selectFrom("wallet_accounts")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where(by, ">=", beginning)
    .where(by, "<", `${beginning}${BEHIND_ALL}`)
    .orderBy(by)
    .orderBy("id")
    .limit(limit);

/** The accounts of a wallet at an address, in any spelling, and at a path. There are only a few. */
export async function findAccountsAt(
  read: Reader,
  organizationId: string,
  { walletId, address, path }: { walletId: string; address?: string | undefined; path?: string | undefined },
): Promise<WalletAccount[]> {
  const rows = await read
    .selectFrom("wallet_accounts")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("wallet_id", "=", walletId)
    .$if(address !== undefined, (accounts) => accounts.where("lookup", "=", normalizeAddress(address as string)))
    .$if(path !== undefined, (accounts) => accounts.where("path", "=", path as string))
    .execute();
  return rows.sort(oldestFirst).map(accountOf);
}

function accountOf(row: Selectable<Schema["wallet_accounts"]>): WalletAccount {
  const addressFormat = row.address_format as AddressFormat;
  const caip2Prefix = caip2PrefixOf(addressFormat);
  return {
    walletAccountId: row.id,
    organizationId: row.organization_id,
    walletId: row.wallet_id,
    curve: row.curve as Curve,
    pathFormat: "PATH_FORMAT_BIP32",
    path: row.path,
    addressFormat,
    address: row.address,
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
    publicKey: row.public_key,
    ...(row.name === null ? {} : { name: row.name }),
    ...(caip2Prefix === undefined ? {} : { caip2Prefix }),
  };
}

/** Whether the organization has a wallet account of this format at an address, in any spelling. */
export async function hasAccountAt(
  read: Reader,
  organizationId: string,
  addressFormat: AddressFormat,
  address: string,
): Promise<boolean> {
  const lookup = normalizeAddress(address);
  return (await selectAccountAt(read, { organizationId, lookup, addressFormat })).length > 0;
}

const selectAccountAt = prepared<{ organizationId: string; lookup: string; addressFormat: string }>()(
  (db, { organizationId, lookup, addressFormat }) =>
    db
      .selectFrom("wallet_accounts")
      .select("id")
      .where("organization_id", "=", organizationId)
      .where("lookup", "=", lookup)
      .where("address_format", "=", addressFormat)
      .limit(1),
);

/** The address formats whose chains the server follows. */
export type FollowedFormat = "ADDRESS_FORMAT_ETHEREUM" | "ADDRESS_FORMAT_SOLANA";

/** Whether any organization has a wallet account of this format. */
export async function hasAccountsOf(read: Reader, addressFormat: FollowedFormat): Promise<boolean> {
  const select = addressFormat === "ADDRESS_FORMAT_SOLANA" ? selectSolanaAccount : selectEvmAccount;
  return (await select(read, {})).length > 0;
}

/** Uses the partial index for these accounts, which the databases use only if the format is a literal in the statement. */
const selectSolanaAccount = prepared<Record<string, never>>()((db) =>
  db.selectFrom("wallet_accounts").select("id").where("address_format", "=", sql.lit("ADDRESS_FORMAT_SOLANA")).limit(1),
);

/** Uses the index on `lookup`, in which Ethereum addresses and those that look alike are adjacent. */
const selectEvmAccount = prepared<Record<string, never>>()((db) =>
  db
    .selectFrom("wallet_accounts")
    .select("id")
    .where("lookup", ">=", "0x")
    .where("lookup", "<", "0y")
    .where("address_format", "=", "ADDRESS_FORMAT_ETHEREUM")
    .limit(1),
);

/**
 * The oldest organizations, at most MAX_OWNERS_PER_ADDRESS, with a wallet account of this format at each of these addresses, by address
 * (Ethereum's in lowercase). One index look-up serves all; its cost grows with the addresses in the request and not with those stored.
 */
export async function ownersOfAddresses(
  read: Reader,
  addressFormat: FollowedFormat,
  addresses: readonly string[],
): Promise<Map<string, string[]>> {
  if (addresses.length === 0) return new Map();
  const rows = await read.all<{ lookup: string; organization_id: string }>({
    sql: selectOwners[addressFormat][read.kind],
    parameters: [read.kind === "postgres" ? addresses : JSON.stringify(addresses)],
  });
  const owners = new Map<string, string[]>();
  for (const { lookup, organization_id: organizationId } of rows) {
    const known = owners.get(lookup);
    if (known) known.push(organizationId);
    else owners.set(lookup, [organizationId]);
  }
  return owners;
}

/** Ordering by organization id puts the oldest first, because ids begin with the time of creation. */
const ownersWhere = (addressFormat: FollowedFormat, addresses: string): string => `
  select "lookup", "organization_id" from (
    select "lookup", "organization_id", row_number() over (partition by "lookup" order by "organization_id") as "place"
    from (
      select distinct "lookup", "organization_id" from "wallet_accounts"
      where "lookup" ${addresses} and "address_format" = '${addressFormat}'
    ) as "owners"
  ) as "ordered" where "place" <= ${MAX_OWNERS_PER_ADDRESS}`;

/** The addresses are one parameter regardless of their number. */
const selectOwnersOf = (addressFormat: FollowedFormat) => ({
  sqlite: ownersWhere(addressFormat, "in (select value from json_each(?))"),
  postgres: ownersWhere(addressFormat, "= any($1::text[])"),
});
const selectOwners = {
  ADDRESS_FORMAT_ETHEREUM: selectOwnersOf("ADDRESS_FORMAT_ETHEREUM"),
  ADDRESS_FORMAT_SOLANA: selectOwnersOf("ADDRESS_FORMAT_SOLANA"),
};
