import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";
import { table } from "./table.ts";

/** Policies, and their outcomes at each vote. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const create = (name: string) => table(db, kind, name);

  await db.schema
    .alterTable("organizations")
    .addColumn("policies_version", kind === "postgres" ? "bigint" : "integer", (column) =>
      column.notNull().defaultTo(0),
    )
    .execute();

  await create("policies")
    .text("organization_id")
    .text("id")
    .text("name")
    .text("effect")
    .text("consensus")
    .text("condition")
    .optionalText("time")
    .text("notes")
    .times()
    .primaryKey("organization_id", "id")
    .references(["organization_id"], "organizations", ["id"])
    .unique("organization_id", "name")
    .execute();

  await create("policy_evaluations")
    .text("organization_id")
    .text("id")
    .text("activity_id")
    .text("vote_id")
    .text("evaluations")
    .integer("created_at")
    .primaryKey("organization_id", "id")
    .references(["organization_id", "activity_id"], "activities", ["organization_id", "id"])
    .index("organization_id", "activity_id")
    .execute();
}
