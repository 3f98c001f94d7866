import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";

/** Whether the installation pays the rent of accounts that parents' sponsored transactions create on Solana. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const integer = kind === "postgres" ? "bigint" : "integer";
  await db.schema
    .alterTable("gas_usage_configs")
    .addColumn("pays_rent", integer, (column) => column.notNull().defaultTo(1))
    .execute();
}
