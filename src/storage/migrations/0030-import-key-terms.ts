import type { Kysely } from "kysely";

/** Import keys are sealed together with whom they are for. Older ones are deleted: they live for only a day, and clients request new ones. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await (db as Kysely<{ import_keys: object }>).deleteFrom("import_keys").execute();
}
