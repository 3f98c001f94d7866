import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** The lists of policies by which votes were judged, stored once for all votes with the same list. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "policy_lists")
    .text("organization_id")
    .text("id")
    .text("policy_ids")
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .execute();
}
