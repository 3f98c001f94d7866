import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Parents' fees on swaps, quotes, and the outcomes of swaps. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "swap_configs")
    .text("organization_id")
    .optionalText("fee_bps")
    .optionalText("stable_fee_bps")
    .optionalText("receiver")
    .optionalText("made_receiver")
    .times()
    .primaryKey("organization_id")
    .references(["organization_id"], "organizations", ["id"])
    .execute();
  await table(db, kind, "swap_quotes")
    .text("organization_id")
    .text("id")
    .text("terms")
    .text("provider")
    .text("offer")
    .integer("expires_at")
    .times()
    .primaryKey("organization_id", "id")
    .index("organization_id", "expires_at")
    .references(["organization_id"], "organizations", ["id"])
    .execute();
  await table(db, kind, "swaps")
    .text("organization_id")
    .text("id")
    .text("quote_id")
    .text("send_id")
    .text("provider")
    .text("provider_request_id")
    .text("kind")
    .text("wallet_address")
    .text("input_token")
    .text("output_token")
    .text("input_amount")
    .text("status")
    .optionalText("output_amount")
    .optionalText("destination_hashes")
    .optionalText("refund")
    .optionalText("error")
    .times()
    .primaryKey("organization_id", "id")
    .unique("organization_id", "quote_id")
    .references(["organization_id"], "organizations", ["id"])
    .execute();
}
