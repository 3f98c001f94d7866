import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import { engines, freshDatabaseUrl } from "../../test/support/server.ts";
import { newId } from "../kernel/ids.ts";
import { MAX_ASKED_ANEW, MAX_KEPT_ROWS } from "../kernel/limits.ts";
import { Batch } from "./batch.ts";
import { type Database, openDatabase } from "./database.ts";
import type { Connection, Reader, Transactor } from "./engine.ts";
import { DatabaseFailure } from "./failure.ts";
import type { Prefetch } from "./group-commit.ts";
import { laterInsert, laterUpdate, preparedWrite, uniqueRow } from "./prepared.ts";

const words = laterInsert("installation", { name: "text", value: "text" });
const lists = laterInsert("policy_lists", { organization_id: "text", id: "text", policy_ids: "text" });
const values = laterUpdate("installation", {
  by: { name: "text" },
  given: { value: "text" },
  set: { value: '"installation"."value" || "new"."value"' },
  merged: (before, after) => ({ ...after, value: `${before.value}${after.value}` }),
});
const newUser = laterInsert("users", { id: "text" });
const word = (name: string) => ({ name, value: name });

/** A connection that records its statements and answers each with their number so far. */
function noted(rowsOf: (sql: string) => unknown[] = () => [{ asked: 0 }]) {
  const calls: string[] = [];
  const all = async (sql: string, parameters: readonly unknown[]) => {
    calls.push(`${sql} ${JSON.stringify(parameters)}`);
    const rows = rowsOf(sql);
    if (rows.includes("failure")) throw new DatabaseFailure("bug", "in the way");
    return rows;
  };
  return { calls, connection: { all } as unknown as Connection };
}

const read = (sql: string, ...parameters: unknown[]) => ({ sql, parameters, isRead: true });

describe("a batch", () => {
  it("asks once what is asked the same way, and gives everybody an array of their own", async () => {
    const { calls, connection } = noted(() => [2, 1]);
    const batch = new Batch(connection, "postgres", true);
    const first = await batch.ask<number>(read("select a", "x", 1, null));
    first.sort();
    assert.deepEqual(await batch.ask(read("select a", "x", 1, null)), [2, 1]);
    await batch.ask(read("select a", "x", "1", null));
    assert.deepEqual(calls, ['select a ["x",1,null]', 'select a ["x","1",null]']);
  });

  it("asks again what may have been made untrue, and what was read by a function that was undone", async () => {
    const { calls, connection } = noted();
    const batch = new Batch(connection, "postgres", true);
    const asksAgain = async (between: () => unknown) => {
      await batch.ask(read("select 1 from users"));
      await batch.ask(read("select 1 from tags"));
      await between();
      calls.length = 0;
      await batch.ask(read("select 1 from users"));
      await batch.ask(read("select 1 from tags"));
      return calls.map((call) => call.split(" ")[3]);
    };
    assert.deepEqual(await asksAgain(() => {}), []);
    assert.deepEqual(await asksAgain(() => batch.all('update "users" set name = $1', ["x"])), ["users"]);
    assert.deepEqual(await asksAgain(() => batch.all("insert into tags values ($1)", ["x"])), ["tags"]);
    // Cascades may delete other rows, and a statement that cannot be parsed may write anything.
    assert.deepEqual(await asksAgain(() => batch.all("delete from tags", [])), ["users", "tags"]);
    assert.deepEqual(await asksAgain(() => batch.all('delete from "jobs" where id = $1', ["x"])), []);
    assert.deepEqual(await asksAgain(() => batch.all("with a as (select 1) select 2", [])), ["users", "tags"]);
    assert.deepEqual(await asksAgain(() => batch.undone()), ["users", "tags"]);
    assert.deepEqual(await asksAgain(() => batch.all("select 2", [])), []);
  });

  it("keeps an answer that a new row does not touch", async () => {
    const { calls, connection } = noted();
    const batch = new Batch(connection, "postgres", true);
    const sees = (own: string) => (_: string, row: { name?: unknown }) => row.name === own;
    const look = (own: string) => batch.ask({ ...read("select 1 from installation", own), sees: sees(own) });
    await look("a");
    await look("b");
    void batch.later(words, word("b"));
    calls.length = 0;
    await look("a");
    assert.deepEqual(calls, []);
    await look("b");
    assert.equal(calls.length, 2, "the row and the question");
  });

  it("sends what is asked ahead at once, what looks for a row each as one, and keeps the answers", async () => {
    const { calls, connection } = noted((sql) => (sql === "many" ? [{ asked_as: 2, name: "y" }] : [{ asked: 0 }]));
    const batch = new Batch(connection, "postgres", true);
    const unique = (own: string) => ({ ...read("one", own), together: "many" });
    batch.askAhead((all) => {
      for (const own of ["x", "y", "x"]) {
        void all(unique(own));
        void all(read("select 1 from users", "u"));
      }
      assert.deepEqual(calls, []);
    });
    assert.deepEqual(calls.toSorted(), ['many [["x","y"]]', 'select 1 from users ["u"]']);
    assert.deepEqual(await Promise.all(["x", "y"].map((own) => batch.ask(unique(own)))), [[], [{ name: "y" }]]);
    await batch.ask(read("select 1 from users", "u"));
    assert.equal(calls.length, 2);
  });

  it("asks what every function asks anew with what made it untrue, as long as another one comes", async () => {
    const { calls, connection } = noted();
    const batch = new Batch(connection, "postgres", true);
    const runFunction = async (isLast: boolean) => {
      calls.length = 0;
      batch.begun({ isLast });
      await batch.ask(read("select 1 from users", "same"));
      await batch.ask(read("select 1 from users", `of function ${isLast}`));
      await batch.all('update "users" set name = $1', ["x"]);
      return calls.map((call) => call.split(" ").slice(-1)[0]);
    };
    const [asked, own, written] = ['["same"]', 'false"]', '["x"]'];
    assert.deepEqual(await runFunction(false), [asked, own, written]);
    // The second function shows that both functions ask it.
    assert.deepEqual((await runFunction(false)).slice(0, 3), [asked, own, written]);
    assert.equal(calls.length, 5, "both were asked twice by now");
    assert.deepEqual(await runFunction(true), ['true"]', written]);
  });

  it("asks nothing anew where much was made untrue", async () => {
    const { calls, connection } = noted();
    const batch = new Batch(connection, "postgres", true);
    for (let asker = 0; asker < 2; asker++) {
      batch.begun({ isLast: false });
      for (let index = 0; index <= MAX_ASKED_ANEW; index++) await batch.ask(read("select 1 from users", index));
    }
    calls.length = 0;
    await batch.all('update "users" set name = $1', ["x"]);
    assert.equal(calls.length, 1);
  });

  it("keeps no long answer, and none to what failed", async () => {
    let rows: unknown[] = Array.from({ length: MAX_KEPT_ROWS + 1 }, () => ({}));
    const { calls, connection } = noted(() => rows);
    const batch = new Batch(connection, "postgres", true);
    await batch.ask(read("select long"));
    await batch.ask(read("select long"));
    rows = ["failure"];
    await assert.rejects(batch.ask(read("select failing")));
    await assert.rejects(batch.ask(read("select failing")));
    assert.equal(calls.length, 4);
  });

  it("writes rows together, before whatever may look for them", async () => {
    const { calls, connection } = noted();
    const batch = new Batch(connection, "postgres", true);
    void batch.later(words, word("a"));
    void batch.later(lists, { organization_id: "o", id: "l", policy_ids: "[]" });
    void batch.later(words, word("b"));
    await batch.ask(read("select 1 from users"));
    const sees = (table: string, row: { name?: unknown }) => table === "installation" && row.name === "c";
    await batch.ask({ ...read("select 1 from installation"), sees });
    assert.equal(calls.length, 2);
    calls.length = 0;
    await batch.ask({ ...read("select 2 from installation"), sees: (_, { name }) => name === "b" });
    assert.deepEqual(
      calls.map((call) => call.replace(/ from unnest\([^)]*\)/, "")),
      [
        'insert into "installation" ("name", "value") select * [["a","b"],["a","b"]]',
        'insert into "policy_lists" ("organization_id", "id", "policy_ids") select * [["o"],["l"],["[]"]]',
        "select 2 from installation []",
      ],
    );
    calls.length = 0;
    await batch.writeRows();
    assert.deepEqual(calls, []);
  });

  it("writes what several changes to one row come to", async () => {
    const { calls, connection } = noted();
    const batch = new Batch(connection, "postgres", true);
    for (const [name = "", value = ""] of ["ax", "by", "az"]) void batch.later(values, { name, value });
    await batch.writeRows();
    assert.equal(calls.length, 1);
    assert.match(calls[0] ?? "", /^update "installation" set .* \[\["a","b"\],\["xz","y"\]\]$/);
  });

  it("keeps an answer that says nothing of a row that is changed later", async () => {
    const { calls, connection } = noted(() => [{ name: "a" }]);
    const batch = new Batch(connection, "postgres", true);
    const sees = (_: string, row: { name?: unknown }, answer?: readonly unknown[]) =>
      answer === undefined || (answer as { name: string }[]).some(({ name }) => name === row.name);
    const look = () => batch.ask({ ...read("select 1 from installation"), sees });
    await look();
    void batch.later(values, { name: "b", value: "x" });
    calls.length = 0;
    await look();
    assert.deepEqual(calls, []);
    void batch.later(values, { name: "a", value: "x" });
    await look();
    assert.equal(calls.length, 2, "the rows and the question");
  });

  it("hands on what is known until its tables are written, a function is undone, or all is forgotten", async () => {
    const of = { tables: new Set(["users"]), create: () => ({ facts: 0 }) };
    const batch = new Batch(noted().connection, "postgres", true);
    const survives = async (between: () => unknown) => {
      batch.known(of).facts = 1;
      await between();
      return batch.known(of).facts === 1;
    };
    const write = () => batch.all('update "users" set name = $1', ["x"]);
    assert.ok(await survives(() => batch.all('update "jobs" set kind = $1', ["x"])));
    assert.ok(await survives(() => batch.begun({ isLast: false })));
    assert.ok(await survives(() => batch.changing(of, write)));
    assert.ok(!(await survives(write)));
    assert.ok(!(await survives(() => batch.later(newUser, { id: "u" }))));
    assert.ok(!(await survives(() => batch.all('delete from "tags"', []))));
    assert.ok(!(await survives(() => batch.undone())));
    assert.ok(!(await survives(() => batch.dropped())));
    assert.ok(!(await survives(() => batch.forgetAll())));
    const failing = () => batch.changing(of, () => Promise.reject(new Error("no"))).catch(() => {});
    assert.ok(!(await survives(failing)));
    // What an abandoned function still does is not reported to anybody.
    let finish = () => {};
    const givenUp = batch.changing(of, () => new Promise<void>((resolve) => (finish = resolve)));
    batch.undone();
    finish();
    await givenUp;
    assert.equal(batch.known(of).facts, 0);
  });

  it("writes a row before those that refer to it, whichever was there first", async () => {
    const { calls, connection } = noted();
    const batch = new Batch(connection, "postgres", true);
    const referring = laterInsert("policy_lists", { id: "text" });
    const referred = laterInsert("installation", { name: "text" }, { referredToBy: ["policy_lists"] });
    void batch.later(lists, { organization_id: "o", id: "l", policy_ids: "[]" });
    void batch.later(referring, { id: "l" });
    void batch.later(referred, { name: "a" });
    await batch.writeRows();
    assert.deepEqual(
      calls.map((call) => /"(\w+)"/.exec(call)?.[1]),
      ["installation", "policy_lists", "policy_lists"],
    );
  });

  it("writes a row before those that refer to it, whatever else was there in between", async () => {
    const { calls, connection } = noted();
    const batch = new Batch(connection, "postgres", true);
    const referred = laterInsert("activities", { id: "text" }, { referredToBy: ["votes", "policy_evaluations"] });
    const referring = [laterInsert("policy_evaluations", { id: "text" }), laterInsert("votes", { id: "text" })];
    const others = [laterInsert("api_keys", { id: "text" }), laterInsert("tags", { id: "text" })];
    for (const into of [...referring, ...others, referred]) void batch.later(into, { id: "a" });
    await batch.writeRows();
    const tables = calls.map((call) => /"(\w+)"/.exec(call)?.[1] ?? "");
    assert.deepEqual(tables.toSorted(), ["activities", "api_keys", "policy_evaluations", "tags", "votes"]);
    for (const table of ["votes", "policy_evaluations"])
      assert.ok(tables.indexOf("activities") < tables.indexOf(table), tables.join(" "));
  });

  it("writes the rows of others again that were undone with the function that had them written", async () => {
    const { calls, connection } = noted();
    const batch = new Batch(connection, "postgres", true);
    batch.begun({ isLast: false });
    void batch.later(words, word("a"));
    batch.begun({ isLast: false });
    void batch.later(words, word("b"));
    await batch.writeRows();
    batch.undone();
    calls.length = 0;
    await batch.writeRows();
    assert.match(calls[0] ?? "", /\[\["a"\],\["a"\]\]$/);
  });

  it("has the whole transaction tried again where a row cannot be written, whoever is told of it first", async () => {
    const { connection } = noted((sql) => (sql.startsWith("insert") || sql.includes("users") ? ["failure"] : []));
    const isRetry = (error: unknown) => error instanceof DatabaseFailure && error.kind === "retry";
    const batch = new Batch(connection, "postgres", true);
    void batch.later(words, word("a"));
    await assert.rejects(batch.writeRows(), isRetry);
    await assert.rejects(batch.all("select 1 from users", []), isRetry);
    // On the second attempt it is the caller's own error.
    const again = new Batch(connection, "postgres", false);
    await assert.rejects(again.later(words, word("a")), (error) => !isRetry(error));
  });

  it("tries again, the second time too, what another transaction may have stored meanwhile, and nothing else", async () => {
    const all = async () => {
      throw new DatabaseFailure("bug", { code: "23505" });
    };
    const again = new Batch({ all } as unknown as Connection, "postgres", false);
    const findable = laterInsert("installation", { name: "text", value: "text" }, { mayBeTaken: true });
    const isOf = (kind: string) => (error: unknown) => error instanceof DatabaseFailure && error.kind === kind;
    await assert.rejects(again.later(findable, word("a")), isOf("retry"));
    await assert.rejects(again.later(words, word("a")), isOf("bug"));
  });

  it("is not lost by what was undone, whether that had failed by then or fails after it", async () => {
    const { connection } = noted((sql) => (sql.startsWith("insert") || sql.includes("users") ? ["failure"] : []));
    const isOwn = (error: unknown) => error instanceof DatabaseFailure && error.kind === "bug";
    for (const isOver of [true, false]) {
      const batch = new Batch(connection, "postgres", true);
      batch.begun({ isLast: false });
      void batch.later(words, word("a"));
      const written = assert.rejects(batch.writeRows());
      if (isOver) await written;
      batch.undone();
      await written;
      await assert.rejects(batch.all("select 1 from users", []), isOwn);
    }
  });
});

/** A step of a transaction's function, which may also fail at its end. */
type Step =
  | { do: "add"; name: string }
  | { do: "look"; name: string }
  | { do: "change"; name: string; value: string }
  | { do: "append"; name: string; value: string }
  | { do: "remove"; name: string };
interface Work {
  steps: Step[];
  fails: boolean;
}

const name = fc.constantFrom("a", "b", "c", "d");
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant("add" as const), name }),
  fc.record({ do: fc.constant("look" as const), name }),
  fc.record({ do: fc.constant("change" as const), name, value: fc.constantFrom("x", "y", "z") }),
  fc.record({ do: fc.constant("append" as const), name, value: fc.constantFrom("x", "y", "z") }),
  fc.record({ do: fc.constant("remove" as const), name }),
);
const works = fc.array(fc.record({ steps: fc.array(step, { maxLength: 6 }), fails: fc.boolean().map((not) => !not) }), {
  maxLength: 12,
});

const findRow = uniqueRow("installation", { name: "name" });
const find = async (read: Reader, values: { name: string }) => {
  const row = await findRow(read, values);
  return row ? [row] : [];
};
const change = preparedWrite<{ name: string; value: string }>()((db, { name, value }) =>
  db.updateTable("installation").set({ value }).where("name", "=", name).returning("name"),
);

for (const engine of engines) {
  describe(`functions that share a transaction (${engine})`, () => {
    let folder: string;
    let url: string;
    let database: Database;
    before(async () => {
      folder = mkdtempSync(join(tmpdir(), "keystead-batch-"));
      url = await freshDatabaseUrl(engine, folder);
      database = openDatabase({ url });
      await database.migrate();
    });
    after(async () => {
      await database.close();
      rmSync(folder, { recursive: true });
    });

    it("find what they would find one after the other, and leave the same", async () => {
      await fc.assert(
        fc.asyncProperty(works, async (given) => {
          const scope = newId();
          const at = (name: string) => `${scope} ${name}`;
          const found = await Promise.allSettled(
            given.map((work) => database.transact(scope, (tx) => carryOut(tx, work, at), { ahead: aheadOf(work, at) })),
          );
          const left = await database.read.selectFrom("installation").selectAll().where("name", ">", scope).execute();
          const { answers, rows } = expected(given);
          assert.deepEqual(
            found.map((each) => (each.status === "fulfilled" ? each.value : "failed")),
            answers,
          );
          const ours = left.filter(({ name }) => name.startsWith(scope));
          assert.deepEqual(new Map(ours.map(({ name, value }) => [name.split(" ")[1], value])), rows);
        }),
        { numRuns: 60 },
      );
    });

    it("fail alone, whether they had written, had read, or were refused by the database at a look", async () => {
      const scope = newId();
      const at = (name: string) => `${scope} ${name}`;
      const refused = (tx: Transactor) =>
        tx.all({ sql: "select no_such_column from tags", parameters: [], isRead: true });
      const fail = () => Promise.reject(new Error("failed"));
      // The function is abandoned before the database has answered.
      const refusedLater = (tx: Transactor) => {
        refused(tx).catch(() => {});
        return fail();
      };
      const before: ((tx: Transactor) => Promise<unknown>)[] = [
        async () => {},
        (tx) => find(tx, { name: at("a") }),
        (tx) => tx.later(words, word(at("lost"))),
        (tx) =>
          tx
            .insertInto("installation")
            .values(word(at("lost")))
            .execute(),
      ];
      const failing = before.flatMap((first) =>
        [refused, refusedLater, fail].map((then) => (tx: Transactor) => first(tx).then(() => then(tx))),
      );
      const insertNow = (name: string) => (tx: Transactor) =>
        tx
          .insertInto("installation")
          .values(word(at(name)))
          .execute();
      const insertLater = (name: string) => (tx: Transactor) => tx.later(words, word(at(name)));
      const runsWith = (each: (tx: Transactor) => Promise<unknown>) =>
        [insertNow, insertLater].flatMap((insert) => [
          [insert("first"), each, insert("second")],
          // Only the commit follows, which is not refused then.
          [insert("first"), insert("second"), (tx: Transactor) => insertNow("lost")(tx).then(fail), each],
        ]);
      for (const run of failing.flatMap(runsWith)) {
        // A new database has not seen a function fail half done, so it makes no savepoint before it must.
        const fresh = openDatabase({ url });
        const outcomes = await Promise.allSettled(run.map((each) => fresh.transact(scope, each)));
        assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 2);
        const rows = await fresh.read.selectFrom("installation").select("name").where("name", ">", scope).execute();
        const ours = rows.map(({ name }) => name).filter((name) => name.startsWith(scope));
        assert.deepEqual(ours.sort(), [at("first"), at("second")]);
        await fresh.transact(scope, (tx) => tx.deleteFrom("installation").where("name", "in", ours).execute());
        await fresh.close();
      }
    });

    it("fail alone where the database refuses what was asked ahead for one of them, whose scope ever it is", async () => {
      const refused = (read: Pick<Reader, "all">) =>
        read.all({ sql: "select no_such_column from tags", parameters: [], isRead: true });
      for (const scopes of [
        ["a", "a", "a"],
        ["a", "b", "c"],
      ]) {
        const place = newId();
        const fresh = openDatabase({ url });
        const add = (scope = "", name = "") =>
          fresh.transact(`${place} ${scope}`, (tx) => tx.later(words, word(`${place} ${name}`)), { isShared: true });
        const outcomes = await Promise.allSettled([
          add(scopes[0], "first"),
          fresh.transact(`${place} ${scopes[1]}`, refused, { isShared: true, ahead: refused }),
          add(scopes[2], "second"),
        ]);
        assert.deepEqual(
          outcomes.map(({ status }) => status),
          ["fulfilled", "rejected", "fulfilled"],
        );
        for (const name of ["first", "second"]) assert.ok(await findRow(fresh.read, { name: `${place} ${name}` }));
        await fresh.close();
      }
    });

    it("are all there but the one whose row is another's already", async () => {
      const scope = newId();
      const taken = word(`${scope} taken`);
      const add = (row: { name: string; value: string }) => database.transact(scope, (tx) => tx.later(words, row));
      await add(taken);
      const names = ["one", "two", "three"].map((each) => `${scope} ${each}`);
      const outcomes = await Promise.allSettled([...names.map((each) => add(word(each))), add(taken)]);
      const fulfilled = outcomes.map(({ status }) => status === "fulfilled");
      const [row] = await database.transact(scope, (tx) => find(tx, { name: names[0] as string }));
      assert.ok(row);
      assert.deepEqual(fulfilled, [true, true, true, false]);
    });
  });
}

/** Looks for everything that the function will look for. */
const aheadOf = ({ steps }: Work, at: (name: string) => string): Prefetch => {
  return (read) => Promise.all(steps.map(({ name }) => find(read, { name: at(name) })));
};

async function carryOut(tx: Transactor, { steps, fails }: Work, at: (name: string) => string): Promise<string[]> {
  const answers: string[] = [];
  for (const step of steps) {
    const name = at(step.name);
    const [row] = await find(tx, { name });
    if (step.do === "look") answers.push(row?.value ?? "nothing");
    if (step.do === "add" && !row) await tx.later(words, { name, value: "new" });
    if (step.do === "change") answers.push(`${(await change(tx, { name, value: step.value })).length} changed`);
    if (step.do === "append") await tx.later(values, { name, value: step.value });
    if (step.do === "remove") await tx.deleteFrom("installation").where("name", "=", name).execute();
  }
  if (fails) throw new Error("failed");
  return answers;
}

/** The expected result, computed on a map. */
function expected(given: readonly Work[]): { answers: (string[] | "failed")[]; rows: Map<string, string> } {
  let rows = new Map<string, string>();
  const answers = given.map(({ steps, fails }) => {
    const own = new Map(rows);
    const told: string[] = [];
    for (const step of steps) {
      const value = own.get(step.name);
      if (step.do === "look") told.push(value ?? "nothing");
      if (step.do === "add" && value === undefined) own.set(step.name, "new");
      if (step.do === "change") {
        told.push(`${value === undefined ? 0 : 1} changed`);
        if (value !== undefined) own.set(step.name, step.value);
      }
      if (step.do === "append" && value !== undefined) own.set(step.name, value + step.value);
      if (step.do === "remove") own.delete(step.name);
    }
    if (fails) return "failed" as const;
    rows = own;
    return told;
  });
  return { answers, rows };
}
