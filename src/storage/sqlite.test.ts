import assert from "node:assert/strict";
import fs, { chmodSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, mock } from "node:test";
import { damageTable } from "../../test/support/damaged-sqlite.ts";
import { until } from "../../test/support/until.ts";
import { openDatabase } from "./database.ts";
import type { Transactor } from "./engine.ts";
import { DatabaseFailure } from "./failure.ts";
import { openSqlite } from "./sqlite.ts";

describe("a SQLite file", () => {
  let folder: string;
  let umask: number;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "keystead-sqlite-"));
    umask = process.umask(0);
  });
  after(() => {
    process.umask(umask);
    rmSync(folder, { recursive: true });
  });
  const modes = (name: string) =>
    readdirSync(folder)
      .filter((file) => file.startsWith(name))
      .sort()
      .map((file) => `${file} ${(statSync(join(folder, file)).mode & 0o777).toString(8)}`);

  it("is its owner's alone, with the files beside it", async () => {
    const database = openDatabase({ url: `sqlite:${join(folder, "new.db")}` });
    await database.migrate();
    assert.deepEqual(modes("new.db"), ["new.db 600", "new.db-shm 600", "new.db-wal 600"]);
    await database.close();
  });

  it("keeps the rights that somebody gave it", async () => {
    const url = `sqlite:${join(folder, "old.db")}`;
    await openDatabase({ url }).close();
    chmodSync(join(folder, "old.db"), 0o640);
    const database = openDatabase({ url });
    await database.migrate();
    assert.deepEqual(modes("old.db"), ["old.db 640", "old.db-shm 640", "old.db-wal 640"]);
    await database.close();
  });

  it("is known to be damaged from the first read of the damaged page on, however much else can be read", async () => {
    const file = join(folder, "damaged.db");
    const url = `sqlite:${file}`;
    const whole = openDatabase({ url });
    await whole.migrate();
    await whole.close();
    damageTable(file, "activities");
    const database = openDatabase({ url });
    assert.deepEqual(await database.health(), { state: "ready" });
    await assert.rejects(database.read.selectFrom("activities").selectAll().execute(), DatabaseFailure);
    const damaged = {
      state: "unavailable",
      reason: "is in a file that is damaged: stop the server, keep a copy of the file, and restore the newest backup",
      isPartial: true,
    };
    await until(async () => (await database.health()).state !== "ready", "the next check");
    assert.deepEqual(await database.health(), damaged);
    assert.deepEqual(await database.read.selectFrom("users").select("id").execute(), []);
    assert.deepEqual(await database.health(), damaged);
    await database.close();
  });

  it("keeps nothing of a function that fails after it wrote, and all of those beside it", async () => {
    const database = openDatabase({ url: `sqlite:${join(folder, "half.db")}` });
    await database.migrate();
    const write = (name: string) => (tx: Transactor) =>
      tx.insertInto("installation").values({ name, value: "" }).execute();
    const half = (name: string, then: (tx: Transactor) => Promise<unknown>) =>
      database.transact(undefined, async (tx) => {
        await write(name)(tx);
        await then(tx);
      });
    const outcomes = await Promise.allSettled([
      database.transact(undefined, write("first")),
      half("half", () => Promise.reject(new Error("after it wrote"))),
      half("clash", write("first")),
      database.transact(undefined, write("last")),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "rejected", "fulfilled"],
    );
    const names = ["first", "half", "clash", "last"];
    const kept = await database.read.selectFrom("installation").select("name").where("name", "in", names).execute();
    assert.deepEqual(kept.map(({ name }) => name).sort(), ["first", "last"]);
    await database.close();
  });

  it("that takes no writes is told as one of a disk that is read-only where the system says so", async () => {
    const connection = openSqlite(join(folder, "unwritten.db"));
    connection.exec("pragma query_only = on");
    const reason = () =>
      connection.all("create table t (id integer)", []).then(
        () => assert.fail("it was written"),
        (error: unknown) => (error instanceof DatabaseFailure ? error.reason : String(error)),
      );
    const ofDisk = "is on a read-only disk: find out why, and mount it for writing";
    assert.equal(await reason(), "is in a file that cannot be written");
    // Of one that is mounted so the system says it before anything is opened, of one with a fault only then.
    for (const name of ["accessSync", "openSync"] as const) {
      mock.method(fs, name, () => {
        throw Object.assign(new Error("read-only"), { code: "EROFS" });
      });
      syncBuiltinESMExports();
      assert.equal(await reason().finally(() => mock.restoreAll()), ofDisk);
      syncBuiltinESMExports();
    }
    assert.equal(await reason(), "is in a file that cannot be written");
    connection.close();
  });
});
