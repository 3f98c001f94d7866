import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** What a share of each vault of the operator's catalog was worth at times, of which yearly yields are made. */
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
