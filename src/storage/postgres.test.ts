import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createTestDatabase } from "../../test/support/postgres.ts";
import { testPostgresUrl } from "../../test/support/server.ts";
import { newId } from "../kernel/ids.ts";
import { type Database, openDatabase } from "./database.ts";

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
    // The warning comes with the next turn of the event loop.
    await new Promise(setImmediate);
    assert.deepEqual(warnings, []);
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
