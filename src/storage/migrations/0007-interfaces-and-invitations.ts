import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Smart contract interfaces, and invitations to become a user. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const create = (name: string) => table(db, kind, name);

  await create("smart_contract_interfaces")
    .text("organization_id")
    .text("id")
    .text("type")
    .text("address")
    .text("lookup")
    .text("label")
    .text("notes")
    .text("interface_json")
    .integer("interface_bytes")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .unique("organization_id", "type", "lookup")
    .execute();

  await create("invitations")
    .text("organization_id")
    .text("id")
    .text("status")
    .text("receiver_name")
    .text("receiver_email")
    .text("receiver_tag_ids")
    .text("access_type")
    .text("sender_user_id")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .index("organization_id", "status")
    .execute();
}
