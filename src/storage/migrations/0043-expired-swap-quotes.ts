import type { Kysely } from "kysely";

/** An index for expired quotes of all organizations. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex("swap_quotes_expired_index").on("swap_quotes").columns(["expires_at"]).execute();
}
