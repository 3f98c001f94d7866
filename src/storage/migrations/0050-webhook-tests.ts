import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";

/** When an endpoint was last sent a test event, to limit their rate. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const integer = kind === "postgres" ? "bigint" : "integer";
  await db.schema.alterTable("webhook_endpoints").addColumn("tested_at", integer).execute();
}
