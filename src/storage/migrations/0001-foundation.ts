import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Organizations, users, credentials, tags, private keys, activities and votes. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const create = (name: string) => table(db, kind, name);

  await create("installation").text("name").text("value").primaryKey("name").execute();

  await create("organizations")
    .text("id")
    .optionalText("parent_id")
    .text("name")
    .bytes("sealed_key")
    .integer("quorum_threshold")
    .times()
    .primaryKey("id")
    .references(["parent_id"], "organizations", ["id"])
    .index("parent_id")
    .execute();

  await create("organization_features")
    .text("organization_id")
    .text("name")
    .optionalText("value")
    .primaryKey("organization_id", "name")
    .references(["organization_id"], "organizations", ["id"])
    .execute();

  await create("users")
    .text("organization_id")
    .text("id")
    .text("name")
    .optionalText("email")
    .optionalText("phone_number")
    .integer("version")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .execute();

  await create("root_quorum_members")
    .text("organization_id")
    .text("user_id")
    .primaryKey("organization_id", "user_id")
    .references(["organization_id", "user_id"], "users", ["organization_id", "id"])
    .execute();

  await create("api_keys")
    .text("organization_id")
    .text("id")
    .text("user_id")
    .text("name")
    .text("credential_type")
    .text("public_key")
    .optionalText("session_profile_id")
    .optionalInteger("expiration_seconds")
    .optionalInteger("expires_at")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id", "user_id"], "users", ["organization_id", "id"], "cascade")
    .unique("organization_id", "public_key")
    .index("organization_id", "user_id")
    .execute();

  await create("authenticators")
    .text("organization_id")
    .text("id")
    .text("user_id")
    .text("name")
    .text("credential_id")
    .bytes("public_key")
    .text("aaguid")
    .text("attestation_type")
    .text("transports")
    .bytes("rp_id_hash")
    .text("origin")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id", "user_id"], "users", ["organization_id", "id"], "cascade")
    .unique("organization_id", "credential_id")
    .index("organization_id", "user_id")
    .execute();

  await create("oauth_providers")
    .text("organization_id")
    .text("id")
    .text("user_id")
    .text("name")
    .text("issuer")
    .text("audience")
    .text("subject")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id", "user_id"], "users", ["organization_id", "id"], "cascade")
    .unique("organization_id", "issuer", "audience", "subject")
    .index("organization_id", "user_id")
    .execute();

  await create("tags")
    .text("organization_id")
    .text("id")
    .text("type")
    .text("name")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .execute();

  await create("user_tag_members")
    .text("organization_id")
    .text("tag_id")
    .text("member_id")
    .primaryKey("organization_id", "tag_id", "member_id")
    .references(["organization_id", "tag_id"], "tags", ["organization_id", "id"], "cascade")
    .references(["organization_id", "member_id"], "users", ["organization_id", "id"], "cascade")
    .index("organization_id", "member_id")
    .execute();

  await create("private_keys")
    .text("organization_id")
    .text("id")
    .text("name")
    .text("curve")
    .text("public_key")
    .bytes("sealed_key")
    .integer("exported")
    .integer("imported")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .execute();

  await create("private_key_addresses")
    .text("organization_id")
    .text("private_key_id")
    .integer("position")
    .text("format")
    .text("address")
    .text("lookup")
    .primaryKey("organization_id", "private_key_id", "position")
    .references(["organization_id", "private_key_id"], "private_keys", ["organization_id", "id"], "cascade")
    .index("organization_id", "lookup")
    .execute();

  await create("private_key_tag_members")
    .text("organization_id")
    .text("tag_id")
    .text("member_id")
    .primaryKey("organization_id", "tag_id", "member_id")
    .references(["organization_id", "tag_id"], "tags", ["organization_id", "id"], "cascade")
    .references(["organization_id", "member_id"], "private_keys", ["organization_id", "id"], "cascade")
    .index("organization_id", "member_id")
    .execute();

  await create("activities")
    .text("organization_id")
    .text("id")
    .text("type")
    .text("status")
    .text("fingerprint")
    .text("intent")
    .optionalText("result")
    .optionalText("failure")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .unique("organization_id", "fingerprint")
    .index("organization_id", "status", "id")
    .index("organization_id", "type", "id")
    .execute();

  await create("votes")
    .text("organization_id")
    .text("id")
    .text("activity_id")
    .text("user_id")
    .text("user_name")
    .text("selection")
    .text("message")
    .text("public_key")
    .text("signature")
    .text("scheme")
    .integer("created_at")
    .primaryKey("organization_id", "id")
    .references(["organization_id", "activity_id"], "activities", ["organization_id", "id"])
    .unique("organization_id", "activity_id", "user_id")
    .execute();
}
