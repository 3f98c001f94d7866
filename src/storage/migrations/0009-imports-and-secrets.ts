import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Keys that imports are encrypted to, and secrets. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const create = (name: string) => table(db, kind, name);

  await create("import_keys")
    .text("organization_id")
    .text("id")
    .text("user_id")
    .text("purpose")
    .bytes("sealed_key")
    .text("target_public_key")
    .integer("created_at")
    .primaryKey("organization_id", "id")
    .references(["organization_id", "user_id"], "users", ["organization_id", "id"], "cascade")
    .index("organization_id", "user_id", "purpose")
    .index("created_at")
    .execute();

  await create("secrets")
    .text("organization_id")
    .text("id")
    .optionalText("name")
    .text("static_properties")
    .bytes("sealed_secret")
    .integer("exported")
    .integer("created_at")
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .unique("organization_id", "name")
    .execute();
}
