import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Database, openDatabase } from "./database.ts";
import type { DatabaseKind, Reader } from "./engine.ts";
import { prepared, preparedWrite } from "./prepared.ts";

/** A reader that records the queries a database would get. */
function recorder(kind: DatabaseKind): { reader: Reader; asked: { sql: string; parameters: readonly unknown[] }[] } {
  const asked: { sql: string; parameters: readonly unknown[] }[] = [];
  const all = async (query: { sql: string; parameters: readonly unknown[] }) => {
    asked.push(query);
    return [];
  };
  return { reader: { kind, all } as unknown as Reader, asked };
}

describe("a prepared statement", () => {
  it("is built once for each kind, in the kind's own words", async () => {
    let built = 0;
    const byNames = prepared<{ id: string; name: string }>()((db, { id, name }) => {
      built++;
      return db.selectFrom("users").select("id").where("id", "=", id).where("name", "=", name);
    });
    const sqlite = recorder("sqlite");
    const postgres = recorder("postgres");
    for (let time = 0; time < 3; time++) {
      await byNames(sqlite.reader, { id: `id ${time}`, name: "Ann" });
      await byNames(postgres.reader, { id: `id ${time}`, name: "Ann" });
    }
    assert.equal(built, 2);
    assert.equal(new Set(sqlite.asked.map(({ sql }) => sql)).size, 1);
    assert.equal(sqlite.asked[0]?.sql, 'select "id" from "users" where "id" = ? and "name" = ?');
    assert.equal(postgres.asked[0]?.sql, 'select "id" from "users" where "id" = $1 and "name" = $2');
    assert.deepEqual(
      postgres.asked.map(({ parameters }) => parameters),
      [0, 1, 2].map((time) => [`id ${time}`, "Ann"]),
    );
  });

  it("binds a value wherever its name was used, and constants as they are", async () => {
    const statement = prepared<{ id: string }>()((db, { id }) =>
      db
        .selectFrom("users")
        .select("id")
        .where((where) => where.or([where("id", "=", id), where("name", "=", id), where("name", "=", "root")])),
    );
    const { reader, asked } = recorder("postgres");
    await statement(reader, { id: "7" });
    assert.deepEqual(asked[0]?.parameters, ["7", "7", "root"]);
  });

  describe("on a database", () => {
    let database: Database;
    before(async () => {
      database = openDatabase({ url: "sqlite::memory:" });
      await database.migrate();
    });
    after(() => database.close());

    const insert = preparedWrite<{ name: string; value: string }>()((db, row) =>
      db.insertInto("installation").values({ name: row.name, value: row.value }).returning("name"),
    );
    const select = prepared<{ name: string }>()((db, { name }) =>
      db.selectFrom("installation").select(["name", "value"]).where("name", "=", name),
    );

    it("writes and reads, whatever the values look like", async () => {
      const values = ["plain", "'; drop table installation; --", '"', "?", "$1", "", "\u{1f511}"];
      for (const value of values) {
        const rows = await database.transact(undefined, (tx) => insert(tx, { name: `name ${value}`, value }));
        assert.equal(rows[0]?.name, `name ${value}`);
        const [row] = await select(database.read, { name: `name ${value}` });
        assert.equal(row?.value, value);
      }
    });

    it("sees its own writes inside a transaction", async () => {
      await database.transact(undefined, async (tx) => {
        await insert(tx, { name: "own", value: "1" });
        assert.equal((await select(tx, { name: "own" })).length, 1);
      });
    });

    it("refuses to work for a transaction that has ended", async () => {
      let kept: Parameters<typeof insert>[0] | undefined;
      await database.transact(undefined, async (tx) => {
        kept = tx;
      });
      assert.throws(() => insert(kept as NonNullable<typeof kept>, { name: "late", value: "" }), /has ended/);
      assert.deepEqual(await select(database.read, { name: "late" }), []);
    });
  });
});
