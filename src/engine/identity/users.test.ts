import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { newId } from "../../kernel/ids.ts";
import { type Database, openDatabase } from "../../storage/database.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { loadUser, loadUsers } from "./users.ts";

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

test("all users are read together, and only those anew that have changed", async () => {
  const statements: string[] = [];
  const counting: Reader = {
    ...database.read,
    all: (query) => {
      statements.push(query.sql);
      return database.read.all(query);
    },
  };
  const ids: string[] = [];
  for (let index = 0; index < 230; index++) ids.push(await addUser(`User ${index}`));
  const key = {
    organization_id: organizationId,
    credential_type: "CREDENTIAL_TYPE_API_KEY_P256",
    session_profile_id: null,
    expiration_seconds: null,
    expires_at: null,
    ...times,
  };
  const withKeys = ids.filter((_, index) => index % 3 === 0);
  await database.transact(organizationId, async (tx) => {
    for (const id of withKeys)
      await tx
        .insertInto("api_keys")
        .values({ ...key, id: newId(), user_id: id, name: `of ${id}`, public_key: `key of ${id}` })
        .execute();
  });

  const users = await loadUsers(counting, organizationId);
  assert.ok(statements.length <= 1 + 5 * 5, `${statements.length} statements`);
  const shown = users.filter(({ userId }) => ids.includes(userId));
  assert.deepEqual(
    shown.map(({ userId }) => userId),
    ids,
  );
  for (const user of shown) {
    const names = user.apiKeys.map(({ apiKeyName }) => apiKeyName);
    assert.deepEqual(names, withKeys.includes(user.userId) ? [`of ${user.userId}`] : []);
    assert.deepEqual(user, await loadUser(database.read, organizationId, user.userId));
  }

  // Between the list and what belongs to them one goes, and one gets another name.
  const [gone, renamed] = [ids[200] as string, ids[201] as string];
  const meanwhile: Reader = {
    ...database.read,
    all: async (query) => {
      const rows = await database.read.all(query);
      if (!query.sql.includes("oauth_providers") || !JSON.stringify(query.parameters).includes(gone)) return rows;
      await database.transact(organizationId, async (tx) => {
        await tx.deleteFrom("users").where("id", "=", gone).execute();
        await rename(tx, renamed, "Renamed");
      });
      return rows;
    },
  };
  await database.transact(organizationId, async (tx) => {
    for (const id of [gone, renamed]) await rename(tx, id, "Before");
  });
  const then = await loadUsers(meanwhile, organizationId);
  assert.equal(
    then.some(({ userId }) => userId === gone),
    false,
    "who is gone is not shown with nothing",
  );
  assert.equal(then.find(({ userId }) => userId === renamed)?.userName, "Renamed");

  const changed = ids[7] as string;
  await database.transact(organizationId, (tx) => rename(tx, changed, "After"));
  statements.length = 0;
  const again = await loadUsers(counting, organizationId);
  assert.ok(statements.length <= 1 + 5, `${statements.length} statements`);
  assert.equal(again.find(({ userId }) => userId === changed)?.userName, "After");
});
