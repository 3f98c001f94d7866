import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** For operators: quotas that override the installation's, running servers, and the job that is due first. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await table(db, kind, "organization_quotas")
    .text("organization_id")
    .text("name")
    .optionalInteger("figure")
    .times()
    .primaryKey("organization_id", "name")
    .references(["organization_id"], "organizations", ["id"])
    .execute();
  await table(db, kind, "servers")
    .text("id")
    .text("host")
    .integer("pid")
    .text("version")
    .text("url")
    .text("state")
    .integer("is_draining")
    .integer("started_at")
    .integer("seen_at")
    .primaryKey("id")
    .execute();
  await db.schema.createIndex("jobs_state_run_at_index").on("jobs").columns(["state", "run_at"]).execute();
}
