import type { Kysely } from "kysely";

/** The newest deployments of an app, those that are not cleaned up, and the programs that these need, however many there were. */
export async function up(db: Kysely<unknown>): Promise<void> {
  const index = (name: string, columns: string[]) =>
    db.schema.createIndex(`tvc_deployments_${name}_index`).on("tvc_deployments").columns(columns).execute();
  await db.schema.dropIndex("tvc_deployments_app_id_index").execute();
  await index("app_id_id", ["organization_id", "app_id", "id"]);
  await index("app_id_cleaned_up_at", ["organization_id", "app_id", "cleaned_up_at"]);
  await index("pivot_digest", ["pivot_digest", "cleaned_up_at"]);
}
