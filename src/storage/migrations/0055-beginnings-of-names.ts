import { type Kysely, sql } from "kysely";
import type { DatabaseKind } from "../engine.ts";

/** An index for an organization's accounts by the beginning of their name, ignoring case. Most accounts have no name. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const name = kind === "postgres" ? sql`lower(name collate "C")` : sql`lower(name)`;
  await sql`create index wallet_accounts_name_index on wallet_accounts (organization_id, ${name}, id)
    where name is not null`.execute(db);
}
