import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Counts of events per day, how far they have been counted, and an index for counting what was added since. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "daily_counts")
    .text("organization_id")
    .integer("day")
    .text("source")
    .text("type")
    .text("outcome")
    .text("detail")
    .integer("count")
    .primaryKey("organization_id", "day", "source", "type", "outcome", "detail")
    .references(["organization_id"], "organizations", ["id"])
    .execute();
  await db.schema.createIndex("daily_counts_day_index").on("daily_counts").columns(["day"]).execute();
  await table(db, kind, "counted_sources").text("source").integer("counted_until").primaryKey("source").execute();
  for (const counted of ["activities", "webhook_deliveries"]) {
    await db.schema.createIndex(`${counted}_updated_at_index`).on(counted).columns(["updated_at"]).execute();
  }
}
