import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** IP allowlists of organizations and of single API keys; that of a key is deleted with it. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "ip_allowlists")
    .text("organization_id")
    .text("id")
    .optionalText("api_key_id")
    .integer("enabled")
    .text("on_evaluation_error")
    .text("rules")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .references(["organization_id", "api_key_id"], "api_keys", ["organization_id", "id"], "cascade")
    .execute();
}
