import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { capabilities, operations } from "../../src/capabilities/index.ts";
import { eventTypes } from "../../src/capabilities/webhooks/model.ts";
import { type Capability, combineManifests } from "../../src/engine/capability.ts";
import { openDatabase } from "../../src/storage/database.ts";

/** What the service emits in a later release; parents may subscribe already. */
const TO_COME: readonly string[] = [];

/** The tables that have a column `organization_id`, as the database itself tells them. */
async function ownedTables(): Promise<string[]> {
  const database = openDatabase({ url: "sqlite::memory:" });
  try {
    await database.migrate();
    const sql = `select m.name as "table" from sqlite_master m join pragma_table_info(m.name) c
      where m.type = 'table' and c.name = 'organization_id' order by m.name`;
    const rows = await database.read.all<{ table: string }>({ sql, parameters: [] });
    return rows.map(({ table }) => table);
  } finally {
    await database.close();
  }
}

describe("the manifests of capabilities", () => {
  const all: readonly Capability[] = capabilities;

  it("say of every table that belongs to organizations whether it goes with them, and of none that does not", async () => {
    const said = all.flatMap(({ erases = [], keeps = {} }) => [...erases, ...Object.keys(keeps)]);
    // Jobs have their organization for whoever looks at them, and lines of the audit stream for their order; both end by themselves.
    assert.deepEqual([...said, "jobs", "audit_lines"].sort(), await ownedTables());
  });

  it("hold every operation once, under a title of its own", () => {
    assert.equal(new Set(all.map(({ title }) => title)).size, all.length);
    const paths = operations.map(({ path }) => path);
    assert.equal(new Set(paths).size, paths.length);
  });

  it("announce every event that endpoints can subscribe to", () => {
    const announced = all.flatMap(({ events = [] }) => events);
    assert.deepEqual([...announced, ...TO_COME].sort(), [...eventTypes].sort());
  });

  it("may not claim a thing twice", () => {
    const erasing: Capability = { title: "One", operations: [], erases: ["users"] };
    const keeping: Capability = { title: "Two", operations: [], keeps: { users: "they are dear to us" } };
    assert.throws(() => combineManifests([erasing, keeping]), /two capabilities claim the table users/);
    assert.deepEqual(combineManifests([erasing]).erasedTables, ["users"]);
  });
});
