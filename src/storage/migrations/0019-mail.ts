import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Requested mail and its outcome. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "mails")
    .text("organization_id")
    .text("id")
    .text("to_address")
    .optionalText("message_id")
    .integer("created_at")
    .primaryKey("organization_id", "id")
    .index("id")
    .index("message_id")
    .index("created_at")
    .execute();
  await table(db, kind, "email_events")
    .text("organization_id")
    .text("id")
    .text("source")
    .text("lookup")
    .text("message_id")
    .text("event_type")
    .text("from_address")
    .text("to_address")
    .optionalText("sender_tenant")
    .text("details")
    .integer("occurred_at")
    .integer("created_at")
    .primaryKey("organization_id", "id")
    .unique("organization_id", "source")
    .index("organization_id", "lookup", "id")
    .index("created_at")
    .execute();
}
