import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** One-time codes, wrong guesses at them, and single-use tokens. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "otps")
    .text("organization_id")
    .text("id")
    .text("root_id")
    .text("type")
    .text("contact")
    .optionalText("user_id")
    .text("mac")
    .optionalText("sealed_target_key")
    .integer("tries")
    .integer("expires_at")
    .optionalInteger("used_at")
    .integer("created_at")
    .primaryKey("organization_id", "id")
    .index("root_id", "contact", "created_at")
    .index("expires_at")
    .execute();
  await table(db, kind, "otp_failures")
    .text("root_id")
    .text("id")
    .text("contact")
    .integer("created_at")
    .primaryKey("root_id", "id")
    .index("root_id", "contact", "created_at")
    .index("created_at")
    .execute();
  await table(db, kind, "used_tokens")
    .text("organization_id")
    .text("id")
    .text("usage")
    .integer("expires_at")
    .primaryKey("organization_id", "id", "usage")
    .index("expires_at")
    .execute();
}
