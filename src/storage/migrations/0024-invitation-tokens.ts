import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";

/** Tokens that accept invitations, and when they expire. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const integer = kind === "postgres" ? "bigint" : "integer";
  await db.schema.alterTable("invitations").addColumn("token_hash", "text").execute();
  await db.schema.alterTable("invitations").addColumn("expires_at", integer).execute();
}
