import type { Kysely } from "kysely";

/** One index for all filters of lists of activities; with each of the two before it, one filter had to scan everything. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex("activities_type_status_id_index")
    .on("activities")
    .columns(["organization_id", "type", "status", "id"])
    .execute();
  await db.schema.dropIndex("activities_status_id_index").execute();
  await db.schema.dropIndex("activities_type_id_index").execute();
}
