import type { Kysely } from "kysely";
import type { DatabaseKind } from "../engine.ts";

/** What histories show of the activity that sent a transaction, for after it is archived. */
export async function up(db: Kysely<unknown>, kind: DatabaseKind): Promise<void> {
  const integer = kind === "postgres" ? "bigint" : "integer";
  await db.schema.alterTable("own_transactions").addColumn("fingerprint", "text").execute();
  await db.schema.alterTable("own_transactions").addColumn("submitted_at", integer).execute();
  await db.schema
    .createIndex("own_transactions_activity_index")
    .on("own_transactions")
    .columns(["organization_id", "activity_id"])
    .execute();
}
