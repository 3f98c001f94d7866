import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";

/** Whether a transaction failed in its block; null for those that were read before. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  await db.schema
    .alterTable("eth_history")
    .addColumn("failed", kind === "postgres" ? "bigint" : "integer")
    .execute();
}
