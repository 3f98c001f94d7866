import type { Kysely } from "kysely";

/**
 * Each server asks twice a second which deployments must run. Their rows contain manifests, so reading the identifiers from the rows took
 * three times as long as reading them from an index.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex("tvc_deployments_is_wanted_index").execute();
  await db.schema
    .createIndex("tvc_deployments_wanted_index")
    .on("tvc_deployments")
    .columns(["is_wanted", "organization_id", "id"])
    .execute();
}
