import type { Kysely } from "kysely";

/** Archiving asks which activities events of webhooks still need. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex("webhook_events_activity_index").on("webhook_events").columns(["activity_id"]).execute();
}
