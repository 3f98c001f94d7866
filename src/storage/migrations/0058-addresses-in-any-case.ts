import { type Kysely, sql } from "kysely";
import type { DatabaseKind } from "../engine.ts";

/**
 * An index by which a parent finds its sub-organizations by an email address, ignoring case. `users_by_root_id_email` stays for the
 * previous version, which looks for the exact spelling.
 */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const email = kind === "postgres" ? sql`lower(email collate "C")` : sql`lower(email)`;
  await sql`create index users_by_root_id_lower_email on users (root_id, ${email}, organization_id)`.execute(db);
}
