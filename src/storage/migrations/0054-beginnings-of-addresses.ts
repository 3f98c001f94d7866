import { type Kysely, sql } from "kysely";
import type { DatabaseKind } from "../engine.ts";

/**
 * An index for an organization's accounts by the beginning of their address. In byte order on both engines, because in the order of a
 * language equal beginnings need not be adjacent.
 */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const lookup = kind === "postgres" ? sql`lookup collate "C"` : sql`lookup`;
  await sql`create index wallet_accounts_beginning_index on wallet_accounts (organization_id, ${lookup}, id)`.execute(
    db,
  );
}
