import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Further credentials that users must present, and limits on what sessions may do. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const create = (name: string) => table(db, kind, name);

  await db.schema
    .alterTable("users")
    .addColumn("mfa_policies", kind === "postgres" ? "bigint" : "integer", (column) => column.notNull().defaultTo(0))
    .execute();

  await create("mfa_policies")
    .text("organization_id")
    .text("id")
    .text("user_id")
    .text("name")
    .text("condition")
    .text("required_methods")
    .integer("position")
    .optionalText("notes")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id", "user_id"], "users", ["organization_id", "id"], "cascade")
    .index("organization_id", "user_id")
    .execute();

  await create("authentications")
    .text("organization_id")
    .text("id")
    .text("activity_id")
    .text("user_id")
    .text("message")
    .text("public_key")
    .text("signature")
    .text("scheme")
    .integer("created_at")
    .primaryKey("organization_id", "id")
    .references(["organization_id", "activity_id"], "activities", ["organization_id", "id"])
    .unique("organization_id", "activity_id", "user_id", "public_key")
    .execute();

  await create("session_profiles")
    .text("organization_id")
    .text("id")
    .text("name")
    .text("scope")
    .optionalInteger("expiration_seconds")
    .optionalText("notes")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .unique("organization_id", "name")
    .execute();
}
