import { normalizeAddress } from "../../crypto/addresses.ts";
import { normalizeCredentialId } from "../../crypto/webauthn-data.ts";
import type { OwnedTable } from "../../engine/operations.ts";
import { newestFirst, type Page } from "../../engine/paging.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";

/** A question for the sub-organizations with something in them; everything is asked for without a type. */
interface Filter {
  type: string | undefined;
  value: string | undefined;
}

/** The ids of the organizations that hold `value`, whosever they are. */
type Holders = (read: Reader, value: string) => Subquery;
type Subquery = ReturnType<typeof organizationsOfUsers>;

const organizationsOfUsers = (read: Reader) => read.selectFrom("users").select("organization_id");

const holders = {
  USERNAME: (read, value) => organizationsOfUsers(read).where("name", "=", value),
  EMAIL: (read, value) => organizationsOfUsers(read).where("email", "=", value),
  PHONE_NUMBER: (read, value) => organizationsOfUsers(read).where("phone_number", "=", value),
  CREDENTIAL_ID: (read, value) =>
    read
      .selectFrom("authenticators")
      .select("organization_id")
      .where("credential_id", "=", normalizeCredentialId(value) ?? value) as unknown as Subquery,
  PUBLIC_KEY: (read, value) =>
    read
      .selectFrom("api_keys")
      .select("organization_id")
      .where("public_key", "=", value.toLowerCase()) as unknown as Subquery,
  OIDC_TOKEN: (read, value) => {
    const { iss, sub, aud } = claimsOf(value);
    return read
      .selectFrom("oauth_providers")
      .select("organization_id")
      .where("issuer", "=", iss)
      .where("subject", "=", sub)
      .where("audience", "in", aud) as unknown as Subquery;
  },
  WALLET_ACCOUNT_ADDRESS: (read, value) =>
    read
      .selectFrom("wallet_accounts")
      .select("organization_id")
      .where("lookup", "=", normalizeAddress(value)) as unknown as Subquery,
} as const satisfies Record<string, Holders>;

/** What `list_suborgs` can be narrowed by. */
export const subOrganizationFilters = [
  "NAME",
  ...(Object.keys(holders) as (keyof typeof holders)[]),
] as const satisfies readonly string[];

/** The sub-organizations of a parent that pass the filter, newest first. */
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
  const found = (holders[type as keyof typeof holders] as Holders)(read, value);
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
          selectFrom("users")
            .select("users.id")
            .whereRef("users.organization_id", "=", "organizations.id")
            .where((user) => user.or([user("email_verified", "=", 1), user("phone_number_verified", "=", 1)])),
        ),
      ),
    );
  }
  const value = filterValueOf(filter);
  const verified =
    type === "EMAIL"
      ? holders.EMAIL(read, value).where("email_verified", "=", 1)
      : holders.PHONE_NUMBER(read, value).where("phone_number_verified", "=", 1);
  return pageOfSubOrganizations(read, parentId, page, (rows) => rows.where("id", "in", verified));
}

function filterValueOf({ type, value }: Filter): string {
  return value || fail("FIELD_INVALID", { field: "filterValue", reason: `must be given with the filter type ${type}` });
}

type Rows = ReturnType<typeof selectSubOrganizations>;

const selectSubOrganizations = (read: Reader, parentId: string) =>
  read.selectFrom("organizations").select("id").where("parent_id", "=", parentId).where("deleted_at", "is", null);

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

/**
 * The claims that an OIDC token makes. Its signature is not checked: whoever may ask this can list every sub-organization
 * anyway, and learns nothing from a forged one.
 */
function claimsOf(token: string): { iss: string; sub: string; aud: string[] } {
  const refuse = (reason: string) => fail("FIELD_INVALID", { field: "filterValue", reason });
  const [, payload = "", signature] = token.split(".");
  if (signature === undefined) return refuse("must be an OIDC token: three parts with dots between");
  let claims: unknown;
  try {
    claims = JSON.parse(Buffer.from(payload, "base64url").toString());
  } catch {
    return refuse("must be an OIDC token: its second part is not base64url of JSON");
  }
  const { iss, sub, aud } = (claims ?? {}) as { iss?: unknown; sub?: unknown; aud?: unknown };
  const audiences = (Array.isArray(aud) ? aud : [aud]).filter((each) => typeof each === "string");
  if (typeof iss !== "string" || typeof sub !== "string" || audiences.length === 0) {
    return refuse("must be an OIDC token with the claims `iss`, `sub` and `aud`");
  }
  return { iss, sub, aud: audiences };
}

/** @throws KeysteadError NOT_EXPORTED naming the first wallet, private key or secret that would be lost with the organization */
export async function refuseUnexported(read: Reader, organizationId: string): Promise<void> {
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

/** Destroys the organization's keys, its own among them, and every user and credential: nothing can act in it any more. */
export async function eraseOrganization(
  tx: Transactor,
  organizationId: string,
  tables: readonly OwnedTable[],
  now: number,
): Promise<void> {
  for (const table of tables) {
    // One of many tables of one shape: what is asked of it is told by the type of the list.
    await tx
      .deleteFrom(table as "users")
      .where("organization_id", "=", organizationId)
      .execute();
  }
  await tx
    .updateTable("organizations")
    .set({ sealed_key: Buffer.alloc(0), deleted_at: now, updated_at: now })
    .where("id", "=", organizationId)
    .execute();
}
