import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { roomOnDisk } from "../../test/support/room-on-disk.ts";
import { until } from "../../test/support/until.ts";
import { HEALTH_LIFETIME_MS, SQLITE_LEAST_FREE_BYTES } from "../kernel/limits.ts";
import { type Database, openDatabase } from "./database.ts";
import { DatabaseFailure } from "./failure.ts";

const folder = mkdtempSync(join(tmpdir(), "keystead-files-"));
after(() => rmSync(folder, { recursive: true }));

const isLost = (error: unknown) => error instanceof DatabaseFailure && error.kind === "lost";
const write = (database: Database, value: string) =>
  database.transact(undefined, (tx) => tx.insertInto("installation").values({ name: value, value }).execute());

describe("the files of an open SQLite database", () => {
  it("are looked at before a commit is acknowledged, and the answer is final", async (test) => {
    const file = join(folder, "commit.db");
    const lost: string[] = [];
    const database = openDatabase({ url: `sqlite:${file}`, onFileLost: (path) => lost.push(path) });
    test.after(() => database.close());
    await database.migrate();
    await write(database, "there");
    // Within one turn of the event loop, so that no timer of the watch runs in between.
    const writing = database.transact(undefined, async (tx) => {
      await tx.insertInto("installation").values({ name: "gone", value: "gone" }).execute();
      renameSync(file, `${file}.gone`);
    });
    await assert.rejects(writing, isLost);
    assert.deepEqual(lost, [file]);
    renameSync(`${file}.gone`, file);
    await assert.rejects(write(database, "later"), isLost);
    await assert.rejects(database.read.all({ sql: "select 1", parameters: [] }), isLost);
    assert.deepEqual(lost, [file], "told once");
  });

  it("are looked at by themselves", async (test) => {
    const file = join(folder, "idle.db");
    const lost: string[] = [];
    const database = openDatabase({ url: `sqlite:${file}`, onFileLost: (path) => lost.push(path) });
    test.after(() => database.close());
    renameSync(`${file}-wal`, `${file}-wal.gone`);
    await until(() => lost.length > 0, "the watch");
    assert.deepEqual(lost, [`${file}-wal`]);
  });

  it("are found behind a link, and a link that leads elsewhere is a loss", async (test) => {
    const link = join(folder, "link.db");
    symlinkSync(join(folder, "target.db"), link);
    const database = openDatabase({ url: `sqlite:${link}` });
    test.after(() => database.close());
    await database.migrate();
    await write(database, "through the link");
    rmSync(link);
    symlinkSync(join(folder, "elsewhere.db"), link);
    await assert.rejects(write(database, "nowhere"), isLost);
  });

  it("keep their locks, so that no other process takes itself for the only one", async (test) => {
    const file = join(folder, "locked.db");
    await openDatabase({ url: `sqlite:${file}` }).close();
    // Twice, because a second connection must not release the locks of the first.
    const database = openDatabase({ url: `sqlite:${file}` });
    test.after(() => database.close());
    const script = `
      const { DatabaseSync } = require("node:sqlite");
      const database = new DatabaseSync(${JSON.stringify(file)});
      database.exec("pragma locking_mode = exclusive; select count(*) from sqlite_master");
    `;
    const { stderr } = spawnSync(process.execPath, ["-e", script], { encoding: "utf8" });
    assert.match(stderr, /database is locked/, "the other process has the file to itself");
  });

  it("are on a full disk while it has too little room for a commit, although small writes find some", async (test) => {
    const room = roomOnDisk(test);
    const database = openDatabase({ url: `sqlite:${join(folder, "full.db")}` });
    test.after(() => database.close());
    await database.migrate();
    const untilItIs = (state: string) => until(async () => (await database.health()).state === state, state);
    await untilItIs("ready");
    room(SQLITE_LEAST_FREE_BYTES - 1);
    await untilItIs("unwritable");
    await write(database, "small");
    const real = performance.now.bind(performance);
    let passed = 0;
    test.mock.method(performance, "now", () => real() + passed);
    for (let look = 0; look < 5; look++) {
      passed += HEALTH_LIFETIME_MS;
      assert.deepEqual(await database.health(), { state: "unwritable", reason: "has no room left on its disk" });
    }
    room(SQLITE_LEAST_FREE_BYTES);
    await untilItIs("ready");
  });
});
