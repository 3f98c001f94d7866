import type { Kysely } from "kysely";
import type { AllowlistInForce } from "../../authority/decisions/ip-allowlists.ts";
import { MAX_HOLDERS } from "../../kernel/limits.ts";
import type { Reader, StoredRow } from "../../storage/engine.ts";
import type { Schema } from "../../storage/schema.ts";
import { allowlistFrom, isInForce } from "./allowlists.ts";
import type { CredentialLookup, Holder } from "./credential-kind.ts";
import { organizationOf } from "./organizations.ts";
import { type CredentialTable, hasActed, rankOf, subOrganizationsKnowing } from "./seniority.ts";

/** The look-up of a credential's holders: the part that all kinds share. */

export interface HolderRow {
  organization_id: string;
  parent_id: string | null;
  organization_name: string;
  sealed_key: Uint8Array;
  quorum_threshold: number;
  policies_version: number;
  erasing: number;
  actor_organization_id: string;
  credential_id: string;
  seniority: number;
  user_id: string;
  user_name: string;
  mfa_policies: number;
  root_member: string | null;
  allowlist_rules: string | null;
  allowlist_on_evaluation_error: AllowlistInForce["onEvaluationError"] | null;
}

export type Db = Pick<Kysely<Schema>, "selectFrom">;

/** The columns of the organization `o`, its user `u`, the user's root quorum membership `m`, and the allowlist `a` if it is enabled. */
const partyColumns = [
  "o.id as organization_id",
  "o.parent_id",
  "o.name as organization_name",
  "o.sealed_key",
  "o.quorum_threshold",
  "o.policies_version",
  "o.erasing",
  "u.id as user_id",
  "u.name as user_name",
  "u.mfa_policies",
  "m.user_id as root_member",
  "a.rules as allowlist_rules",
  "a.on_evaluation_error as allowlist_on_evaluation_error",
] as const;

/** Like `partyColumns`, with those of the credential `c`. */
const holderColumns = [
  ...partyColumns,
  "c.organization_id as actor_organization_id",
  "c.id as credential_id",
  "c.seniority",
] as const;

/**
 * Credentials of one kind as `c`, with the organization `o` of the request, the holder `u`, the holder's root quorum membership `m`, and the
 * IP allowlist `a` of the holder's organization, if it is enabled.
 */
export const selectHolders = (db: Db, credentials: "api_keys as c" | "authenticators as c") =>
  db
    .selectFrom("organizations as o")
    // Both tables have the columns used here. Columns that only one of them has are named by `sql.ref`.
    .innerJoin(credentials as "api_keys as c", (join) =>
      join.on((on) =>
        on.or([on("c.organization_id", "=", on.ref("o.id")), on("c.organization_id", "=", on.ref("o.parent_id"))]),
      ),
    )
    .innerJoin("users as u", (join) =>
      join.onRef("u.organization_id", "=", "c.organization_id").onRef("u.id", "=", "c.user_id"),
    )
    .leftJoin("root_quorum_members as m", (join) =>
      join.onRef("m.organization_id", "=", "c.organization_id").onRef("m.user_id", "=", "c.user_id"),
    )
    .leftJoin("ip_allowlists as a", (join) => join.on((on) => isInForce(on.ref("c.organization_id"))))
    .select([...holderColumns]);

/** Users without a credential, each in their own organization `o`. */
export const selectParties = (db: Db) =>
  db
    .selectFrom("organizations as o")
    .innerJoin("users as u", "u.organization_id", "o.id")
    .leftJoin("root_quorum_members as m", (join) =>
      join.onRef("m.organization_id", "=", "u.organization_id").onRef("m.user_id", "=", "u.id"),
    )
    .leftJoin("ip_allowlists as a", (join) => join.on((on) => isInForce(on.ref("o.id"))))
    .select([...partyColumns]);

/** Whether a pending row would change the result of a look-up of holders. */
export const isAboutHolders = (table: string, row: StoredRow, answer?: readonly unknown[]): boolean => {
  if (table !== "users" || answer === undefined) return true;
  const isSame = (holder: HolderRow) =>
    holder.user_id === row.id && holder.actor_organization_id === row.organization_id;
  return (answer as readonly HolderRow[]).some(isSame);
};

/** A row with its rank among those found for the same credential. */
export interface Ranked<Row> {
  row: Row;
  rank: number;
}

/**
 * All holders of the credential: in the organization first, then in its parent, and if neither knows it, in its sub-organizations, if the
 * reach includes them.
 */
export async function findHolders<Row extends HolderRow>(
  read: Reader,
  table: CredentialTable,
  { organizationId, key, reach }: CredentialLookup,
  select: (read: Reader, lookup: { organizationId: string; key: string }) => Promise<Row[]>,
): Promise<Ranked<Row>[]> {
  const rows = await select(read, { organizationId, key });
  if (rows.length > 0 || reach === "organization") {
    const isOfParent = (row: Row) => Number(row.actor_organization_id !== organizationId);
    return rows.map((row) => ({ row, rank: isOfParent(row) })).sort((one, other) => one.rank - other.rank);
  }
  const knowing = await subOrganizationsKnowing(read, table, key, organizationId, { limit: MAX_HOLDERS });
  const found = await Promise.all(
    knowing.map(async ({ organizationId: id, seniority }, place) => {
      const rows = await select(read, { organizationId: id, key });
      const own = rows.filter((row) => row.actor_organization_id === id);
      return own.map((row) => ({ row, rank: rankOf(seniority, place) }));
    }),
  );
  return found.flat();
}

export function holderOf(
  { row, rank }: Ranked<HolderRow>,
  { type, sessionProfileId }: { type: string; sessionProfileId: string | null },
  ofKey?: AllowlistInForce,
): Holder {
  return {
    rank,
    hasActed: hasActed(row.seniority),
    allowlists: { ofOrganization: allowlistFrom(row.allowlist_rules, row.allowlist_on_evaluation_error), ofKey },
    organization: organizationOf(row.organization_id, row.organization_name, row),
    actor: {
      userId: row.user_id,
      userName: row.user_name,
      organizationId: row.actor_organization_id,
      isRootQuorumMember: row.root_member !== null,
      hasMfaPolicies: row.mfa_policies > 0,
      credential: { id: row.credential_id, type, ...(sessionProfileId === null ? {} : { sessionProfileId }) },
    },
  };
}
