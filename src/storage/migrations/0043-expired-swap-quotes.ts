import type { Kysely } from "kysely";

/** By which quotes are found that have expired, whosever they are. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex("swap_quotes_expired_index").on("swap_quotes").columns(["expires_at"]).execute();
}
