import type { Kysely } from "kysely";

/** How a key was obtained, for keys from signing in. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("api_keys").addColumn("grade", "text").execute();
}
