import type { Kysely } from "kysely";

/** Secrets of jobs, stored sealed and apart from the payload. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("jobs").addColumn("sealed_secret", "text").execute();
}
