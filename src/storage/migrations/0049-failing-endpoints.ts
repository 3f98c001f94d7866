import { type Kysely, sql } from "kysely";

/** Operators ask which endpoints take nothing; of all that there are, they are few. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex("webhook_endpoints_failing_index")
    .on("webhook_endpoints")
    .columns(["failing_since"])
    .where(sql.ref("failing_since"), "is not", null)
    .where(sql.ref("is_active"), "=", sql.lit(1))
    .execute();
}
