import type { Kysely } from "kysely";

/**
 * Indexes for the newest deployments of an app, for deployments that are not cleaned up, and for the programs that these need, regardless
 * of how many there were before.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  const index = (name: string, columns: string[]) =>
    db.schema.createIndex(`tvc_deployments_${name}_index`).on("tvc_deployments").columns(columns).execute();
  await db.schema.dropIndex("tvc_deployments_app_id_index").execute();
  await index("app_id_id", ["organization_id", "app_id", "id"]);
  await index("app_id_cleaned_up_at", ["organization_id", "app_id", "cleaned_up_at"]);
  await index("pivot_digest", ["pivot_digest", "cleaned_up_at"]);
}
