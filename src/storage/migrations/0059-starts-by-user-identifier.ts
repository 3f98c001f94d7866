import type { Kysely } from "kysely";

/** An index for counting the starts of one-time codes that, according to the app, one user asked for, regardless of the contact. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("otps").addColumn("user_identifier", "text").execute();
  await db.schema
    .createIndex("otps_root_id_user_identifier_created_at_index")
    .on("otps")
    .columns(["root_id", "user_identifier", "created_at"])
    .where("user_identifier", "is not", null)
    .execute();
}
