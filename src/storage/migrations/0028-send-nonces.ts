import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** The nonces of an account that are used by transactions that may still be included in a block, or lost in a reorganization. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "send_nonces")
    .text("organization_id")
    .text("caip2")
    .text("address")
    .integer("nonce")
    .text("send_id")
    .integer("created_at")
    .primaryKey("organization_id", "caip2", "address", "nonce")
    .references(["organization_id"], "organizations", ["id"])
    .execute();
}
