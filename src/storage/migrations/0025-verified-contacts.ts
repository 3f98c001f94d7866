import { type Kysely, sql } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Verified contacts of users, and several stamps of one key on one activity. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "verified_contacts")
    .text("root_id")
    .text("type")
    .text("contact")
    .text("organization_id")
    .text("user_id")
    .integer("created_at")
    .primaryKey("root_id", "type", "contact")
    .references(["organization_id", "user_id"], "users", ["organization_id", "id"], "cascade")
    .index("organization_id", "user_id")
    .execute();
  // These columns were never written.
  for (const column of ["email_verified", "phone_number_verified"]) {
    await db.schema.alterTable("users").dropColumn(column).execute();
  }
  await tellStampsOfOneKeyApart(db, kind);
}

/** Until now, a further stamp was identified by its key alone. */
async function tellStampsOfOneKeyApart(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const columns = ["organization_id", "activity_id", "user_id", "public_key", "credential_id"];
  if (kind === "postgres") {
    await sql`alter table authentications drop constraint authentications_public_key_unique`.execute(db);
    await db.schema
      .createIndex("authentications_by_credential")
      .unique()
      .on("authentications")
      .columns(columns)
      .execute();
    return;
  }
  // SQLite cannot drop a constraint.
  await table(db, kind, "authentications_anew")
    .text("organization_id")
    .text("id")
    .text("activity_id")
    .text("user_id")
    .text("message")
    .text("public_key")
    .text("signature")
    .text("scheme")
    .integer("created_at")
    .optionalText("credential_id")
    .optionalText("credential_type")
    .optionalText("session_profile_id")
    .optionalText("assertion")
    .primaryKey("organization_id", "id")
    .references(["organization_id", "activity_id"], "activities", ["organization_id", "id"])
    .execute();
  const names = sql.raw(
    "organization_id, id, activity_id, user_id, message, public_key, signature, scheme, created_at, credential_id, credential_type, session_profile_id, assertion",
  );
  await sql`insert into authentications_anew (${names}) select ${names} from authentications`.execute(db);
  await db.schema.dropTable("authentications").execute();
  await db.schema.alterTable("authentications_anew").renameTo("authentications").execute();
  await db.schema
    .createIndex("authentications_by_credential")
    .unique()
    .on("authentications")
    .columns(columns)
    .execute();
}
