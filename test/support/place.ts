import assert from "node:assert/strict";
import { encodeRow } from "../../src/storage/backup/rows.ts";
import { openSnapshot } from "../../src/storage/backup/snapshot.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { RESTORED_SINCE } from "../../src/storage/installation-rows.ts";
import type { Json } from "./client.ts";
import { type Dump, dumpDatabase } from "./database-dump.ts";
import { freshDatabaseUrl, type TestEngine } from "./server.ts";
import { runKeystead, settingsOf, temporaryFolder } from "./server-process.ts";

/** Where an installation is, or is to be: commands run there, and what is in its database afterwards. */

export interface Place {
  dataDir: string;
  databaseUrl: string;
}

export const newPlace = async (engine: TestEngine): Promise<Place> => {
  const dataDir = temporaryFolder();
  return { dataDir, databaseUrl: await freshDatabaseUrl(engine, dataDir) };
};

export const runIn = (place: Place, ...args: string[]) => runKeystead(args, settingsOf(place));

export async function runWell(place: Place, ...args: string[]): Promise<Json> {
  const { code, stdout, stderr } = await runIn(place, ...args);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

export async function refuses(expected: RegExp, place: Place, ...args: string[]): Promise<void> {
  const { code, stdout, stderr } = await runIn(place, ...args);
  assert.deepEqual([code, stdout], [1, ""], stderr);
  assert.match(stderr, expected);
  assert.match(stderr, /^(\d+ %, .*\n)*keystead: [^\n]+\n$/);
}

export async function dumpOf({ databaseUrl }: Place): Promise<Dump> {
  const database = openDatabase({ url: databaseUrl });
  try {
    // When a migration ran is of the database, and not of what is in it.
    const { migrations: _, ...dump } = await dumpDatabase(database);
    return { ...dump, installation: withoutRestore(dump.installation) };
  } finally {
    await database.close();
  }
}

/** Every row, as lines that do not depend on the engine. */
export async function linesOf({ databaseUrl }: Place): Promise<Record<string, string[]>> {
  const snapshot = await openSnapshot(databaseUrl);
  const lines: Record<string, string[]> = {};
  let table = "";
  for await (const piece of snapshot.pieces()) {
    if ("table" in piece) table = piece.table.name;
    else lines[table] = [...(lines[table] ?? []), ...piece.rows.map(encodeRow)];
  }
  await snapshot.close();
  for (const each of Object.values(lines)) each.sort();
  return { ...lines, installation: withoutRestore(lines.installation) };
}

/** That a database was restored is of the database, too. */
const withoutRestore = (installation: string[] = []): string[] =>
  installation.filter((row) => !row.includes(RESTORED_SINCE));
