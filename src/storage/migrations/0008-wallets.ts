import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Wallets and the accounts derived from them. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const create = (name: string) => table(db, kind, name);

  await create("wallets")
    .text("organization_id")
    .text("id")
    .text("name")
    .bytes("sealed_wallet")
    .integer("exported")
    .integer("imported")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .execute();

  await create("wallet_accounts")
    .text("organization_id")
    .text("id")
    .text("wallet_id")
    .text("curve")
    .text("path")
    .text("address_format")
    .text("address")
    .text("lookup")
    .text("public_key")
    .optionalText("name")
    .integer("exported")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id", "wallet_id"], "wallets", ["organization_id", "id"], "cascade")
    // Each way to look up accounts has an index that covers all its columns, so that it is chosen even without statistics.
    .unique("organization_id", "wallet_id", "path", "curve", "address_format")
    .index("organization_id", "wallet_id", "id")
    .index("lookup", "organization_id", "wallet_id")
    .execute();
}
