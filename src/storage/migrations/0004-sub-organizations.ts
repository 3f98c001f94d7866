import { type Kysely, sql } from "kysely";
import type { DatabaseKind } from "../engine.ts";

/** Indexes by which a parent finds its sub-organizations, and the marker of deleted ones. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const integer = kind === "postgres" ? "bigint" : "integer";
  await db.schema.alterTable("organizations").addColumn("deleted_at", integer).execute();
  for (const column of ["email_verified", "phone_number_verified"]) {
    await db.schema
      .alterTable("users")
      .addColumn(column, integer, (definition) => definition.notNull().defaultTo(0))
      .execute();
  }

  const index = (table: string, columns: string[]) =>
    db.schema
      .createIndex(`${table}_by_${columns.join("_")}`)
      .on(table)
      .columns(columns)
      .execute();
  await index("organizations", ["parent_id", "name"]);
  await index("users", ["name"]);
  await index("users", ["email"]);
  await index("users", ["phone_number"]);
  await index("api_keys", ["public_key"]);
  await index("authenticators", ["credential_id"]);
  await index("oauth_providers", ["subject", "issuer", "audience"]);
  // Pages of a parent's sub-organizations are ordered by id; with the older index on the parent alone they would have to be sorted.
  await sql`drop index organizations_parent_id_index`.execute(db);
  await index("organizations", ["parent_id", "id"]);
}
