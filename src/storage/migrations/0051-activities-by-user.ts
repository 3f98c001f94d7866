import type { Kysely } from "kysely";

/** An index for lists of the activities of one user. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex("votes_user_activity_index")
    .on("votes")
    .columns(["organization_id", "user_id", "activity_id"])
    .execute();
}
