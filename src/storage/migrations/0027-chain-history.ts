import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** How far chains were followed, the history of wallet accounts' addresses on them, and transactions sent from here. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "followed_chains")
    .text("caip2")
    .integer("first_number")
    .integer("head_number")
    .text("head_hash")
    .integer("finalized_number")
    .integer("updated_at")
    .primaryKey("caip2")
    .execute();
  await table(db, kind, "followed_blocks")
    .text("caip2")
    .integer("number")
    .text("hash")
    .primaryKey("caip2", "number")
    .execute();
  await table(db, kind, "eth_history")
    .text("organization_id")
    .text("caip2")
    .text("address")
    .integer("position")
    .text("block_hash")
    .integer("block_time")
    .text("transaction_hash")
    .text("sender")
    .optionalText("recipient")
    .text("fee_amount")
    .optionalText("fee_token")
    .text("transfers")
    .optionalText("changes")
    .integer("told")
    .primaryKey("organization_id", "caip2", "address", "position")
    .index("caip2", "position")
    .index("caip2", "told", "position")
    .execute();
  await table(db, kind, "own_transactions")
    .text("organization_id")
    .text("caip2")
    .text("transaction_hash")
    .text("activity_id")
    .primaryKey("organization_id", "caip2", "transaction_hash")
    .execute();
}
