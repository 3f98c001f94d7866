import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Auth proxies: at most one per organization. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "auth_proxies")
    .text("organization_id")
    .text("id")
    .optionalText("user_id")
    .optionalText("policy_id")
    .optionalText("public_key")
    .optionalText("sealed_key")
    .text("settings")
    .times()
    .primaryKey("organization_id")
    .unique("id")
    .execute();
}
