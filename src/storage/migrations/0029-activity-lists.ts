import type { Kysely } from "kysely";

/** One index serves every filter of lists of activities; the two before it each left one filter to look through everything. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex("activities_type_status_id_index")
    .on("activities")
    .columns(["organization_id", "type", "status", "id"])
    .execute();
  await db.schema.dropIndex("activities_status_id_index").execute();
  await db.schema.dropIndex("activities_type_id_index").execute();
}
