import type { Kysely } from "kysely";

/** Stores the body of a new activity once; its intent, votes with the same body, and events of webhooks are read from it. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("activities").addColumn("body", "text").execute();
  await db.schema.alterTable("webhook_events").addColumn("activity_id", "text").execute();
}
