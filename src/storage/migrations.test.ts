import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { createTestDatabase } from "../../test/support/postgres.ts";
import { testPostgresUrl } from "../../test/support/server.ts";
import { newId } from "../kernel/ids.ts";
import { openDatabase } from "./database.ts";
import type { Connection, DatabaseKind } from "./engine.ts";
import { migrateConnection } from "./migrate.ts";
import { migrations } from "./migrations/index.ts";
import { PostgresConnection } from "./postgres.ts";
import { openSqlite } from "./sqlite.ts";

/**
 * Compares the result of the migrations with snapshot files. After adding a migration, update them with
 * `npm test -- --test-update-snapshots src/storage/migrations.test.ts` and review the changes before committing.
 */

const folder = mkdtempSync(join(tmpdir(), "keystead-migrations-"));
after(() => rmSync(folder, { recursive: true, force: true }));

async function newUrl(kind: DatabaseKind): Promise<string> {
  const name = `migrations_${newId().replaceAll("-", "")}`;
  if (kind === "sqlite") return `sqlite:${join(folder, `${name}.db`)}`;
  return createTestDatabase(testPostgresUrl(), name);
}

async function migrated(url: string): Promise<string[]> {
  const database = openDatabase({ url });
  try {
    return await database.migrate();
  } finally {
    await database.close();
  }
}

async function connectionTo(
  kind: DatabaseKind,
  url: string,
): Promise<{ connection: Connection; close: () => unknown }> {
  if (kind === "sqlite") {
    const connection = openSqlite(url.slice("sqlite:".length));
    return { connection, close: () => connection.close() };
  }
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return { connection: new PostgresConnection(client), close: () => client.end() };
}

const schemaOf = (kind: DatabaseKind, url: string): Promise<string> =>
  kind === "sqlite" ? sqliteSchema(url.slice("sqlite:".length)) : postgresSchema(url);

async function sqliteSchema(file: string): Promise<string> {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare("select type, name, sql from sqlite_master where sql is not null order by type, name");
  const lines = rows.all().map(({ type, name, sql }) => `${type} ${name}\n  ${sql}`);
  database.close();
  return `${lines.join("\n")}\n`;
}

async function postgresSchema(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const lines = async (sql: string) => (await client.query<{ line: string }>(sql)).rows.map(({ line }) => line);
  const columns = await lines(
    `select format('column %s.%s %s%s%s', table_name, column_name, data_type,
            case is_nullable when 'NO' then ' not null' else '' end, ' default ' || column_default) as line
       from information_schema.columns where table_schema = 'public' order by table_name, ordinal_position`,
  );
  const constraints = await lines(
    `select format('constraint %s.%s %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as line
       from pg_constraint where connamespace = 'public'::regnamespace and contype <> 'n' order by conrelid::regclass::text, conname`,
  );
  const indexes = await lines(
    "select format('index %s', indexdef) as line from pg_indexes where schemaname = 'public' order by indexname",
  );
  await client.end();
  return `${[...columns, ...constraints, ...indexes].join("\n")}\n`;
}

/** Migrates in a separate process. Resolves to the names it printed, or rejects with its error output. */
function migrateInProcess(url: string): Promise<string[]> {
  const module = fileURLToPath(new URL("./database.ts", import.meta.url));
  const script = `
    const { openDatabase } = await import(${JSON.stringify(module)});
    const database = openDatabase({ url: ${JSON.stringify(url)} });
    process.stdout.write(JSON.stringify(await database.migrate()));
    await database.close();
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr.on("data", (chunk) => {
    stderr += chunk;
  });
  return new Promise((resolve, reject) => {
    child.once("close", (code) => (code === 0 ? resolve(JSON.parse(stdout)) : reject(new Error(stderr))));
  });
}

for (const kind of ["sqlite", "postgres"] as const) {
  describe(`migrations (${kind})`, () => {
    it("make the schema that is written down", async (test: TestContext) => {
      const url = await newUrl(kind);
      assert.deepEqual(await migrated(url), Object.keys(migrations));
      const snapshot = fileURLToPath(new URL(`../../test/vectors/schema/${kind}.txt`, import.meta.url));
      test.assert.fileSnapshot(await schemaOf(kind, url), snapshot, { serializers: [(text: string) => text] });
    });

    it("do nothing the second time", async () => {
      const url = await newUrl(kind);
      await migrated(url);
      const before = await schemaOf(kind, url);
      assert.deepEqual(await migrated(url), []);
      assert.equal(await schemaOf(kind, url), before);
    });

    it("know an empty database, and make nothing by asking", async () => {
      const database = openDatabase({ url: await newUrl(kind) });
      assert.equal((await database.schemaState()).isEmpty, true);
      assert.equal((await database.schemaState()).isEmpty, true);
      await database.migrate();
      assert.equal((await database.schemaState()).isEmpty, false);
      await database.close();
    });

    it("have users known below the parent of their organization who were there before", async () => {
      const { connection, close } = await connectionTo(kind, await newUrl(kind));
      const all = (sql: string) => connection.all<{ root_id: string }>(sql, []);
      try {
        await migrateConnection(kind, connection, "0036-gas-usage");
        const key = kind === "sqlite" ? "x'00'" : "'\\x00'";
        for (const [id, parent] of [
          ["parent", "null"],
          ["child", "'parent'"],
        ]) {
          await all(
            `insert into organizations (id, parent_id, name, sealed_key, quorum_threshold, created_at, updated_at) values ('${id}', ${parent}, 'One', ${key}, 1, 1, 1)`,
          );
          await all(
            `insert into users (organization_id, id, name, version, created_at, updated_at) values ('${id}', '${id}', 'Ada', 1, 1, 1)`,
          );
        }
        await migrateConnection(kind, connection);
        const users = await all("select root_id from users order by id");
        assert.deepEqual(
          users.map(({ root_id }) => root_id),
          ["parent", "parent"],
        );
      } finally {
        await close();
      }
    });

    it("mark further stamps that were taken back before what they are on was decided, and no others", async () => {
      const { connection, close } = await connectionTo(kind, await newUrl(kind));
      const all = (sql: string) => connection.all<{ id: string; revoked_at: number | null }>(sql, []);
      try {
        await migrateConnection(kind, connection, "0055-beginnings-of-names");
        const key = kind === "sqlite" ? "x'00'" : "'\\x00'";
        await all(
          `insert into organizations (id, name, sealed_key, quorum_threshold, created_at, updated_at) values ('o', 'One', ${key}, 1, 1, 1)`,
        );
        for (const [id, status] of [
          ["decided", "COMPLETED"],
          ["open", "AUTHENTICATORS_NEEDED"],
        ]) {
          await all(
            `insert into activities (organization_id, id, type, status, fingerprint, intent, created_at, updated_at) values ('o', '${id}', 'T', 'ACTIVITY_STATUS_${status}', '${id}', '{}', 1, 100)`,
          );
        }
        for (const [id, at] of [
          ["before", 50],
          ["after", 150],
          ["ada before-contact", 50],
          ["bob", 60],
        ]) {
          await all(`insert into revocations (organization_id, id, revoked_at) values ('o', '${id}', ${at})`);
        }
        for (const [id, activity, user, credential, createdAt] of [
          ["1", "decided", "ada", "before", 10],
          ["2", "decided", "ada", "after", 10],
          ["3", "decided", "ada", "kept", 10],
          ["4", "decided", "ada", "before-contact", 10],
          ["5", "decided", "eve", "before-contact", 10],
          ["6", "decided", "bob", "kept", 10],
          ["7", "open", "ada", "before", 10],
        ]) {
          await all(
            `insert into authentications (organization_id, id, activity_id, user_id, message, public_key, signature, scheme, created_at, credential_id) values ('o', '${id}', '${activity}', '${user}', '', '', '', '', ${createdAt}, '${credential}')`,
          );
        }
        await migrateConnection(kind, connection);
        const marked = await all("select id, revoked_at from authentications where revoked_at is not null order by id");
        assert.deepEqual(
          marked.map((row) => [row.id, Number(row.revoked_at)]),
          [
            ["1", 50],
            ["4", 50],
            ["6", 60],
          ],
        );
      } finally {
        await close();
      }
    });

    it("run once when three processes start them at once", async () => {
      const url = await newUrl(kind);
      const ran = await Promise.all([1, 2, 3].map(() => migrateInProcess(url)));
      assert.deepEqual(ran.flat(), Object.keys(migrations), "each was run by exactly one of them");
      const alone = await newUrl(kind);
      await migrated(alone);
      assert.equal(await schemaOf(kind, url), await schemaOf(kind, alone));
    });
  });
}

it("migrations are numbered without gaps", () => {
  const numbers = Object.keys(migrations).map((name) => Number(name.slice(0, 4)));
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => index + 1),
  );
});
