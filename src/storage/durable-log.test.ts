import assert from "node:assert/strict";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { nextTurn } from "../kernel/next-turn.ts";
import { type Database, openDatabase } from "./database.ts";
import type { SyncFile } from "./durable-log.ts";
import { DatabaseFailure } from "./failure.ts";
import { openSqlite } from "./sqlite.ts";

/** Syncs that complete when the test says so. */
function heldSyncs() {
  const held: ((error: Error | null) => void)[] = [];
  const settings = { isHeld: false };
  const sync: SyncFile = (_descriptor, done) => {
    if (settings.isHeld) held.push(done);
    else setImmediate(() => done(null));
  };
  const end = async (error: Error | null = null) => {
    for (const done of held.splice(0)) done(error);
    await nextTurn();
  };
  return { sync, settings, held, end };
}

/** Random numbers that are the same in each run. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const write = (database: Database, name: string, value = "") =>
  database.transact(undefined, (tx) => tx.insertInto("installation").values({ name, value }).execute());
const namesIn = async (database: Database): Promise<string[]> =>
  (await database.read.selectFrom("installation").select("name").orderBy("name").execute()).map(({ name }) => name);

/** Records the state of a promise, checked in turns of the event loop. */
function watched<T>(promise: Promise<T>) {
  const seen: { outcome?: "resolved" | "rejected"; error?: unknown } = {};
  promise.then(
    () => {
      seen.outcome = "resolved";
    },
    (error: unknown) => {
      seen.outcome = "rejected";
      seen.error = error;
    },
  );
  return seen;
}

const someTurns = async () => {
  for (let turn = 0; turn < 20; turn++) await nextTurn();
};

describe("the log of a SQLite file", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "keystead-durable-"));
  });
  after(() => rmSync(folder, { recursive: true }));

  async function openHeld(name: string) {
    const syncs = heldSyncs();
    const file = join(folder, name);
    const database = openDatabase({ url: `sqlite:${file}`, syncFile: syncs.sync });
    await database.migrate();
    return { ...syncs, database, file };
  }

  it("is synced before anybody is told of a commit, be it the writer or a reader, and the event loop goes on meanwhile", async () => {
    const { database, settings, held, end } = await openHeld("told.db");
    const before = await namesIn(database);
    settings.isHeld = true;
    const written = write(database, "a");
    const writer = watched(written);
    await someTurns();
    assert.equal(held.length, 1);
    const read = namesIn(database);
    const reader = watched(read);
    const next = watched(write(database, "b"));
    await someTurns();
    assert.deepEqual([writer.outcome, reader.outcome, next.outcome], [undefined, undefined, undefined]);
    settings.isHeld = false;
    await end();
    await written;
    assert.deepEqual(await read, [...before, "a"].sort());
    await someTurns();
    assert.equal(next.outcome, "resolved");
    await database.close();
  });

  it("that the disk has refused ends the use of the file: nobody knows what is there", async () => {
    const { database, settings, end, file } = await openHeld("refused.db");
    settings.isHeld = true;
    const written = watched(write(database, "a"));
    await someTurns();
    const read = watched(namesIn(database));
    settings.isHeld = false;
    await end(Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO" }));
    await someTurns();
    for (const { outcome, error } of [written, read]) {
      assert.equal(outcome, "rejected");
      assert.ok(error instanceof DatabaseFailure && error.kind === "lost", String(error));
      assert.match(error.reason, /could not be written to the disk/);
    }
    await assert.rejects(namesIn(database), { kind: "lost" });
    await assert.rejects(write(database, "b"), { kind: "lost" });
    const health = await database.health();
    assert.match(JSON.stringify(health), /could not be written to the disk/);
    await database.close();
    // What the operating system has received survives a restart of the server alone.
    const again = openDatabase({ url: `sqlite:${file}` });
    assert.ok((await namesIn(again)).includes("a"));
    assert.ok(!(await namesIn(again)).includes("b"));
    await again.close();
  });

  it("that is on a disk which became read-only is told as that", async () => {
    const { database, settings, end } = await openHeld("read-only.db");
    settings.isHeld = true;
    const written = watched(write(database, "a"));
    await someTurns();
    settings.isHeld = false;
    await end(Object.assign(new Error("EROFS: read-only file system, fdatasync"), { code: "EROFS" }));
    await someTurns();
    assert.equal(written.outcome, "rejected");
    assert.match(
      JSON.stringify(await database.health()),
      /is on a disk that became read-only; .* mount it for writing/,
    );
    await database.close();
  });

  it("is not synced for a transaction that wrote nothing", async () => {
    const { database, settings, held } = await openHeld("nothing.db");
    settings.isHeld = true;
    await database.transact(undefined, async (tx) => tx.selectFrom("installation").selectAll().execute());
    assert.equal(held.length, 0);
    await database.close();
  });

  it("has all that was acknowledged after the power was cut, whatever else of it was on the disk", async () => {
    const random = randomNumbers(20_261_127);
    const file = join(folder, "power.db");
    // What was in the file when a sync began is on the disk when the sync has completed.
    let onDisk = Buffer.alloc(0);
    const sync: SyncFile = (_descriptor, done) => {
      const found = readFileSync(`${file}-wal`);
      const turns = random(4);
      const end = (left: number): void => {
        if (left > 0) return void setImmediate(end, left - 1);
        onDisk = found;
        done(null);
      };
      setImmediate(end, turns);
    };
    const database = openDatabase({ url: `sqlite:${file}`, syncFile: sync });
    await database.migrate();
    const acknowledged = new Set<string>();
    const cuts: Promise<void>[] = [];
    let unacknowledged = 0;
    const cut = async (index: number) => {
      const log = readFileSync(`${file}-wal`);
      const expected = [...acknowledged];
      const place = join(folder, `cut-${index}`);
      mkdirSync(place);
      copyFileSync(file, join(place, "power.db"));
      // After a power cut a disk may have any part of what was not synced; here it has a part of it, and the old content for the rest.
      const rest = Buffer.from(log);
      for (let at = onDisk.length; at < rest.length; at += 512) {
        if (random(2) === 0) rest.fill(0, at, Math.min(at + 512, rest.length));
      }
      onDisk.copy(rest);
      writeFileSync(join(place, "power.db-wal"), rest);
      const found = openSqlite(join(place, "power.db"));
      const [check] = await found.all<{ integrity_check: string }>("pragma integrity_check", []);
      assert.equal(check?.integrity_check, "ok");
      const rows = await found.all<{ name: string }>("select name from installation", []);
      const names = new Set(rows.map(({ name }) => name));
      assert.deepEqual(
        expected.filter((name) => !names.has(name)),
        [],
      );
      if (names.size < (await namesIn(database)).length) unacknowledged++;
      found.close();
      rmSync(place, { recursive: true });
    };
    for (let index = 0; index < 60; index++) {
      const names = Array.from({ length: 1 + random(5) }, (_, each) => `row ${index} ${each}`);
      const writes = names.map((name) =>
        write(database, name, "x".repeat(random(3000))).then(() => void acknowledged.add(name)),
      );
      for (let turn = random(6); turn > 0; turn--) await nextTurn();
      cuts.push(cut(index));
      if (random(3) === 0) await Promise.all(writes);
    }
    await Promise.all(cuts);
    assert.ok(unacknowledged > 0, "no cut came between a commit and its sync: the test says nothing");
    await database.close();
    assert.ok(!existsSync(`${file}-wal`));
  });
});
