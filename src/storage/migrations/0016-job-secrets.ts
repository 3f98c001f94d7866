import type { Kysely } from "kysely";

/** What a job must know and nobody else may read is kept apart from its payload, sealed. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("jobs").addColumn("sealed_secret", "text").execute();
}
