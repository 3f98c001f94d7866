import type { Kysely } from "kysely";

/** The root keys that each running server has open, for their rotation. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("servers").addColumn("root_keys", "text").execute();
}
