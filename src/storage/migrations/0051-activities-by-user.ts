import type { Kysely } from "kysely";

/** By which lists of activities find those of one user. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex("votes_user_activity_index")
    .on("votes")
    .columns(["organization_id", "user_id", "activity_id"])
    .execute();
}
