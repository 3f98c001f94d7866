import type { Kysely } from "kysely";

/** What an activity plans to do outside is kept with it, from before it is decided on. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("activities").addColumn("plan", "text").execute();
}
