import type { Kysely } from "kysely";
import { fail } from "../../kernel/errors.ts";
import type { Schema } from "../../storage/schema.ts";
import type { Holder } from "./credential-kind.ts";
import type { Allowlist } from "./ip-allowlists.ts";

/** The look-up of who holds a credential, as far as it is the same for every kind. */

export interface HolderRow {
  organization_id: string;
  parent_id: string | null;
  organization_name: string;
  sealed_key: Uint8Array;
  quorum_threshold: number;
  policies_version: number;
  actor_organization_id: string;
  credential_id: string;
  user_id: string;
  user_name: string;
  mfa_policies: number;
  root_member: string | null;
  allowlist_rules: string | null;
  allowlist_on_evaluation_error: Allowlist["onEvaluationError"] | null;
}

export type Db = Pick<Kysely<Schema>, "selectFrom">;

/**
 * Of the organization `o`, the credential `c`, its user `u`, the user's seat `m` in the root quorum, and the allowlist `a` of
 * their organization where it is enabled.
 */
const holderColumns = [
  "o.id as organization_id",
  "o.parent_id",
  "o.name as organization_name",
  "o.sealed_key",
  "o.quorum_threshold",
  "o.policies_version",
  "c.organization_id as actor_organization_id",
  "c.id as credential_id",
  "u.id as user_id",
  "u.name as user_name",
  "u.mfa_policies",
  "m.user_id as root_member",
  "a.rules as allowlist_rules",
  "a.on_evaluation_error as allowlist_on_evaluation_error",
] as const;

/**
 * Credentials of one kind as `c`, with the organization `o` of the request, the holder `u`, the holder's seat `m` in the
 * root quorum, and the IP allowlist `a` of the holder's organization, if it is enabled.
 */
export const selectHolders = (db: Db, credentials: "api_keys as c" | "authenticators as c") =>
  db
    .selectFrom("organizations as o")
    // Both kinds have the columns that are named here; what only one has is named by `sql.ref`.
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
    .leftJoin("ip_allowlists as a", (join) =>
      join
        .onRef("a.organization_id", "=", "c.organization_id")
        .onRef("a.id", "=", "c.organization_id")
        .on("a.enabled", "=", 1),
    )
    .select([...holderColumns]);

/** The same key in both: the sub-organization's user wins. */
export const ownFirst = <Row extends { actor_organization_id: string }>(
  rows: Row[],
  organizationId: string,
): Row | undefined => rows.find((row) => row.actor_organization_id === organizationId) ?? rows[0];

/** A credential that several sub-organizations know does not tell which of them is meant. */
export function onlyOne<Row>(rows: Row[], kind: string): Row | undefined {
  if (rows.length > 1) fail("CREDENTIAL_AMBIGUOUS", { kind });
  return rows[0];
}

export const allowlistOf = (
  rules: string | null,
  onEvaluationError: Allowlist["onEvaluationError"] | null,
): Allowlist | undefined => (rules === null || onEvaluationError === null ? undefined : { rules, onEvaluationError });

export function holderOf(
  row: HolderRow,
  { type, sessionProfileId }: { type: string; sessionProfileId: string | null },
  ofKey?: Allowlist,
): Holder {
  return {
    allowlists: { ofOrganization: allowlistOf(row.allowlist_rules, row.allowlist_on_evaluation_error), ofKey },
    organization: {
      id: row.organization_id,
      parentId: row.parent_id,
      name: row.organization_name,
      sealedKey: row.sealed_key,
      quorumThreshold: row.quorum_threshold,
      policiesVersion: row.policies_version,
    },
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
