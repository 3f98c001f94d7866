import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { sql } from "kysely";
import { createTestDatabase } from "../../test/support/postgres.ts";
import { testPostgresUrl } from "../../test/support/server.ts";
import { until } from "../../test/support/until.ts";
import { newId } from "../kernel/ids.ts";
import { type Database, openDatabase } from "./database.ts";
import type { Reader, Transactor } from "./engine.ts";
import { prepared } from "./prepared.ts";

describe("a transaction on PostgreSQL", () => {
  let database: Database;
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  before(async () => {
    process.on("warning", onWarning);
    database = openDatabase({
      url: await createTestDatabase(testPostgresUrl(), `test_${newId().replaceAll("-", "")}`),
    });
    await database.migrate();
  });
  after(async () => {
    process.off("warning", onWarning);
    await database.close();
  });

  it("may be asked several things at once, and its connection is asked one after the other", async () => {
    const names = ["a", "b", "c", "d", "e"];
    await database.transact(undefined, async (tx) => {
      await Promise.all(names.map((name) => tx.insertInto("installation").values({ name, value: name }).execute()));
      const found = await Promise.all(
        names.map((name) => tx.selectFrom("installation").select("value").where("name", "=", name).execute()),
      );
      assert.deepEqual(
        found.map(([row]) => row?.value),
        names,
      );
    });
    // The warning is emitted in the next turn of the event loop.
    await new Promise(setImmediate);
    assert.deepEqual(warnings, []);
  });

  it("takes lists of whatever texts and numbers", async () => {
    const lists: Record<string, (string | null)[]> = {
      plain: ["a", "NULL", null, "", " ", "{}", "a,b"],
      quoted: ['"', "\\", '\\"', "\\n", "\\u0041", "'"],
      unseen: ["\n", "\t", "\r\n", "\b\f\u0001\u007f", "\u2028"],
      wide: ["é", "😀", "Ω".repeat(100)],
      none: [],
    };
    for (const [name, list] of Object.entries(lists)) {
      const found = await database.read.all<{ text: string | null }>({
        sql: "select text from unnest($1::text[]) with ordinality as list (text, place) order by place",
        parameters: [list],
      });
      assert.deepEqual(
        found.map(({ text }) => text),
        list,
        name,
      );
    }
    const [row] = await database.read.all<{ sum: number }>({
      sql: "select sum(n)::int8 as sum from unnest($1::int8[]) as n",
      parameters: [[1, 2 ** 53 - 1, null, -1]],
    });
    assert.equal(row?.sum, 2 ** 53 - 1);
  });

  it("is rolled back although something was still being asked when one thing failed", async () => {
    const add = (name: string) => ({ name, value: "" });
    const work = database.transact(undefined, (tx) =>
      Promise.all([
        tx.insertInto("installation").values(add("f")).execute(),
        tx.insertInto("installation").values(add("a")).execute(),
        tx.insertInto("installation").values(add("g")).execute(),
        tx.selectFrom("installation").selectAll().execute(),
      ]),
    );
    await assert.rejects(work, /duplicate key/);
    const rows = await database.read.selectFrom("installation").select("name").where("name", ">", "e").execute();
    assert.deepEqual(rows, []);
    await new Promise(setImmediate);
    assert.deepEqual(warnings, []);
  });
});

describe("a lock on PostgreSQL that is set to another isolation", () => {
  let url: string;
  const servers: Database[] = [];
  before(async () => {
    url = await createTestDatabase(testPostgresUrl(), `test_${newId().replaceAll("-", "")}`);
    const before = openDatabase({ url });
    servers.push(before);
    await before.migrate();
    const name = new URL(url).pathname.slice(1);
    const all = (statement: string) => before.read.all({ sql: statement, parameters: [] });
    await all(`alter database "${name}" set default_transaction_isolation = 'repeatable read'`);
    // Settings of a database apply to sessions that begin afterwards.
    servers.push(openDatabase({ url }), openDatabase({ url }));
  });
  after(() => Promise.all(servers.map((server) => server.close())));

  it("shows whoever waited for it what was committed meanwhile", async () => {
    const [before, one, other] = servers as [Database, Database, Database];
    const [locked, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const adding = one.transact("scope", async (tx) => {
      locked.resolve();
      await goesOn.promise;
      await tx.insertInto("installation").values({ name: "added", value: "" }).execute();
    });
    await locked.promise;
    const looking = other.transact("scope", (tx) =>
      tx.selectFrom("installation").select("name").where("name", "=", "added").execute(),
    );
    const waiting = `select 1 from pg_locks join pg_database d on d.oid = database
      where locktype = 'advisory' and not granted and datname = current_database()`;
    await until(
      async () => (await before.read.all({ sql: waiting, parameters: [] })).length > 0,
      "a wait for the lock",
    );
    goesOn.resolve();
    await adding;
    assert.deepEqual(await looking, [{ name: "added" }]);
  });
});

describe("what is asked of PostgreSQL at the same time", () => {
  let database: Database;
  before(async () => {
    database = openDatabase({
      url: await createTestDatabase(testPostgresUrl(), `test_${newId().replaceAll("-", "")}`),
    });
    await database.transact(undefined, (tx) => tx.all({ sql: "create sequence asked", parameters: [] }));
  });
  after(() => database.close());

  /** Has another answer each time it runs. */
  const query = { sql: "select nextval('asked') as times, $1 as by", parameters: ["x"], isRead: true };

  it("is asked once outside transactions, where it is asked with every request", async () => {
    const ask = async () => {
      const askers = Array.from({ length: 20 }, () =>
        database.read.all<{ times: number }>({ ...query, isLasting: true }),
      );
      return new Set((await Promise.all(askers)).map(([row]) => row?.times));
    };
    const [first, second] = [await ask(), await ask()];
    assert.deepEqual([first.size, second.size], [1, 1]);
    assert.notDeepEqual(first, second, "nothing is kept");
  });

  it("leaves on one connection, up to a number, and what is refused there is told to whoever asked for it alone", async () => {
    const look = (number: number, column = "pg_backend_pid()") =>
      database.read.all<{ on: number; number: number }>({
        sql: `select ${column} as on, ${number} as number`,
        parameters: [],
        isRead: true,
        isLasting: true,
      });
    const numbers = Array.from({ length: 2 * 16 + 1 }, (_, number) => number);
    const rows = (await Promise.all(numbers.map((number) => look(number)))).flat();
    assert.deepEqual(
      rows.map(({ number }) => number),
      numbers,
    );
    const connections = Map.groupBy(rows, ({ on }) => on).values();
    assert.deepEqual(Array.from(connections, (some) => some.length).sort(), [1, 16, 16]);

    const outcomes = await Promise.allSettled([look(1), look(2, "no_such_column"), look(3)]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    );
    const [one] = await look(4);
    assert.ok(one && !(outcomes[0] as PromiseFulfilledResult<(typeof one)[]>).value.some(({ on }) => on === one.on));
  });

  it("is asked before the functions that need it, and once", async () => {
    const seen: unknown[] = [];
    const ahead = (read: Reader) => read.all(query);
    const look = async (tx: Reader) => void seen.push((await tx.all<{ times: number }>(query))[0]?.times);
    const [before] = await database.read.all<{ times: number }>(query);
    await Promise.all([1, 2, 3].map(() => database.transact("scope", look, { ahead })));
    const next = (before?.times ?? 0) + 1;
    assert.deepEqual(seen, [next, next, next]);
  });

  it("is no error of a function that it was asked ahead of and in vain", async () => {
    const refused = (read: Reader) =>
      read.all({ sql: "select no_such_column from asked", parameters: [], isRead: true });
    const done = [1, 2].map((value) => database.transact("scope", async () => value, { ahead: refused }));
    assert.deepEqual(await Promise.all(done), [1, 2]);
  });

  it("is one statement where each looks for rows of its own in the same way", async () => {
    await database.migrate();
    const names = ["one", "other", "nobody", "all"];
    const rows = names.flatMap((name) => (name === "nobody" ? [] : [{ name, value: "all" }]));
    await database.transact(undefined, (tx) => tx.insertInto("installation").values(rows).execute());
    const lookFor = prepared<{ name: string }>()(
      (db, { name }) =>
        db
          .selectFrom("installation")
          .select(["name", sql<Date>`statement_timestamp()`.as("asked_at")])
          .where((where) => where.or([where("name", "=", name), where("value", "=", name)]))
          .where(sql.lit(1), "=", 1)
          .where("value", "=", "all")
          .orderBy("name"),
      { isTogether: true },
    );
    const together = await Promise.all(names.map((name) => lookFor(database.read, { name })));
    const found = together.map((some) => some.map(({ name }) => name));
    assert.deepEqual(found, [["one"], ["other"], [], ["all", "one", "other"]]);
    assert.equal(new Set(together.flat().map(({ asked_at }) => asked_at.getTime())).size, 1, "one statement");
    const alone = [];
    for (const name of names) alone.push((await lookFor(database.read, { name })).map((row) => row.name));
    assert.deepEqual(alone, found);
  });
});

describe("transactions of several scopes on PostgreSQL", () => {
  const scopes = ["a", "b", "c", "d", "e"];
  let servers: Database[];
  before(async () => {
    const url = await createTestDatabase(testPostgresUrl(), `test_${newId().replaceAll("-", "")}`);
    servers = [1, 2].map(() => openDatabase({ url }));
    await servers[0]?.migrate();
    const rows = scopes.map((name) => ({ name, value: "0" }));
    await servers[0]?.transact(undefined, (tx) => tx.insertInto("installation").values(rows).execute());
  });
  after(() => Promise.all(servers.map((server) => server.close())));

  /** Loses a count if another transaction of the scope runs at the same time. */
  async function countUp(tx: Transactor, name: string): Promise<void> {
    const { value } = await tx
      .selectFrom("installation")
      .select("value")
      .where("name", "=", name)
      .executeTakeFirstOrThrow();
    await new Promise(setImmediate);
    await tx
      .updateTable("installation")
      .set({ value: String(Number(value) + 1) })
      .where("name", "=", name)
      .execute();
  }

  it("have each scope to themselves, also beside another server and with further scopes that they lock", async () => {
    const expected = new Map(scopes.map((name) => [name, 0]));
    const count = (name: string) => expected.set(name, (expected.get(name) ?? 0) + 1);
    const all = Array.from({ length: 200 }, (_, index) => {
      const [name, further] = [scopes[index % 5] as string, scopes[4 - (index % 2)] as string];
      // All callers must lock further scopes in the same order.
      const locksFurther = index % 3 === 0 && name < further;
      const fails = index % 7 === 0;
      if (!fails) count(name);
      if (!fails && locksFurther) count(further);
      const work = async (tx: Transactor) => {
        await countUp(tx, name);
        if (locksFurther) {
          await tx.lock(further);
          await countUp(tx, further);
        }
        if (fails) throw new RangeError("as planned");
      };
      return (servers[index % 2] as Database).transact(name, work, { isShared: index % 11 !== 0 });
    });
    const outcomes = await Promise.allSettled(all);
    for (const [index, outcome] of outcomes.entries()) {
      if (index % 7 === 0) assert.ok(outcome.status === "rejected" && outcome.reason instanceof RangeError);
      else assert.equal(outcome.status, "fulfilled", outcome.status === "rejected" ? String(outcome.reason) : "");
    }
    const rows = await (servers[0] as Database).read
      .selectFrom("installation")
      .selectAll()
      .where("name", "in", scopes)
      .execute();
    assert.deepEqual(
      Object.fromEntries(rows.map(({ name, value }) => [name, Number(value)])),
      Object.fromEntries(expected),
    );
  });
});
