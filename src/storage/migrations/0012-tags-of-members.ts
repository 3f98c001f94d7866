import type { Kysely } from "kysely";

/** An index for the tags of one user or key, which includes the tags. Instead of the older one, the primary key's index was chosen. */
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
