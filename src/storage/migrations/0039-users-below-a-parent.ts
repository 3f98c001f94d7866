import { type Kysely, sql } from "kysely";

/** A parent finds its sub-organizations by their users. The look-up must not depend on how many users of others have the same name. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable("users")
    .addColumn("root_id", "text", (definition) => definition.notNull().defaultTo(""))
    .execute();
  await sql`update users set root_id = (select coalesce(o.parent_id, o.id) from organizations o where o.id = users.organization_id)`.execute(
    db,
  );
  for (const column of ["name", "email", "phone_number"]) {
    await sql`drop index ${sql.id(`users_by_${column}`)}`.execute(db);
    await db.schema
      .createIndex(`users_by_root_id_${column}`)
      .on("users")
      .columns(["root_id", column, "organization_id"])
      .execute();
  }
}
