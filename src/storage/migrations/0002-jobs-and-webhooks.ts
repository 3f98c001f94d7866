import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Jobs with their lanes, service keys, and webhook endpoints with what is delivered to them. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const create = (name: string) => table(db, kind, name);

  await create("jobs")
    .text("id")
    .text("lane")
    .text("kind")
    .text("payload")
    .optionalText("organization_id")
    .optionalText("key")
    .text("state")
    .integer("run_at")
    .integer("attempts")
    .optionalText("last_error")
    .times()
    .primaryKey("id")
    .unique("key")
    .index("lane", "state", "run_at", "id")
    .index("state", "id")
    .execute();

  await create("job_lanes")
    .text("lane")
    .text("gate")
    .integer("leased_until")
    .text("owner")
    .primaryKey("lane")
    .execute();

  await create("service_keys")
    .text("id")
    .text("purpose")
    .text("curve")
    .text("public_key")
    .bytes("sealed_key")
    .integer("created_at")
    .optionalInteger("retired_at")
    .primaryKey("id")
    .index("purpose")
    .execute();

  await create("webhook_endpoints")
    .text("organization_id")
    .text("id")
    .text("url")
    .text("name")
    .integer("is_active")
    .optionalInteger("failing_since")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .execute();

  await create("webhook_subscriptions")
    .text("organization_id")
    .text("endpoint_id")
    .integer("position")
    .text("event_type")
    .optionalText("filters_json")
    .integer("is_active")
    .primaryKey("organization_id", "endpoint_id", "position")
    .references(["organization_id", "endpoint_id"], "webhook_endpoints", ["organization_id", "id"], "cascade")
    .execute();

  await create("webhook_events")
    .text("id")
    .text("organization_id")
    .text("event_type")
    .text("body")
    .integer("created_at")
    .primaryKey("id")
    .references(["organization_id"], "organizations", ["id"])
    .index("created_at")
    .execute();

  await create("webhook_deliveries")
    .text("organization_id")
    .text("id")
    .text("endpoint_id")
    .text("event_id")
    .text("status")
    .integer("attempts")
    .optionalInteger("next_attempt_at")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id", "endpoint_id"], "webhook_endpoints", ["organization_id", "id"], "cascade")
    .references(["event_id"], "webhook_events", ["id"], "cascade")
    .index("organization_id", "endpoint_id", "id")
    .index("event_id")
    .execute();

  await create("webhook_attempts")
    .text("organization_id")
    .text("delivery_id")
    .integer("number")
    .integer("started_at")
    .integer("duration_ms")
    .optionalInteger("status_code")
    .optionalText("error")
    .primaryKey("organization_id", "delivery_id", "number")
    .references(["organization_id", "delivery_id"], "webhook_deliveries", ["organization_id", "id"], "cascade")
    .execute();
}
