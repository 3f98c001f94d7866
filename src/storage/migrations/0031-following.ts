import type { Kysely } from "kysely";

/** Distinguishes a chain from another one with the same id. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("followed_chains").addColumn("genesis_hash", "text").execute();
  await db.schema.alterTable("followed_chains").dropColumn("first_number").execute();
}
