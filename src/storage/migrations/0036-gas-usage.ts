import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Costs of sponsoring: its limits, the total by minute, and each transaction's share. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "gas_usage_configs")
    .text("organization_id")
    .text("id")
    .text("org_limit_usd")
    .text("sub_org_limit_usd")
    .integer("window_minutes")
    .integer("enabled")
    .times()
    .primaryKey("organization_id")
    .references(["organization_id"], "organizations", ["id"])
    .execute();
  await table(db, kind, "gas_usage")
    .text("organization_id")
    .integer("minute")
    .integer("micro_usd")
    .primaryKey("organization_id", "minute")
    .references(["organization_id"], "organizations", ["id"])
    .execute();
  await table(db, kind, "gas_costs")
    .text("organization_id")
    .text("send_id")
    .optionalText("parent_id")
    .integer("minute")
    .text("native_price")
    .integer("micro_usd")
    .primaryKey("organization_id", "send_id")
    .references(["organization_id", "send_id"], "send_transactions", ["organization_id", "id"])
    .execute();
}
