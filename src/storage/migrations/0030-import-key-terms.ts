import type { Kysely } from "kysely";

/** Import keys are sealed with whom they are for. Those of before live for a day, and are asked for anew. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await (db as Kysely<{ import_keys: object }>).deleteFrom("import_keys").execute();
}
