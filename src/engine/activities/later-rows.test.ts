import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { freshDatabaseUrl } from "../../../test/support/server.ts";
import { openDatabase, sqliteFileOf } from "../../storage/database.ts";
import { openSqlite } from "../../storage/sqlite.ts";
import { newEvaluations } from "./evaluations.ts";
import { newActivities, newVotes } from "./rows.ts";

/** Tables that hold references to those whose rows are written later: without them a reference would be to nothing. */
it("whatever refers to rows that are written later is known to need them", async () => {
  const folder = mkdtempSync(join(tmpdir(), "keystead-batch-"));
  const url = await freshDatabaseUrl("sqlite", folder);
  const database = openDatabase({ url });
  await database.migrate();
  await database.close();
  const connection = openSqlite(sqliteFileOf(url) as string);
  const references = await connection.all<{ name: string; target: string }>(
    `select t.name, f."table" as target from sqlite_master t, pragma_foreign_key_list(t.name) f where t.type = 'table'`,
    [],
  );
  connection.close();
  rmSync(folder, { recursive: true });
  const all = [newActivities, newVotes, newEvaluations];
  for (const { table, neededBy } of all) {
    const referring = new Set(references.filter(({ target }) => target === table).map(({ name }) => name));
    const apart = [...referring].filter((name) => !neededBy.includes(name));
    assert.deepEqual(apart, [], table);
  }
  assert.ok(references.length > 10);
});
