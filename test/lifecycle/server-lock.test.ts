import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { hostname } from "node:os";
import { after, before, describe, it } from "node:test";
import { openDatabase } from "../../src/storage/database.ts";
import { migrations } from "../../src/storage/migrations/index.ts";
import { dumpDatabase } from "../support/database-dump.ts";
import {
  refusalOf,
  runKeystead,
  type ServerProcess,
  settingsOf,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";

/** A SQLite database belongs to one server; commands work beside it. */

describe("a second server on a SQLite database", () => {
  const dataDir = temporaryFolder();
  let server: ServerProcess;
  before(async () => {
    server = await startServerProcess({ dataDir });
  });
  after(() => server.end("SIGKILL"));

  const namesHolder = (line: string) => {
    const { pid, baseUrl } = server;
    const holder = `keystead serve, process ${pid} on ${hostname()}, since `;
    assert.ok(line.startsWith(`keystead: ${dataDir} is in use by another Keystead (${holder}`), line);
    assert.match(
      line,
      new RegExp(`since \\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z, ${baseUrl}\\): only one server can use a SQLite database`),
    );
  };

  it("does not start, and names the first", async () => {
    namesHolder(await refusalOf({ dataDir }));
    const other = temporaryFolder();
    namesHolder(await refusalOf({ dataDir: other, databaseUrl: `sqlite:${dataDir}/keystead.db` }));
    assert.deepEqual(readdirSync(other), [], "nothing was made");
    assert.equal((await server.root.query("whoami")).status, 200);
  });

  it("starts at once after the first was killed", async () => {
    await server.end("SIGKILL");
    assert.ok(readdirSync(dataDir).includes("server.lock.json"), "the dead one's name is still there");
    server = await startServerProcess({ dataDir });
    namesHolder(await refusalOf({ dataDir }));
  });

  it("starts after the first was stopped, which leaves no name", async () => {
    await server.end("SIGTERM");
    assert.ok(!readdirSync(dataDir).includes("server.lock.json"));
    server = await startServerProcess({ dataDir });
  });

  it("is no command: they work beside the server", async () => {
    const settings = settingsOf({ dataDir });
    for (const args of [
      ["init"],
      ["jobs", "list"],
      ["jobs", "retry", "--all"],
      ["rotate", "webhook"],
      ["allowlist", "remove", server.credentials.organizationId],
      ["call", "whoami"],
    ]) {
      const { code, stderr } = await runKeystead(args, settings);
      assert.equal(code, 0, `${args.join(" ")}: ${stderr}`);
    }
    const { userId } = server.credentials;
    await server.root.result("update_user_name", { userId, userName: "after all of them" });
  });

  it("commands do not change tables under it", async () => {
    const name = Object.keys(migrations).at(-1) as string;
    const store = openDatabase({ url: `sqlite:${dataDir}/keystead.db` });
    const [row] = await store.read.all<Record<string, string>>({
      sql: "select * from migrations where name = ?",
      parameters: [name],
    });
    const write = (sql: string, parameters: unknown[]) =>
      store.transact(undefined, (tx) => tx.all({ sql, parameters }));
    await write("delete from migrations where name = ?", [name]);
    const before = await dumpDatabase(store);
    const { code, stderr } = await runKeystead(["init"], settingsOf({ dataDir }));
    assert.equal(code, 1);
    assert.match(stderr, /^keystead: the database has the tables of an older version; /);
    assert.deepEqual(await dumpDatabase(store), before);
    await write("insert into migrations (name, timestamp) values (?, ?)", [name, row?.timestamp]);
    await store.close();
  });
});
