import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import fc from "fast-check";
import { MAX_KEPT_READ_BYTES, MAX_KEPT_READS, MAX_KEPT_ROWS } from "../kernel/limits.ts";
import { TABLES_WITH_DEPENDANTS } from "./batch.ts";
import { openDatabase } from "./database.ts";
import { KeptReads } from "./kept-reads.ts";
import { prepared, preparedWrite } from "./prepared.ts";

const query = (sql: string, ...parameters: unknown[]) => ({ sql, parameters, isRead: true, isLasting: true });

/** Answers with the number of calls so far. */
function counted() {
  let version = 1;
  let asked = 0;
  const kept = new KeptReads(() => version);
  const ask = async (sql: string, ...parameters: unknown[]) => {
    kept.refresh();
    const known = kept.find<{ asked: number }>(query(sql, ...parameters));
    const rows = known ?? (await kept.ask(query(sql, ...parameters), async () => [{ asked: ++asked }]));
    return rows[0]?.asked;
  };
  return { kept, ask, writeElsewhere: () => version++ };
}

describe("answers that outlive a transaction", () => {
  it("are those of the same statement and parameters, until a table of it is written", async () => {
    const { kept, ask } = counted();
    assert.equal(await ask('select 1 from "users"', "a", 1), 1);
    assert.equal(await ask('select 1 from "users"', "a", 1), 1);
    assert.equal(await ask('select 1 from "users"', "a", "1"), 2);
    assert.equal(await ask('select 1 from "users"', "a1", null), 3);
    kept.noteWritten(new Set(["user", "activities"]));
    assert.equal(await ask('select 1 from "users"', "a", 1), 1);
    kept.noteWritten(new Set(["users"]));
    assert.equal(await ask('select 1 from "users"', "a", 1), 4);
    kept.noteWritten("anything");
    assert.equal(await ask('select 1 from "users"', "a", 1), 5);
  });

  it("are asked anew once somebody else has written the file", async () => {
    const { ask, writeElsewhere } = counted();
    assert.equal(await ask("select 1 from tags"), 1);
    writeElsewhere();
    assert.equal(await ask("select 1 from tags"), 2);
    assert.equal(await ask("select 1 from tags"), 2);
  });

  it("are not those that were on their way while the table was written", async () => {
    const { kept } = counted();
    kept.refresh();
    const answer = Promise.withResolvers<{ value: number }[]>();
    const asked = kept.ask(query("select 1 from tags"), () => answer.promise);
    kept.noteWritten(new Set(["tags"]));
    answer.resolve([{ value: 1 }]);
    assert.deepEqual(await asked, [{ value: 1 }]);
    assert.equal(kept.find(query("select 1 from tags")), undefined);
  });

  it("are asked for once by all who ask at the same time, unless the table was written since", async () => {
    const { kept } = counted();
    kept.refresh();
    let asked = 0;
    const ask = () => kept.ask(query("select 1 from tags"), async () => [{ asked: ++asked }]);
    const together = [ask(), ask()];
    kept.noteWritten(new Set(["tags"]));
    together.push(ask(), ask());
    kept.noteWritten(new Set(["users"]));
    together.push(ask());
    assert.deepEqual(
      (await Promise.all(together)).flat(),
      [1, 1, 2, 2, 2].map((value) => ({ asked: value })),
    );
    const failing = () => kept.ask(query("select 1 from users"), () => Promise.reject(new Error("gone")));
    const outcomes = await Promise.allSettled([failing(), failing()]);
    assert.ok(outcomes.every(({ status }) => status === "rejected"));
    assert.deepEqual(await kept.ask(query("select 1 from users"), async () => [{ asked: 0 }]), [{ asked: 0 }]);
  });

  it("are given to nobody who wrote one of the tables and has not committed it", async () => {
    const { kept, ask } = counted();
    await ask("select 1 from tags");
    assert.equal(kept.find(query("select 1 from tags"), new Set(["tags"])), undefined);
    assert.equal(kept.find(query("select 1 from tags"), "anything"), undefined);
    assert.deepEqual(kept.find(query("select 1 from tags"), new Set(["users"])), [{ asked: 1 }]);
  });

  it("cannot be changed by who gets them, and are bounded in number and bytes", async () => {
    const { kept, ask } = counted();
    await ask("select 1 from tags");
    const [row] = kept.find<{ asked: number }>(query("select 1 from tags")) ?? [];
    assert.throws(() => Object.assign(row ?? {}, { asked: 0 }), TypeError);
    kept.find(query("select 1 from tags"))?.pop();
    assert.equal(kept.find(query("select 1 from tags"))?.length, 1);

    const long = Array.from({ length: MAX_KEPT_ROWS + 1 }, () => ({}));
    assert.equal((await kept.ask(query("select long"), async () => long)).length, long.length);
    assert.equal(kept.find(query("select long")), undefined);
    await kept.ask(query("select large"), async () => [{ text: "x".repeat(MAX_KEPT_READ_BYTES / 2) }]);
    assert.equal(kept.find(query("select large")), undefined);
    for (let index = 0; index < MAX_KEPT_READS; index++) await ask("select one", index);
    assert.equal(kept.find(query("select 1 from tags")), undefined);
    assert.ok(kept.find(query("select one", MAX_KEPT_READS - 1)));
  });
});

const find = prepared<{ name: string }>()(
  (db, { name }) => db.selectFrom("installation").select("value").where("name", "=", name),
  { isLasting: true },
);
const write = preparedWrite<{ name: string; value: string }>()((db, { name, value }) =>
  db
    .insertInto("installation")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet((set) => ({ value: set.ref("excluded.value") }))),
);

type Act = { act: "write" | "fail" | "delete" | "elsewhere" | "read"; name: string; value: string };
const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.record({
    act: fc.constantFrom("write", "fail", "delete", "elsewhere", "read"),
    name: fc.constantFrom("a", "b"),
    value: fc.string({ maxLength: 3 }),
  }),
  { maxLength: 24 },
);

describe("a SQLite database with lasting answers", () => {
  const folder = mkdtempSync(join(tmpdir(), "keystead-kept-reads-"));

  it("answers as the file does, whoever wrote it, failed to, or is still writing", async (context) => {
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, "keystead.db");
    const database = openDatabase({ url: `sqlite:${file}` });
    await database.migrate();
    const other = new DatabaseSync(file);
    const select = other.prepare("select value from installation where name = ?");
    const truth = (name: string) => select.all(name).map((row) => ({ ...row }));
    const told = async (reader: Parameters<typeof find>[0], name: string) =>
      (await find(reader, { name })).map((row) => ({ ...row }));

    const doIt = async ({ act, name, value }: Act) => {
      if (act === "read") return;
      if (act === "elsewhere") {
        other.prepare("insert or replace into installation (name, value) values (?, ?)").run(name, value);
        return;
      }
      const failure = new Error("as planned");
      const outcome = database.transact(undefined, async (tx) => {
        assert.deepEqual(await told(tx, name), truth(name));
        if (act === "delete") await tx.deleteFrom("installation").where("name", "=", name).execute();
        else await write(tx, { name, value });
        assert.deepEqual(await told(tx, name), act === "delete" ? [] : [{ value }]);
        // It is not committed yet, so nobody else sees it.
        assert.deepEqual(await told(database.read, name), truth(name));
        if (act === "fail") throw failure;
      });
      await (act === "fail" ? assert.rejects(outcome, failure) : outcome);
    };
    await fc.assert(
      fc.asyncProperty(acts, async (sequence) => {
        for (const each of sequence) {
          await doIt(each);
          for (const name of ["a", "b"]) assert.deepEqual(await told(database.read, name), truth(name));
        }
      }),
      { numRuns: 60 },
    );
    other.close();
    await database.close();
  });

  it("knows which tables take rows of others along", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "keystead-kept-reads-")), "keystead.db");
    const database = openDatabase({ url: `sqlite:${file}` });
    await database.migrate();
    await database.close();
    const tables = new DatabaseSync(file);
    const names = tables.prepare("select name from sqlite_master where type = 'table'").all() as { name: string }[];
    const references = names.flatMap(({ name }) =>
      tables.prepare(`pragma foreign_key_list("${name}")`).all(),
    ) as unknown as { table: string; on_delete: string; on_update: string }[];
    const taking = references.filter((each) => !["RESTRICT", "NO ACTION"].includes(each.on_delete));
    assert.deepEqual([...new Set(taking.map(({ table }) => table))].sort(), [...TABLES_WITH_DEPENDANTS]);
    assert.deepEqual(
      references.filter(({ on_update }) => !["RESTRICT", "NO ACTION"].includes(on_update)),
      [],
    );
    assert.deepEqual(tables.prepare("select name from sqlite_master where type = 'trigger'").all(), []);
    tables.close();
    rmSync(join(file, ".."), { recursive: true });
  });
});
