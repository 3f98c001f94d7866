import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { newId } from "../../kernel/ids.ts";
import { type Database, openDatabase } from "../../storage/database.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { loadUser } from "./users.ts";

const organizationId = newId();
const times = { created_at: 0, updated_at: 0 };
let database: Database;

before(async () => {
  database = openDatabase({ url: "sqlite::memory:" });
  await database.migrate();
  await database.transact(organizationId, async (tx) => {
    const organization = { id: organizationId, parent_id: null, name: "Organization", quorum_threshold: 1, ...times };
    await tx
      .insertInto("organizations")
      .values({ ...organization, sealed_key: Buffer.alloc(1) })
      .execute();
  });
});
after(() => database.close());

async function addUser(name: string): Promise<string> {
  const id = newId();
  const user = { id, organization_id: organizationId, name, email: null, phone_number: null, version: 1, ...times };
  await database.transact(organizationId, (tx) => tx.insertInto("users").values(user).execute());
  return id;
}

const rename = (tx: Transactor, id: string, name: string) =>
  tx
    .updateTable("users")
    .set((user) => ({ name, version: user("version", "+", 1) }))
    .where("id", "=", id)
    .execute();

const nameOf = async (reader: Reader, id: string) => (await loadUser(reader, organizationId, id))?.userName;

test("a user is shown as it is now", async () => {
  const id = await addUser("Before");
  assert.equal(await nameOf(database.read, id), "Before");
  await database.transact(organizationId, (tx) => rename(tx, id, "After"));
  assert.equal(await nameOf(database.read, id), "After");
  assert.equal(await loadUser(database.read, organizationId, newId()), undefined);
});

test("what a transaction saw is forgotten when it is undone", async () => {
  const id = await addUser("Before");
  const undone = database.transact(organizationId, async (tx) => {
    await rename(tx, id, "Undone");
    assert.equal(await nameOf(tx, id), "Undone");
    throw new Error("undo this");
  });
  await assert.rejects(undone, /undo this/);
  // The same version as the one that was undone.
  await database.transact(organizationId, (tx) => rename(tx, id, "After"));
  assert.equal(await nameOf(database.read, id), "After");
});

test("requests that arrive together read a user once", async () => {
  const id = await addUser("Shared");
  let reads = 0;
  const counting: Reader = {
    ...database.read,
    all: (query) => {
      if (query.sql.includes("api_keys")) reads++;
      return database.read.all(query);
    },
  };
  const names = await Promise.all(Array.from({ length: 10 }, () => nameOf(counting, id)));
  assert.deepEqual(new Set(names), new Set(["Shared"]));
  assert.equal(reads, 1);
});

test("a read that failed is tried again", async () => {
  const id = await addUser("Found");
  const failing: Reader = {
    ...database.read,
    all: (query) => (query.sql.includes("api_keys") ? Promise.reject(new Error("gone")) : database.read.all(query)),
  };
  await assert.rejects(loadUser(failing, organizationId, id), /gone/);
  assert.equal(await nameOf(database.read, id), "Found");
});
