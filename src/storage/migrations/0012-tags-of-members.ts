import type { Kysely } from "kysely";

/** The tags of one user or key: an index that holds them is taken; the older one was passed over for the primary key's. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ["user_tag_members", "private_key_tag_members"]) {
    await db.schema.dropIndex(`${table}_member_id_index`).execute();
    await db.schema
      .createIndex(`${table}_member_id_tag_id_index`)
      .on(table)
      .columns(["organization_id", "member_id", "tag_id"])
      .execute();
  }
}
