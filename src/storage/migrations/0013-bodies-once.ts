import type { Kysely } from "kysely";

/** The body of a new activity is stored once; its intent and the votes with the same body are read from it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("activities").addColumn("body", "text").execute();
}
