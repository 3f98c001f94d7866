import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { before, describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { copyDatabase } from "../../src/main/backup/copy.ts";
import { copyRows } from "../../src/storage/backup/copy-rows.ts";
import { CopyTarget, Overtaken } from "../../src/storage/backup/copy-target.ts";
import { RESTORE_LOCK, tablesInPostgres } from "../../src/storage/backup/load.ts";
import { openSnapshot } from "../../src/storage/backup/snapshot.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { openInspection } from "../../src/storage/inspection.ts";
import { RESTORED_SINCE } from "../../src/storage/installation-rows.ts";
import { areLong } from "../support/long-tests.ts";
import { dumpOf, linesOf, newPlace, type Place, refuses, runIn, runWell } from "../support/place.ts";
import { populate } from "../support/populated.ts";
import { seededRandom } from "../support/random.ts";
import { engines, itInTurns, startTestServer } from "../support/server.ts";
import { refusalOf, settingsOf, spawnKeystead, startServerProcess } from "../support/server-process.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";
import { createWorld } from "../support/world.ts";

/** `keystead copy` in several runs: what was begun is gone on with, from whatever state the source has by then. */

const BULK = 8000;
const KILLS = areLong ? 20 : 3;

/** Statements of SQL that both engines have, each in a transaction of its own. */
async function change({ databaseUrl }: Place, ...statements: string[]): Promise<void> {
  const database = openDatabase({ url: databaseUrl });
  try {
    for (const sql of statements) {
      await database.transact(undefined, (tx) => tx.all({ sql, parameters: [] } as Parameters<typeof tx.all>[0]));
    }
  } finally {
    await database.close();
  }
}

const addFailures = (from: number, count: number): string =>
  `insert into otp_failures (root_id, id, contact, created_at)
   with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${from + count - 1})
   select 'root', 'failure-' || i, '${"x".repeat(300)}', i from n`;

let changed = 0;

/** Rows that are changed, that go and that come, and two that take each other's name, which is unique. */
function changes(): string[] {
  changed++;
  return [
    `delete from otp_failures where created_at % 37 = ${changed % 37}`,
    `update otp_failures set contact = contact || '-${changed}' where created_at % 41 = ${changed % 41}`,
    addFailures(BULK + changed * 1000, 500),
    "update policies set name = 'spare' where name = 'one'",
    "update policies set name = 'one' where name = 'two'",
    "update policies set name = 'two' where name = 'spare'",
  ];
}

/** All rows are there, and so is the mark of an unfinished copy. */
async function leaveUnfinished(source: Place, target: Place): Promise<void> {
  const snapshot = await openSnapshot(source.databaseUrl);
  const unfinished = await CopyTarget.open(target.databaseUrl, snapshot);
  await copyRows(snapshot, unfinished, () => {});
  await unfinished.close();
}

const copyInto = (source: Place, target: Place): string[] => [
  "copy",
  ...["--from", source.databaseUrl],
  ...["--to", target.databaseUrl],
];

const quietly = { onProgress: () => {}, warn: () => {} };

for (const engine of engines) {
  describe(`a copy of ${engine}`, () => {
    let source: Place;
    let other: Place;

    before(async () => {
      source = await newPlace(engine);
      const server = await startTestServer(engine, source);
      await populate(server);
      const { root } = await createWorld(server);
      const policy = { effect: "EFFECT_ALLOW", condition: "true", consensus: "true", notes: "" };
      await root.client.result("create_policies", {
        policies: ["one", "two"].map((policyName) => ({ policyName, ...policy })),
      });
      await server.close();
      await change(source, addFailures(0, BULK));
      other = await newPlace(engine);
      await (await startServerProcess(other)).end("SIGTERM");
    });

    for (const target of engines) {
      const itInTurn = itInTurns(target);
      itInTurn(`into ${target} goes on after each end, with the source changed in between`, async () => {
        const place = await newPlace(target);
        const random = seededRandom();
        let kept = 0;
        for (let round = 0; round < KILLS; round++) {
          const running = spawnKeystead(copyInto(source, place), { settings: settingsOf(source) });
          let isOver = false;
          void running.exited.then(() => {
            isOver = true;
          });
          const percent = () => Number(/(\d+) %,[^%]*$/.exec(running.stderr())?.[1] ?? 0);
          // The last one leaves something that is kept.
          const goal = (round < KILLS - 1 ? random.integer(0, 9) : random.integer(3, 8)) * 10;
          await until(() => isOver || percent() >= goal, "the copy to come so far");
          // What comes next is at any moment of a portion: there is nothing to be seen that could be waited for.
          await setTimeout(random.integer(0, 50));
          const { code } = await running.end(random.pick(["SIGKILL", "SIGKILL", "SIGINT"]));
          const said = `seed ${random.seed}, round ${round}: ${running.stderr()}`;
          assert.notEqual(code, 1, said);
          if (code === 0) break;
          if (round > 0 && percent() > 0)
            assert.match(await refusalOf(place), /is an unfinished copy; .* run the same/);
          await change(source, ...changes());
        }
        const { rows, ...copied } = await copyDatabase({
          from: source.databaseUrl,
          to: place.databaseUrl,
          ...quietly,
        }).catch((error: Error) => {
          assert.match(error.message, /there is a database already/, `seed ${random.seed}`);
          return { rows: undefined, kept: 1 };
        });
        kept += copied.kept;
        assert.ok(kept > 0 && (rows === undefined || rows >= kept), `${kept} of ${rows}`);
        assert.deepEqual(await linesOf(place), await linesOf(source));
        if (target === engine) assert.deepEqual(await dumpOf(place), await dumpOf(source));
      });

      itInTurn(`into ${target} keeps what is equal, and ends as the newest state of the source`, async () => {
        const place = await newPlace(target);
        await leaveUnfinished(source, place);
        const unchanged = await newPlace(target);
        await leaveUnfinished(source, unchanged);
        const { rows, kept } = await runWell(source, ...copyInto(source, unchanged));
        assert.equal(kept, rows);
        assert.deepEqual(await linesOf(unchanged), await linesOf(source));
        await change(source, ...changes());
        const again = await runWell(source, ...copyInto(source, place));
        assert.ok(again.kept > rows * 0.8 && again.kept < again.rows, JSON.stringify(again));
        assert.deepEqual(await linesOf(place), await linesOf(source));
        await refuses(/there is a database already/, source, ...copyInto(source, place));
      });

      itInTurn(`into ${target} is nothing that is served, backed up or copied before it is whole`, async () => {
        const place = await newPlace(target);
        await leaveUnfinished(source, place);
        const before = await unfinishedRows(place);
        assert.match(await refusalOf(place), /^keystead: the database is an unfinished copy; nothing was changed: run/);
        assert.match((await runIn(place, "doctor")).stdout, /fail +schema.* is an unfinished copy: run the same/);
        await refuses(/is an unfinished copy: run the same/, place, "backup", join(place.dataDir, "a.backup"));
        await refuses(/is an unfinished copy/, place, ...copyInto(place, await newPlace("sqlite")));
        assert.equal(await unfinishedRows(place), before);
      });

      itInTurn(`into ${target} is refused where something else is, before anything is written`, async () => {
        const foreign = await newPlace(target);
        await leaveUnfinished(other, foreign);
        const before = await unfinishedRows(foreign);
        await refuses(/an unfinished copy of another installation/, source, ...copyInto(source, foreign));
        assert.equal(await unfinishedRows(foreign), before);
        await runWell(other, ...copyInto(other, foreign));
        assert.deepEqual(await linesOf(foreign), await linesOf(other));

        const live = await newPlace(target);
        const server = await startServerProcess(live);
        await refuses(/there is a database already|is in use by another/, source, ...copyInto(source, live));
        await server.root.read("whoami");
        await server.end("SIGTERM");
      });

      itInTurn(`into ${target} ends when another one into the same place is begun`, async () => {
        const place = await newPlace(target);
        const [one, two] = [await openSnapshot(source.databaseUrl), await openSnapshot(source.databaseUrl)];
        const first = await CopyTarget.open(place.databaseUrl, one);
        const second = await CopyTarget.open(place.databaseUrl, two);
        try {
          assert.ok(second.begun);
          await assert.rejects(
            copyRows(one, first, () => {}),
            Overtaken,
          );
          await assert.rejects(first.finish(), Overtaken);
          await copyRows(two, second, () => {});
          await second.finish();
          const late = first.write(async () => {});
          await assert.rejects(late, Overtaken);
        } finally {
          for (const each of [first, second, one, two]) await each.close();
        }
        assert.deepEqual(await linesOf(place), await linesOf(source));
      });

      itInTurn(`into ${target} is made by one of two that are begun together`, async () => {
        const place = await newPlace(target);
        const commands = [1, 2].map(() => spawnKeystead(copyInto(source, place), { settings: settingsOf(source) }));
        const ends = await Promise.all(commands.map(({ exited }) => exited));
        assert.deepEqual(ends.map(({ code }) => code).sort(), [0, 1]);
        const refused = commands[ends.findIndex(({ code }) => code === 1)];
        assert.match(
          refused?.stderr() ?? "",
          /is in use by another Keystead|another copy into the same database was begun|there is a database already/,
        );
        assert.deepEqual(await linesOf(place), await linesOf(source));
      });
    }

    it("goes on after a lost connection", async () => {
      const place = await newPlace("postgres");
      const direct = new URL(place.databaseUrl);
      const proxy = await startTcpProxy(Number(direct.port));
      const through = new URL(place.databaseUrl);
      through.port = String(proxy.port);
      let isCut = false;
      const onProgress = (done: number, all: number) => {
        if (isCut || done < all / 2) return;
        isCut = true;
        void proxy.refuse();
      };
      const copy = { from: source.databaseUrl, to: through.href, warn: () => {} };
      await assert.rejects(
        copyDatabase({ ...copy, onProgress }),
        /^Error: --to: .+What was copied so far is kept: run the same command again/,
      );
      await proxy.heal();
      const warnings: string[] = [];
      const { rows, kept } = await copyDatabase({
        ...copy,
        onProgress: () => {},
        warn: (text) => warnings.push(text),
      });
      assert.ok(kept > 0 && kept < rows, `${kept} of ${rows}`);
      assert.equal(warnings.filter((text) => /continuing the copy that was last run at 2/.test(text)).length, 1);
      await proxy.close();
      assert.deepEqual(await linesOf(place), await linesOf(source));
    });
  });
}

for (const engine of engines) {
  it(`a copy of ${engine} that a server runs on says so and counts as restored, unlike that of one whose server has ended`, async () => {
    const source = await newPlace(engine);
    const server = await startServerProcess(source);
    let place: Place;
    const warned = async () => {
      place = await newPlace("sqlite");
      return (await runIn(source, ...copyInto(source, place))).stderr.match(/.*the copy will not contain/)?.[0];
    };
    const isRestored = async () => {
      const database = openDatabase({ url: place.databaseUrl });
      const rows = await database.read
        .selectFrom("installation")
        .where("name", "=", RESTORED_SINCE)
        .select("value")
        .execute();
      await database.close();
      return rows.length > 0;
    };
    try {
      // It says that it is there a moment after it has begun to.
      await until(async () => (await warned()) !== undefined, "the copy warns");
      assert.match((await warned()) ?? "", /^keystead: a server is running on the source/);
      assert.ok(await isRestored());
    } finally {
      await server.end("SIGTERM");
    }
    assert.equal(await warned(), undefined);
    assert.ok(!(await isRestored()));
  });
}

it("a copy into an empty place has kept nothing, and on PostgreSQL has the references and numbers that a server makes", async () => {
  const source = await newPlace("sqlite");
  await (await startServerProcess(source)).end("SIGTERM");
  const [copied, made] = [await newPlace("postgres"), await newPlace("postgres")];
  await leaveUnfinished(source, copied);
  assert.equal((await runWell(source, ...copyInto(source, await newPlace("sqlite")))).kept, 0);
  await runWell(source, ...copyInto(source, copied));
  const database = openDatabase({ url: made.databaseUrl });
  await database.migrate();
  await database.close();
  const shapeOf = async ({ databaseUrl }: Place) => {
    const inspection = await openInspection(databaseUrl);
    const tables = await inspection.all(
      "select table_name from information_schema.tables where table_schema = 'public' order by 1",
    );
    const references = await inspection.all(
      "select conrelid::regclass::text as table, conname, pg_get_constraintdef(oid) as definition from pg_constraint where contype = 'f' order by 1, 2",
    );
    await inspection.close();
    assert.ok(references.length > 10);
    return { tables, references };
  };
  assert.deepEqual(await shapeOf(copied), await shapeOf(made));
});

it("a file that is no database of Keystead's is left as it is", async () => {
  const source = await newPlace("sqlite");
  await (await startServerProcess(source)).end("SIGTERM");
  const place = await newPlace("sqlite");
  const file = join(place.dataDir, "keystead.db");
  const database = new DatabaseSync(file);
  database.exec("create table installation (name text); insert into installation values ('another program')");
  database.close();
  for (const content of [readFileSync(file), Buffer.from("some text, and no database of SQLite".repeat(100))]) {
    writeFileSync(file, content);
    await refuses(/there is a database already|file is not a database/, source, ...copyInto(source, place));
    assert.deepEqual(readFileSync(file), content);
  }
});

/** What is in a database that commands refuse. */
async function unfinishedRows({ databaseUrl }: Place): Promise<string> {
  const inspection = await openInspection(databaseUrl);
  const of = (table: string) => inspection.all(`select * from ${table} order by 1`);
  const rows = JSON.stringify([
    await of("migrations"),
    await of("installation"),
    await of("policies"),
    await of("users"),
  ]);
  await inspection.close();
  return rows;
}

describe("a copy into PostgreSQL", () => {
  it("finds what another one has made in PostgreSQL while it waited for that to end", async () => {
    const { databaseUrl } = await newPlace("postgres");
    const [waiting, other] = [1, 2].map(() => new pg.Client({ connectionString: databaseUrl })) as [
      pg.Client,
      pg.Client,
    ];
    await Promise.all([waiting.connect(), other.connect()]);
    try {
      await other.query(`begin; ${RESTORE_LOCK}`);
      await other.query("create table installation (name text)");
      await waiting.query("begin");
      assert.deepEqual(await tablesInPostgres(waiting), []);
      const locked = waiting.query(RESTORE_LOCK);
      await other.query("commit");
      await locked;
      assert.deepEqual(await tablesInPostgres(waiting), ["installation"]);
    } finally {
      await Promise.all([waiting.end(), other.end()]);
    }
  });
});
