import { type Kysely, sql } from "kysely";

/** An index for failing endpoints, for operators; they are few among all endpoints. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex("webhook_endpoints_failing_index")
    .on("webhook_endpoints")
    .columns(["failing_since"])
    .where(sql.ref("failing_since"), "is not", null)
    .where(sql.ref("is_active"), "=", sql.lit(1))
    .execute();
}
