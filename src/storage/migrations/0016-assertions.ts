import type { Kysely } from "kysely";

/** A passkey signs more than the body. That is stored with the stamp, so that anybody can verify it later. */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ["votes", "authentications"]) {
    await db.schema.alterTable(table).addColumn("assertion", "text").execute();
  }
}
