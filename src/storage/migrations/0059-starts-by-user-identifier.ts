import type { Kysely } from "kysely";

/** By which starts of one-time codes are counted that an app says one user asked for, to whatever contacts. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("otps").addColumn("user_identifier", "text").execute();
  await db.schema
    .createIndex("otps_root_id_user_identifier_created_at_index")
    .on("otps")
    .columns(["root_id", "user_identifier", "created_at"])
    .where("user_identifier", "is not", null)
    .execute();
}
