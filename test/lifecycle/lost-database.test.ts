import assert from "node:assert/strict";
import { copyFileSync, existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { before, describe, it } from "node:test";
import { engines, freshDatabaseUrl } from "../support/server.ts";
import { refusalOf, runKeystead, settingsOf, startServerProcess, temporaryFolder } from "../support/server-process.ts";

/** A start on a database that is not the one of the installation. */

const filesIn = (folder: string): string[] => readdirSync(folder).sort();

for (const engine of engines) {
  describe(`an empty database beside the files of an installation (${engine})`, () => {
    const dataDir = temporaryFolder();
    let databaseUrl: string;
    let emptyUrl: string;

    before(async () => {
      databaseUrl = await freshDatabaseUrl(engine, dataDir);
      emptyUrl = await freshDatabaseUrl(engine, temporaryFolder());
      await (await startServerProcess({ dataDir, databaseUrl })).end("SIGTERM");
    });

    it("stops the start: it says what it found and what to do, and leaves everything as it was", async () => {
      const found = filesIn(dataDir);
      const line = await refusalOf({ dataDir, databaseUrl: emptyUrl });
      assert.match(line, /^keystead: the database \S+( at \S+)? is empty, but /);
      assert.ok(line.includes(`${dataDir}/root.key and ${dataDir}/credentials.json are there from an installation`));
      assert.match(line, /set DATABASE_URL and KEYSTEAD_DATA_DIR to where it is\. .*start with --new-installation\n$/);
      assert.deepEqual(filesIn(dataDir), found, "nothing was made");
    });

    it("stops it for each of the two files alone", async () => {
      for (const name of ["root.key", "credentials.json"]) {
        const other = temporaryFolder();
        copyFileSync(`${dataDir}/${name}`, `${other}/${name}`);
        const line = await refusalOf({ dataDir: other, databaseUrl: emptyUrl });
        assert.ok(line.includes(`is empty, but ${other}/${name} is there from an installation`), line);
        assert.deepEqual(filesIn(other), [name]);
      }
    });

    it("stops the commands too", async () => {
      const settings = settingsOf({ dataDir, databaseUrl: emptyUrl });
      for (const args of [["init"], ["rotate", "webhook"], ["jobs", "list"]]) {
        const { code, stdout, stderr } = await runKeystead(args, settings);
        assert.deepEqual([code, stdout], [1, ""], args.join(" "));
        assert.match(stderr, /^keystead: the database [^\n]+ is empty, but [^\n]+\n$/, args.join(" "));
      }
    });

    it("becomes a new installation when it is told to, and the old credentials stay", async () => {
      const old = readFileSync(`${dataDir}/credentials.json`, "utf8");
      const server = await startServerProcess({ dataDir, databaseUrl: emptyUrl, args: ["--new-installation"] });
      assert.notEqual(server.credentials.organizationId, JSON.parse(old).organizationId);
      assert.equal((await server.root.read("whoami")).organizationId, server.credentials.organizationId);
      await server.end("SIGTERM");
      const kept = filesIn(dataDir).filter((name) => name.startsWith("credentials-until-"));
      assert.deepEqual(
        kept.map((name) => readFileSync(`${dataDir}/${name}`, "utf8")),
        [old],
      );
      const again = await startServerProcess({ dataDir, databaseUrl: emptyUrl });
      assert.equal(again.credentials.organizationId, server.credentials.organizationId);
      await again.end("SIGTERM");
    });

    it("and the switch does nothing to a database that is not empty", async () => {
      const { organizationId } = JSON.parse(readFileSync(`${dataDir}/credentials.json`, "utf8"));
      const server = await startServerProcess({ dataDir, databaseUrl: emptyUrl, args: ["--new-installation"] });
      assert.equal((await server.root.read("whoami")).organizationId, organizationId);
      assert.match(server.stdout(), /--new-installation has no effect/);
      await server.end("SIGTERM");
    });
  });
}

describe("a SQLite file that is gone while its log is still there", () => {
  it("stops the start, and what the log holds is not thrown away", async () => {
    const dataDir = temporaryFolder();
    const server = await startServerProcess({ dataDir });
    const { userId } = await server.root.read("whoami");
    await server.root.result("update_user_name", { userId, userName: "in the log" });
    await server.end("SIGKILL");
    const file = `${dataDir}/keystead.db`;
    renameSync(file, `${file}.moved`);
    rmSync(`${dataDir}/root.key`);
    rmSync(`${dataDir}/credentials.json`);
    const log = readFileSync(`${file}-wal`);
    assert.ok(log.length > 0);
    const line = await refusalOf({ dataDir });
    assert.ok(line.includes(`is empty, but ${file}-wal is there from an installation`), line);
    assert.ok(!existsSync(file));
    assert.ok(readFileSync(`${file}-wal`).equals(log));
  });
});
