import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import type { CompiledQuery } from "kysely";
import { openSqlite, SqliteConnection } from "../../src/storage/sqlite.ts";
import { bodyOf, exampleRequests, kindFor } from "../support/examples.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { createWorld } from "../support/world.ts";

/**
 * SQLite keeps no statistics here, so what it does for a statement depends on the schema alone: a look-up that goes through
 * the whole organization shows in an empty database already. An `order by id` is what mostly tempts it to.
 */

/** Read a whole organization, and are meant to, or there are only few rows in any. */
const WHOLE_ORGANIZATION = [
  /from "webhook_endpoints" as "e" inner join "webhook_subscriptions"/,
  /from "webhook_endpoints" where "organization_id" = \? and "erasing" = \?/,
  /from "(wallets|private_keys|secrets)" where "organization_id" = \? and "exported" = \?/,
  /from "tags" where "organization_id" = \? and "type" = \?/,
  /from "invitations" where "organization_id" = \? and "status" = \?/,
];

/** What the operations find by filters that their one example does not have. */
const FILTERED: readonly [path: string, fields: object][] = [
  ["list_wallet_accounts", { filterByAddress: `0x${"ab".repeat(20)}` }],
  ["list_wallet_accounts", { filterByAddressPrefix: "0xab" }],
  ["list_wallet_accounts", { filterByNamePrefix: "Sav" }],
  ["list_suborgs", { includeNames: true }],
];

const statements = new Set<string>();
const { all, executeQuery } = SqliteConnection.prototype;
let server: TestServer;

before(async () => {
  server = await startTestServer("sqlite");
  SqliteConnection.prototype.all = function (this: SqliteConnection, sql: string, parameters) {
    statements.add(sql);
    return all.call(this, sql, parameters);
  } as typeof all;
  SqliteConnection.prototype.executeQuery = function (this: SqliteConnection, query: CompiledQuery) {
    statements.add(query.sql);
    return executeQuery.call(this, query);
  } as typeof executeQuery;
});
after(async () => {
  Object.assign(SqliteConnection.prototype, { all, executeQuery });
  await server.close();
});

it("no operation looks through a whole organization for the rows of one thing in it", async () => {
  for (const request of exampleRequests) {
    const world = await createWorld(server, kindFor(request.operation));
    const fields = await request.example(world);
    const { status } = await world.root.client.post(
      request.url,
      JSON.stringify(bodyOf(request, world.root.client, fields)),
    );
    assert.equal(status, 200, request.name);
  }
  const { root } = await createWorld(server);
  for (const [path, fields] of FILTERED) await root.client.read(path, fields);
  assert.ok([...statements].some((sql) => /from "wallet_accounts" .*"lookup" = \? .*order by id \|\| ''/.test(sql)));
  for (const beginning of BEGINNINGS) assert.ok([...statements].some((sql) => beginning.test(sql)));
  const lookUps = [...statements].filter((sql) => /^(select|update|delete)/.test(sql) && conditionsOf(sql) >= 2);
  assert.ok(lookUps.length > 60, `only ${lookUps.length} look-ups`);

  const database = openSqlite(server.databaseUrl.slice("sqlite:".length));
  const plan = (sql: string) => {
    const parameters = Array.from(sql.matchAll(/\?/g), () => null);
    return all.call(database, `explain query plan ${sql}`, parameters);
  };
  // A parent may have any number of users below it, and another index on their addresses looks as good.
  const byAddress = [...statements].find((sql) => sql.includes("lower(email) = ?")) as string;
  const ways = (await plan(byAddress)) as { detail: string }[];
  assert.ok(ways.some(({ detail }) => detail.includes("users_by_root_id_lower_email (root_id=? AND <expr>=?)")));
  const slow: string[] = [];
  for (const sql of lookUps) {
    if (WHOLE_ORGANIZATION.some((known) => known.test(sql))) continue;
    const [step] = await plan(sql);
    const { detail } = step as { detail: string };
    if (/^SCAN|\(organization_id=\?\)$/.test(detail)) slow.push(`${sql}\n  ${detail}`);
  }
  database.close();
  assert.deepEqual(slow, []);
});

/** What begins in some way is found by a range, and goes by the order of an index alone. */
const BEGINNINGS = [
  /from "wallet_accounts" .*"lookup" >= \? and "lookup" < \? order by "lookup", "id" limit/,
  /from "wallet_accounts" .*lower\("name"\) >= \? and lower\("name"\) < \? .*order by lower\("name"\), "id" limit/,
];

/** How many columns must equal something, or stand in a range, beside that of the organization for one. */
function conditionsOf(sql: string): number {
  const [, where = ""] = sql.split(" where ");
  return where.match(/"\w+"\)? (=|>=) \?/g)?.length ?? 0;
}
