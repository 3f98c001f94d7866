import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Signed transactions and their outcomes. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "send_transactions")
    .text("organization_id")
    .text("id")
    .text("activity_id")
    .text("caip2")
    .text("status")
    .bytes("signed_transaction")
    .text("transaction_hash")
    .integer("sponsored")
    .optionalText("error")
    .optionalText("progress")
    .optionalInteger("sent_at")
    .times()
    .primaryKey("organization_id", "id")
    .index("organization_id", "status", "caip2")
    .references(["organization_id"], "organizations", ["id"])
    .execute();
}
