import { type Kysely, sql } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Values that sort after all times, which are in milliseconds. */
const MADE_WITH = 1_000_000_000_000_000;
const ADDED_LATER = 2_000_000_000_000_000;

/** When credentials were first used, and the credentials of votes, so that votes can be revoked. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await addSeniority(db, kind);
  await nameCredentialsOfVotes(db, kind);
  await db.schema
    .alterTable("votes")
    .addColumn("revoked_at", kind === "postgres" ? "bigint" : "integer")
    .execute();
  await table(db, kind, "revocations")
    .text("organization_id")
    .text("id")
    .integer("revoked_at")
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .execute();
}

async function addSeniority(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  for (const [name, key] of [
    ["api_keys", "public_key"],
    ["authenticators", "credential_id"],
  ] as const) {
    await db.schema
      .alterTable(name)
      .addColumn("seniority", kind === "postgres" ? "bigint" : "integer", (column) =>
        column.notNull().defaultTo(ADDED_LATER),
      )
      .execute();
    const of = sql.table(name);
    // Everything that one activity creates has the same time.
    await sql`update ${of} set seniority = ${MADE_WITH} from organizations o
      where o.id = ${of}.organization_id and o.parent_id is not null and o.created_at = ${of}.created_at`.execute(db);
    await sql`update ${of} set seniority = v.first_vote from
      (select organization_id, public_key, min(created_at) as first_vote from votes group by organization_id, public_key) v
      where v.organization_id = ${of}.organization_id and v.public_key = ${inHex(name, kind)}`.execute(db);
    await db.schema.dropIndex(`${name}_by_${key}`).execute();
    await db.schema.createIndex(`${name}_by_${key}_seniority`).on(name).columns([key, "seniority", "id"]).execute();
  }
}

/** Votes on decided activities stay unchanged, because nobody can revoke them. */
async function nameCredentialsOfVotes(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  for (const name of ["votes", "authentications"] as const) {
    for (const column of ["credential_id", "credential_type", "session_profile_id"]) {
      await db.schema.alterTable(name).addColumn(column, "text").execute();
    }
    const stamps = sql.table(name);
    const isOpen = sql`exists (select 1 from activities a where a.organization_id = ${stamps}.organization_id
      and a.id = ${stamps}.activity_id
      and a.status in ('ACTIVITY_STATUS_CONSENSUS_NEEDED', 'ACTIVITY_STATUS_AUTHENTICATORS_NEEDED'))`;
    const isSame = (key: ReturnType<typeof inHex>) =>
      sql`c.organization_id = ${stamps}.organization_id and c.user_id = ${stamps}.user_id and ${key} = ${stamps}.public_key`;
    await sql`update ${stamps} set credential_id = c.id, credential_type = c.credential_type,
      session_profile_id = c.session_profile_id
      from api_keys c where ${isSame(inHex("c", kind, "api_keys"))} and ${isOpen}`.execute(db);
    await sql`update ${stamps} set credential_id = c.id, credential_type = 'CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR'
      from authenticators c where ${isSame(inHex("c", kind, "authenticators"))} and ${isOpen}`.execute(db);
  }
}

/** A credential's public key in the form that votes have; passkeys store theirs in bytes. */
function inHex(alias: string, kind: DatabaseKind, name = alias) {
  const key = sql.ref(`${alias}.public_key`);
  if (name === "api_keys") return key;
  return kind === "postgres" ? sql`encode(${key}, 'hex')` : sql`lower(hex(${key}))`;
}
