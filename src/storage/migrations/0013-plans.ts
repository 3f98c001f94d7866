import type { Kysely } from "kysely";

/** An activity's plan for its effects outside, stored before the activity is decided. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("activities").addColumn("plan", "text").execute();
}
