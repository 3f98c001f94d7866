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

/** A question for the sub-organizations with something in them; everything is asked for without a type. */
interface Filter {
  type: string | undefined;
  value: string | undefined;
}

/** The ids of the organizations that hold `value`: below the parent alone where many may, and else whosever they are. */
type Holders = (read: Reader, value: string, parentId: string) => Subquery;
type Subquery = ReturnType<
  typeof organizationsOfUsers | typeof organizationsOfProviders | typeof organizationsOfAccounts
>;

/** Anybody may give users any name: those of others are not gone through. */
const organizationsOfUsers = (read: Reader, parentId: string) =>
  read.selectFrom("users").select("organization_id").where("root_id", "=", parentId);

/**
 * Addresses are told apart in no letter case wherever they lead to somebody. Databases differ in what lower case is beyond ASCII, so other
 * letters are compared as they are.
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

/** Credentials that anybody can register: where they are looked for, and in which spelling. */
const credentials = {
  CREDENTIAL_ID: { table: "authenticators", spelling: (value: string) => normalizeCredentialId(value) ?? value },
  PUBLIC_KEY: { table: "api_keys", spelling: (value: string) => value.toLowerCase() },
} as const;

const keysOf = <T extends object>(object: T) => Object.keys(object) as (keyof T)[];

/** What `list_suborgs` can be narrowed by. */
export const subOrganizationFilters = ["NAME", ...keysOf(credentials), ...keysOf(holders)] as const;

/** The sub-organizations of a parent that pass the filter, newest first; of those that know a credential the senior first. */
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

/** Those with a user whose email address or phone number, `value` if one is given, is verified. */
export async function findVerifiedSubOrganizationIds(
  read: Reader,
  parentId: string,
  filter: Filter,
  page: Page,
): Promise<string[]> {
  const { type } = filter;
  if (type === undefined) {
    // Asked of each sub-organization: a list of all verified users would be of all organizations there are.
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

/** Whether a sub-organization is there, and has not been deleted. */
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

/** What a page of organizations are called, in its order. */
export async function findNames(read: Reader, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  const rows = await read.selectFrom("organizations").select(["id", "name"]).where("id", "in", ids).execute();
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  return ids.map((id) => names.get(id) ?? "");
}

type Person = Pick<TokenClaims, "iss" | "sub" | "aud">;

/**
 * Whom an OIDC token claims to be about. Its signature is not checked: claims that anybody can write down find the same, and who is
 * found by them has signed in nowhere.
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
 * Destroys the organization's key, which all its others are sealed under, and every user and credential: nothing can act in it any more,
 * and nothing that it had is shown. What it has too much of for one transaction goes after it, by a job.
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

/** Whether one of the tables has more rows of the organization than a transaction should delete. */
async function hasMany(tx: Transactor, organizationId: string, tables: readonly OwnedTable[]): Promise<boolean> {
  for (const table of tables) {
    const rows = tx.selectFrom(table as "wallet_accounts").where("organization_id", "=", organizationId);
    if (await areMoreThan(MAX_ERASED_AT_ONCE, rows)) return true;
  }
  return false;
}

/** Deletes some of a deleted organization's rows, and resolves to how many. */
export function eraseSome(tx: Transactor, organizationId: string, table: OwnedTable, limit: number): Promise<number> {
  const rows = rowsOf(tx, table).where("organization_id", "=", organizationId);
  return deleteSome(tx.kind, tx.deleteFrom(table as "wallet_accounts"), rows, limit);
}

/** All of it is gone: what is kept of the organization can be read. */
export async function endErasure(tx: Transactor, organizationId: string): Promise<void> {
  await tx.updateTable("organizations").set({ erasing: 0 }).where("id", "=", organizationId).execute();
}

async function eraseRows(tx: Transactor, organizationId: string, table: OwnedTable): Promise<void> {
  // One of many tables of one shape: what is asked of it is told by the type of the list.
  const from = tx.deleteFrom(table as "wallet_accounts");
  await deleteAll(tx.kind, organizationId, from, rowsOf(tx, table), (row) =>
    row("organization_id", "=", organizationId),
  );
}

const rowsOf = (tx: Transactor, table: OwnedTable) =>
  tx
    .selectFrom(table as "wallet_accounts")
    // Those that were stored together lie together; by their addresses, each would be on pages of its own.
    .$if(table === "wallet_accounts", (accounts) => accounts.orderBy("id"));
