import { sql } from "kysely";
import { type ContactType, contactOf } from "../../authority/state.ts";
import { normalizeAddress } from "../../crypto/addresses.ts";
import { parseJsonObject } from "../../crypto/json-object.ts";
import { normalizeCredentialId } from "../../crypto/webauthn-data.ts";
import { subOrganizationsKnowing } from "../../engine/identity/seniority.ts";
import { enqueue } from "../../engine/jobs/jobs.ts";
import type { OwnedTable } from "../../engine/operations.ts";
import { newestFirst, type Page } from "../../engine/paging.ts";
import type { Services } from "../../engine/services.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_ERASED_AT_ONCE } from "../../kernel/limits.ts";
import { readPerson, readToken, type TokenClaims } from "../../providers/oidc/token.ts";
import { areMoreThan, deleteAll, deleteSome } from "../../storage/deletion-in-turns.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";

/** Selects sub-organizations by something that they contain; without a type, all of them. */
interface Filter {
  type: string | undefined;
  value: string | undefined;
}

/**
 * The ids of the organizations that have `value`. For values that many organizations may have, only those below the parent; otherwise those
 * below any parent.
 */
type Holders = (read: Reader, value: string, parentId: string) => Subquery;
type Subquery = ReturnType<
  typeof organizationsOfUsers | typeof organizationsOfProviders | typeof organizationsOfAccounts
>;

/** Limited to the parent, because users of any organization may have the same name. */
const organizationsOfUsers = (read: Reader, parentId: string) =>
  read.selectFrom("users").select("organization_id").where("root_id", "=", parentId);

/**
 * Email addresses that identify somebody are compared without regard to letter case. Only ASCII letters are lowercased, because databases
 * differ in how they lowercase others.
 */
const lowerEmail = (read: Reader) =>
  read.kind === "postgres" ? sql<string>`lower(email collate "C")` : sql<string>`lower(email)`;

const inLowerCase = (value: string): string => value.replace(/[A-Z]/g, (letter) => letter.toLowerCase());

const organizationsOfProviders = (read: Reader, { iss, sub, aud }: Person) =>
  read
    .selectFrom("oauth_providers")
    .select("organization_id")
    .where("issuer", "=", iss)
    .where("subject", "=", sub)
    .where("audience", "=", aud);

const organizationsOfAccounts = (read: Reader) => read.selectFrom("wallet_accounts").select("organization_id");

const holders = {
  USERNAME: (read, value, parentId) => organizationsOfUsers(read, parentId).where("name", "=", value),
  EMAIL: (read, value, parentId) =>
    organizationsOfUsers(read, parentId).where(lowerEmail(read), "=", inLowerCase(value)),
  PHONE_NUMBER: (read, value, parentId) => organizationsOfUsers(read, parentId).where("phone_number", "=", value),
  OIDC_TOKEN: (read, value) => organizationsOfProviders(read, personOf(value)),
  OIDC_CLAIMS: (read, value) => organizationsOfProviders(read, personIn(value)),
  WALLET_ACCOUNT_ADDRESS: (read, value) => organizationsOfAccounts(read).where("lookup", "=", normalizeAddress(value)),
} as const satisfies Record<string, Holders>;

/** Credentials that anybody can register: the table that has them, and the spelling in which it stores them. */
const credentials = {
  CREDENTIAL_ID: { table: "authenticators", spelling: (value: string) => normalizeCredentialId(value) ?? value },
  PUBLIC_KEY: { table: "api_keys", spelling: (value: string) => value.toLowerCase() },
} as const;

const keysOf = <T extends object>(object: T) => Object.keys(object) as (keyof T)[];

/** The filter types of `list_suborgs`. */
export const subOrganizationFilters = ["NAME", ...keysOf(credentials), ...keysOf(holders)] as const;

/** The sub-organizations of a parent that match the filter, newest first; those with a credential in order of seniority. */
export async function findSubOrganizationIds(
  read: Reader,
  parentId: string,
  filter: Filter,
  page: Page,
): Promise<string[]> {
  const { type } = filter;
  if (type === undefined) return pageOfSubOrganizations(read, parentId, page);
  const value = filterValueOf(filter);
  if (type === "NAME") {
    return pageOfSubOrganizations(read, parentId, page, (rows) => rows.where("name", "=", value));
  }
  if (type === "CREDENTIAL_ID" || type === "PUBLIC_KEY") {
    const { table, spelling } = credentials[type];
    const knowing = await subOrganizationsKnowing(read, table, spelling(value), parentId, page);
    return knowing.map(({ organizationId }) => organizationId);
  }
  const found = (holders[type as keyof typeof holders] as Holders)(read, value, parentId);
  return pageOfSubOrganizations(read, parentId, page, (rows) => rows.where("id", "in", found));
}

/** The sub-organizations with a user whose email address or phone number is verified; only `value` if it is given. */
export async function findVerifiedSubOrganizationIds(
  read: Reader,
  parentId: string,
  filter: Filter,
  page: Page,
): Promise<string[]> {
  const { type } = filter;
  if (type === undefined) {
    // A correlated query per sub-organization, because a list of all verified contacts would cover every organization on the server.
    return pageOfSubOrganizations(read, parentId, page, (rows) =>
      rows.where(({ exists, selectFrom }) =>
        exists(
          selectFrom("verified_contacts")
            .select("verified_contacts.user_id")
            .whereRef("verified_contacts.organization_id", "=", "organizations.id"),
        ),
      ),
    );
  }
  const contact = contactOf(type as ContactType, filterValueOf(filter));
  const verified = read
    .selectFrom("verified_contacts")
    .select("organization_id")
    .where("root_id", "=", parentId)
    .where("type", "=", contact.type)
    .where("contact", "=", contact.value);
  return pageOfSubOrganizations(read, parentId, page, (rows) => rows.where("id", "in", verified));
}

function filterValueOf({ type, value }: Filter): string {
  return value || fail("FIELD_INVALID", { field: "filterValue", reason: `must be given with the filter type ${type}` });
}

type Rows = ReturnType<typeof selectSubOrganizations>;

const selectSubOrganizations = (read: Reader, parentId: string) =>
  read.selectFrom("organizations").select("id").where("parent_id", "=", parentId).where("deleted_at", "is", null);

/** Whether a sub-organization exists and has not been deleted. */
export const isThere = async (read: Reader, parentId: string, id: string): Promise<boolean> =>
  (await selectSubOrganizations(read, parentId).where("id", "=", id).execute()).length > 0;

async function pageOfSubOrganizations(
  read: Reader,
  parentId: string,
  page: Page,
  narrow: (rows: Rows) => Rows = (rows) => rows,
): Promise<string[]> {
  const rows = await narrow(selectSubOrganizations(read, parentId))
    .$if(page.before !== undefined, (rows) => rows.where("id", "<", page.before as string))
    .$if(page.after !== undefined, (rows) => rows.where("id", ">", page.after as string))
    .orderBy("id", page.after === undefined ? "desc" : "asc")
    .limit(page.limit)
    .execute();
  return newestFirst(rows, page).map(({ id }) => id);
}

/** The names of the organizations, in the order of the ids. */
export async function findNames(read: Reader, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await read.selectFrom("organizations").select(["id", "name"]).where("id", "in", ids).execute();
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  return ids.map((id) => names.get(id) ?? "");
}

type Person = Pick<TokenClaims, "iss" | "sub" | "aud">;

/**
 * The person whom an OIDC token claims to be about. Its signature is not checked: OIDC_CLAIMS, which anybody can write, find the same
 * organizations, and finding one does not sign anybody in.
 */
const personOf = (token: string): Person => readToken(token, refuseFilter).claims;

const personIn = (json: string): Person =>
  readPerson(
    parseJsonObject(Buffer.from(json), (reason) => refuseFilter(`must be JSON with claims: ${reason}`)),
    refuseFilter,
  );

const refuseFilter = (reason: string): never => fail("FIELD_INVALID", { field: "filterValue", reason });

/** @throws KeysteadError NOT_EXPORTED naming the first wallet, private key or secret that would be lost with the organization */
export async function requireAllExported(read: Reader, organizationId: string): Promise<void> {
  const kinds = { wallets: "wallet", private_keys: "private key", secrets: "secret" } as const;
  for (const table of ["wallets", "private_keys", "secrets"] as const) {
    const row = await read
      .selectFrom(table)
      .select("id")
      .where("organization_id", "=", organizationId)
      .where("exported", "=", 0)
      .orderBy("id")
      .executeTakeFirst();
    if (row) fail("NOT_EXPORTED", { kind: kinds[table], id: row.id });
  }
}

export const ERASE_ORGANIZATION = "erase_organization";

/**
 * Destroys the organization's key, under which all its other keys are sealed, and every user and credential. Nobody can act in it any more,
 * and its contents are no longer readable. A job deletes the rows that are too many for one transaction.
 */
export async function endOrganization(
  tx: Transactor,
  organizationId: string,
  { erasedTables, largeTables }: Pick<Services, "erasedTables" | "largeTables">,
  now: number,
): Promise<void> {
  const erasing = await hasMany(tx, organizationId, largeTables);
  for (const table of erasedTables) {
    if (!erasing || !largeTables.includes(table)) await eraseRows(tx, organizationId, table);
  }
  await tx
    .updateTable("organizations")
    .set({ sealed_key: Buffer.alloc(0), deleted_at: now, erasing: Number(erasing), updated_at: now })
    .where("id", "=", organizationId)
    .execute();
  if (!erasing) return;
  await enqueue(tx, {
    kind: ERASE_ORGANIZATION,
    payload: { organizationId },
    lane: `${ERASE_ORGANIZATION}/${organizationId}`,
    gate: `${ERASE_ORGANIZATION}*1`,
    organizationId,
    runAt: now,
    now,
  });
}

/** Whether one of the tables has more rows of the organization than one transaction should delete. */
async function hasMany(tx: Transactor, organizationId: string, tables: readonly OwnedTable[]): Promise<boolean> {
  for (const table of tables) {
    const rows = tx.selectFrom(table as "wallet_accounts").where("organization_id", "=", organizationId);
    if (await areMoreThan(MAX_ERASED_AT_ONCE, rows)) return true;
  }
  return false;
}

/** Deletes at most `limit` of a deleted organization's rows in a table, and resolves to their number. */
export function eraseSome(tx: Transactor, organizationId: string, table: OwnedTable, limit: number): Promise<number> {
  const rows = rowsOf(tx, table).where("organization_id", "=", organizationId);
  return deleteSome(tx.kind, tx.deleteFrom(table as "wallet_accounts"), rows, limit);
}

/** Notes that the erasure is complete, so that the remaining records of the organization become readable. */
export async function endErasure(tx: Transactor, organizationId: string): Promise<void> {
  await tx.updateTable("organizations").set({ erasing: 0 }).where("id", "=", organizationId).execute();
}

async function eraseRows(tx: Transactor, organizationId: string, table: OwnedTable): Promise<void> {
  // The cast represents any of these tables; `OwnedTable` ensures that each has the column below.
  const from = tx.deleteFrom(table as "wallet_accounts");
  await deleteAll(tx.kind, organizationId, from, rowsOf(tx, table), (row) =>
    row("organization_id", "=", organizationId),
  );
}

const rowsOf = (tx: Transactor, table: OwnedTable) =>
  tx
    .selectFrom(table as "wallet_accounts")
    // Accounts that were stored together have neighboring ids and share pages; in the order of addresses, each would be on a page of its own.
    .$if(table === "wallet_accounts", (accounts) => accounts.orderBy("id"));
