import { type Kysely, sql } from "kysely";
import type { DatabaseKind } from "../engine.ts";

/**
 * By which a parent finds its sub-organizations by an email address, with capital letters or without. `users_by_root_id_email` stays for the
 * version before, which looks for addresses as they are written.
 */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const email = kind === "postgres" ? sql`lower(email collate "C")` : sql`lower(email)`;
  await sql`create index users_by_root_id_lower_email on users (root_id, ${email}, organization_id)`.execute(db);
}
