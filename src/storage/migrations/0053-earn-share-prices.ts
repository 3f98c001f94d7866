import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Share prices of the vaults in the operator's catalog over time, from which yearly yields are computed. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "earn_share_prices")
    .text("caip2")
    .text("vault_address")
    .integer("block_timestamp")
    .integer("block_number")
    .text("assets_per_share")
    .primaryKey("caip2", "vault_address", "block_timestamp")
    .index("block_timestamp")
    .execute();
}
