import { type Kysely, sql } from "kysely";
import type { DatabaseKind } from "../engine.ts";

/**
 * By which the accounts of an organization are found whose address begins so. In the order of bytes on both engines: in that of a language
 * what begins the same need not stand together.
 */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const lookup = kind === "postgres" ? sql`lookup collate "C"` : sql`lookup`;
  await sql`create index wallet_accounts_beginning_index on wallet_accounts (organization_id, ${lookup}, id)`.execute(
    db,
  );
}
