import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Organizations' credentials at on-ramp providers, and purchases begun there. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "on_ramp_credentials")
    .text("organization_id")
    .text("id")
    .text("provider")
    .optionalText("project_id")
    .text("publishable_api_key")
    .text("encrypted_secret_api_key")
    .optionalText("encrypted_private_api_key")
    .bytes("sealed_keys")
    .integer("sandbox")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .execute();
  await table(db, kind, "on_ramp_transactions")
    .text("organization_id")
    .text("id")
    .text("credential_id")
    .text("provider")
    .integer("sandbox")
    .text("status")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .execute();
}
