import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Transactions that the installation pays for: the transaction, the paying account, and the purpose. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "sponsored_sends")
    .text("organization_id")
    .text("id")
    .text("caip2")
    .text("payer")
    .text("purpose")
    .text("plan")
    .optionalInteger("ended_at")
    .integer("created_at")
    .primaryKey("organization_id", "id")
    .index("caip2", "payer", "ended_at")
    .references(["organization_id", "id"], "send_transactions", ["organization_id", "id"])
    .execute();
  await table(db, kind, "sponsor_nonces")
    .text("caip2")
    .text("address")
    .integer("nonce")
    .text("send_id")
    .integer("created_at")
    .primaryKey("caip2", "address", "nonce")
    .execute();
}
