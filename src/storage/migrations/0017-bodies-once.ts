import type { Kysely } from "kysely";

/** The body of a new activity is stored once; its intent, votes with the same body and webhooks' events are read from it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("activities").addColumn("body", "text").execute();
  await db.schema.alterTable("webhook_events").addColumn("activity_id", "text").execute();
}
