import type { Kysely } from "kysely";

/** Archiving needs to know which activities are still needed by webhook events. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex("webhook_events_activity_index").on("webhook_events").columns(["activity_id"]).execute();
}
