import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openDatabase } from "../../src/storage/database.ts";
import { migrations } from "../../src/storage/migrations/index.ts";
import { dumpDatabase } from "../support/database-dump.ts";
import { engines, freshDatabaseUrl } from "../support/server.ts";
import { refusalOf, runKeystead, settingsOf, startServerProcess, temporaryFolder } from "../support/server-process.ts";

for (const engine of engines) {
  describe(`a database that a newer version has brought up to date (${engine})`, () => {
    it("stops this one with a line that says so, and stays as it is", async () => {
      const dataDir = temporaryFolder();
      const databaseUrl = await freshDatabaseUrl(engine, dataDir);
      await (await startServerProcess({ dataDir, databaseUrl })).end("SIGTERM");
      const store = openDatabase({ url: databaseUrl });
      const sql = "insert into migrations (name, timestamp) values ('9998-of-tomorrow', 'x'), ('9999-of-later', 'x')";
      await store.transact(undefined, (tx) => tx.all({ sql, parameters: [] }));
      const before = await dumpDatabase(store);
      const line = await refusalOf({ dataDir, databaseUrl });
      assert.match(
        line,
        /^keystead: the database was migrated to a newer version of Keystead than \d+\.\d+\.\d+: it has 9998-of-tomorrow, 9999-of-later; nothing was changed\. Start the newer version, /,
      );
      for (const args of [["init"], ["rotate", "webhook"], ["jobs", "retry", "--all"]]) {
        const { code, stderr } = await runKeystead(args, settingsOf({ dataDir, databaseUrl }));
        assert.deepEqual([code, stderr], [1, line], args.join(" "));
      }
      const backup = await runKeystead(["backup", join(dataDir, "backup")], settingsOf({ dataDir, databaseUrl }));
      assert.match(
        backup.stderr,
        /^keystead: [^\n]+ it has 9998-of-tomorrow, 9999-of-later; run this command from that version\n$/,
      );
      assert.deepEqual(await dumpDatabase(store), before);
      await store.close();
    });
  });

  describe(`a database that a server of an older version may run on (${engine})`, () => {
    it("is brought up to this one by a server alone: commands say so, and leave it as it is", async () => {
      const dataDir = temporaryFolder();
      const databaseUrl = await freshDatabaseUrl(engine, dataDir);
      await (await startServerProcess({ dataDir, databaseUrl })).end("SIGTERM");
      const store = openDatabase({ url: databaseUrl });
      const newest = Object.keys(migrations).at(-1);
      const sql = `delete from migrations where name = '${newest}'`;
      await store.transact(undefined, (tx) => tx.all({ sql, parameters: [] }));
      const before = await dumpDatabase(store);
      const archive = ["archive", join(dataDir, "archive"), "--before", "2025-01-01"];
      for (const args of [["init"], ["rotate", "webhook"], archive, ["jobs", "retry", "--all"]]) {
        const { code, stderr } = await runKeystead(args, settingsOf({ dataDir, databaseUrl }));
        assert.deepEqual(
          [code, stderr],
          [
            1,
            "keystead: the database has the tables of an older version; nothing was changed. Start the server once to migrate them, or run the command from the version that your servers run\n",
          ],
          args.join(" "),
        );
      }
      assert.deepEqual(await dumpDatabase(store), before);
      await store.close();
    });
  });
}
