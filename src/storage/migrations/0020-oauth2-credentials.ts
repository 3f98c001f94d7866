import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Organizations' client credentials at OAuth 2.0 providers. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "oauth2_credentials")
    .text("organization_id")
    .text("id")
    .text("provider")
    .text("client_id")
    .text("encrypted_client_secret")
    .bytes("sealed_client_secret")
    .times()
    .primaryKey("organization_id", "id")
    .unique("organization_id", "provider", "client_id")
    .references(["organization_id"], "organizations", ["id"])
    .execute();
}
