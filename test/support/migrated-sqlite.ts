import { constants, copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { openDatabase } from "../../src/storage/database.ts";

/*
 * A SQLite database that `npm test` makes once, with all tables and no rows, as MIGRATED_DATABASE is on PostgreSQL: a copy of it
 * takes less time than the migrations.
 */

/**
 * Makes it, whole in one file: the last connection to close takes the log away.
 *
 * @returns its path
 */
export async function makeMigratedFile(folder: string): Promise<string> {
  const file = join(folder, "migrated.db");
  const database = openDatabase({ url: `sqlite:${file}` });
  await database.migrate();
  await database.close();
  return file;
}

/** Writes a copy of it unless there is a database; where nobody made it, a server makes and migrates its own. */
export function copyMigratedFile(file: string): void {
  const { KEYSTEAD_TEST_SQLITE_FILE: migrated } = process.env;
  if (migrated !== undefined && !existsSync(file)) copyFileSync(migrated, file, constants.COPYFILE_EXCL);
}
