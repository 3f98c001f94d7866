import assert from "node:assert/strict";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { after, before, beforeEach, describe, it } from "node:test";
import pg from "pg";
import { laneOf } from "../../src/capabilities/webhooks/queue-delivery.ts";
import { MAX_ENDPOINTS } from "../../src/capabilities/webhooks/store.ts";
import { HOUR_MS } from "../../src/kernel/durations.ts";
import { MAX_ACCOUNTS_WITH_WALLETS, MAX_DELETED_ROWS, MAX_ERASED_AT_ONCE } from "../../src/kernel/limits.ts";
import { shortestPieces } from "../../src/kernel/turns.ts";
import { sqliteFileOf } from "../../src/storage/database.ts";
import { assertSameDump, dumpDatabase } from "../support/database-dump.ts";
import { addAddresses, addDelivered, addPrivateKeys } from "../support/many-addresses.ts";
import { engines, startTestServer, type TestEngine, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { countPending, queueDeliveries } from "../support/webhook-queue.ts";
import { createWorld, type World } from "../support/world.ts";

/** What the deletion of a large sub-organization, wallet or endpoint costs the others; on SQLite a statement holds the whole process. */

/** As many as go with an organization in one transaction ... */
const ACCOUNTS = MAX_ERASED_AT_ONCE;
/** ... and more for a wallet, so that there is time to look meanwhile. */
const MORE_ACCOUNTS = 3 * ACCOUNTS;
const DELIVERIES = 8 * MAX_DELETED_ROWS;

/** Has `look` called after each statement of SQLite that writes, with the number of its rows, until what it returns is called. */
function watchWrites(look: (rows: number, statement: string) => void): () => void {
  const { run } = StatementSync.prototype;
  StatementSync.prototype.run = function watched(this: StatementSync, ...parameters: unknown[]) {
    const answer = run.apply(this, parameters as never);
    look(Number(answer.changes), this.sourceSQL);
    return answer;
  };
  return () => {
    StatementSync.prototype.run = run;
  };
}

/** How many rows were written in each round of the event loop that wrote any, with pieces as short as they can be. */
async function rowsByRound(work: () => Promise<unknown>): Promise<number[]> {
  const restore = shortestPieces();
  const rounds: number[] = [];
  let inRound: number | undefined;
  const unwatch = watchWrites((rows) => {
    if (inRound === undefined) {
      setImmediate(() => {
        rounds.push(inRound ?? 0);
        inRound = undefined;
      });
    }
    inRound = (inRound ?? 0) + rows;
  });
  try {
    await work();
  } finally {
    unwatch();
    restore();
  }
  return rounds;
}

/** Resolves once accounts have been erased. */
const begunErasing = (): Promise<void> =>
  new Promise((resolve) => {
    const unwatch = watchWrites((_, statement) => {
      if (!statement.startsWith('delete from "wallet_accounts"')) return;
      unwatch();
      resolve();
    });
  });

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);

/** As many of one organization as are there for everybody to see. */
async function countRows({ opened }: TestServer, table: string, organizationId: string): Promise<number> {
  const { count } = await opened.database.read
    .selectFrom(table as "wallet_accounts")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("organization_id", "=", organizationId)
    .executeTakeFirstOrThrow();
  return Number(count);
}

describe("the deletion of many accounts", () => {
  let server: TestServer;
  let world: World;
  let walletId: string;
  before(async () => {
    server = await startTestServer("sqlite", { checksAnswers: false });
  });
  after(() => server.close());
  beforeEach(async () => {
    world = await createWorld(server, "subOrganizations");
    const { root, organizationId } = world;
    walletId = (await root.client.result("create_wallet", { walletName: "Full", accounts: [] })).walletId;
    await addAddresses(server.databaseUrl, { organizationId, walletId }, ACCOUNTS);
  });

  const deletion = () => world.root.client.submit("delete_sub_organization", { deleteWithoutExport: true });

  const deletions = {
    "the sub-organization": () => deletion(),
    "the wallet": () =>
      world.root.client.submit("delete_wallets", { walletIds: [walletId], deleteWithoutExport: true }),
  };
  for (const [what, work] of Object.entries(deletions)) {
    it(`of ${what} lets the event loop go round between portions`, async () => {
      const rounds = await rowsByRound(async () => assert.equal((await work()).status, 200));
      // Rows that go with others are in no count: these were deleted as such.
      assert.ok(sumOf(rounds) > ACCOUNTS, `${sumOf(rounds)} rows`);
      assert.ok(Math.max(...rounds) < 2 * MAX_DELETED_ROWS, `${Math.max(...rounds)} rows at once`);
      assert.equal(await countRows(server, "wallet_accounts", world.organizationId), 0);
    });
  }

  it("of the wallet lets others read meanwhile, who see all of it or nothing", async () => {
    const { organizationId } = world;
    await addAddresses(server.databaseUrl, { organizationId, walletId }, MORE_ACCOUNTS, 1);
    const all = ACCOUNTS + MORE_ACCOUNTS;
    const other = (await createWorld(server)).root.client;
    let isOver = false;
    const seen: number[] = [];
    const read = async () => {
      while (!isOver) {
        await other.read("whoami");
        if (!isOver) seen.push(await countRows(server, "wallet_accounts", organizationId));
      }
    };
    const begun = begunErasing();
    const deleted = deletions["the wallet"]().finally(() => {
      isOver = true;
    });
    await begun;
    await read();
    assert.equal((await deleted).status, 200);
    assert.ok(seen.includes(all), `read ${seen.length} times`);
    assert.deepEqual(
      [...new Set(seen)].filter((count) => count > 0),
      [all],
    );
  });

  it("of wallets is refused where others would wait for it too long", async () => {
    const { root, organizationId } = world;
    await addAddresses(server.databaseUrl, { organizationId, walletId }, MAX_ACCOUNTS_WITH_WALLETS - ACCOUNTS, 2);
    const account = {
      curve: "CURVE_SECP256K1",
      pathFormat: "PATH_FORMAT_BIP32",
      path: "m/44'/60'/0'/0/0",
      addressFormat: "ADDRESS_FORMAT_ETHEREUM",
    };
    const { addresses } = await root.client.result("create_wallet_accounts", { walletId, accounts: [account] });
    const refused = await deletions["the wallet"]();
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /more than 50000 accounts together/);
    const made = await root.client.read("get_wallet_account", { walletId, address: addresses[0] });
    const walletAccountIds = [made.account.walletAccountId];
    await root.client.result("delete_wallet_accounts", { walletAccountIds, deleteWithoutExport: true });
    const deleted = await deletions["the wallet"]();
    assert.equal(deleted.status, 200, JSON.stringify(deleted.body));
  });

  it("of the sub-organization leaves everything as it was where it fails midway", async () => {
    const { root, organizationId } = world;
    const before = await dumpDatabase(server.opened.database, [organizationId]);
    const database = new DatabaseSync(sqliteFileOf(server.databaseUrl) as string);
    // Users are among the last to go.
    database.exec("create trigger refused before delete on users begin select raise(abort, 'refused'); end");
    let erased = 0;
    try {
      const rounds = await rowsByRound(async () => assert.equal((await deletion()).status, 500));
      erased = sumOf(rounds);
    } finally {
      database.exec("drop trigger refused");
      database.close();
    }
    assert.ok(erased > ACCOUNTS, `it had erased ${erased} rows`);
    assertSameDump(before, await dumpDatabase(server.opened.database, [organizationId]), "a deletion that failed");
    await root.client.read("whoami");
    assert.equal((await deletion()).status, 200);
  });
});

/** Lets nobody delete rows of a table until what it resolves to is called. */
async function holdRows(engine: TestEngine, url: string, table: string): Promise<() => Promise<void>> {
  if (engine === "postgres") {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(`begin; lock table ${table} in share mode`);
    return () => client.end();
  }
  const database = new DatabaseSync(sqliteFileOf(url) as string);
  database.exec(`create trigger held before delete on ${table} begin select raise(abort, 'held'); end`);
  return async () => {
    database.exec("drop trigger held");
    database.close();
  };
}

for (const engine of engines) {
  describe(`a sub-organization with more than one transaction deletes (${engine})`, () => {
    let server: TestServer;
    before(async () => {
      server = await startTestServer(engine, { checksAnswers: false });
    });
    after(() => server.close());

    const count = 2 * MAX_ERASED_AT_ONCE + 1;
    const kinds = {
      accounts: {
        tables: ["wallet_accounts"],
        async add({ root, organizationId }: World) {
          const { walletId } = await root.client.result("create_wallet", { walletName: "Full", accounts: [] });
          await addAddresses(server.databaseUrl, { organizationId, walletId }, count);
        },
      },
      "private keys": {
        tables: ["private_key_addresses", "private_keys"],
        add: ({ organizationId }: World) => addPrivateKeys(server.databaseUrl, organizationId, count),
      },
    };
    for (const [kind, { tables, add }] of Object.entries(kinds)) {
      it(`of ${kind} is deleted at once, shows nothing while a job erases it, and then what is kept of it`, async () => {
        const world = await createWorld(server, "subOrganizations");
        const { root, reader, organizationId } = world;
        await add(world);
        const counts = () => Promise.all(tables.map((table) => countRows(server, table, organizationId)));
        const release = await holdRows(engine, server.databaseUrl, tables[0] as string);
        try {
          const deletion = await root.client.submit("delete_sub_organization", { deleteWithoutExport: true });
          assert.deepEqual([deletion.status, deletion.body.activity.status], [200, "ACTIVITY_STATUS_COMPLETED"]);
          for (const query of ["list_wallets", "list_activities", "whoami"]) {
            const { status, headers, body } = await reader.query(query);
            assert.deepEqual([status, headers.get("retry-after")], [404, "5"], query);
            assert.match(body.message, /was deleted and is being erased/);
          }
          assert.equal((await root.client.query("whoami")).status, 401);
          assert.deepEqual(
            await counts(),
            tables.map(() => count),
          );
        } finally {
          await release();
        }
        await until(async () => (await reader.query("list_wallets")).status === 200, "its end");
        assert.deepEqual(
          await counts(),
          tables.map(() => 0),
        );
        assert.deepEqual((await reader.read("list_wallets")).wallets, []);
        const { activities } = await reader.read("list_activities");
        assert.equal(activities[0].type, "ACTIVITY_TYPE_DELETE_SUB_ORGANIZATION");
      });
    }
  });
}

for (const engine of engines) {
  describe(`an endpoint with more deliveries than one transaction deletes (${engine})`, () => {
    let server: TestServer;
    before(async () => {
      server = await startTestServer(engine, { checksAnswers: false });
    });
    after(() => server.close());

    it("is gone at once, for whoever sends, lists, changes or counts, and a job erases what it had", async () => {
      const { root, organizationId } = await createWorld(server);
      const { database } = server.opened;
      const url = "http://127.0.0.1:9/";
      const create = (name: string) => root.client.result("create_webhook_endpoint", { name, url });
      const { endpointId } = await create("Full");
      for (let others = 1; others < MAX_ENDPOINTS; others++) await create(`Other ${others}`);
      const receiver = { endpointId, organizationId, rootId: organizationId, url };
      await queueDeliveries(database, [receiver], { count: 2, body: "{}", dueAt: Date.now() + HOUR_MS });
      await addDelivered(server.databaseUrl, { organizationId, endpointId }, MAX_ERASED_AT_ONCE);
      const ofEndpoint = () =>
        database.read.selectFrom("webhook_deliveries").select("id").where("endpoint_id", "=", endpointId).execute();
      const before = await ofEndpoint();
      const isListed = async () =>
        (await root.client.read("list_webhook_endpoints")).webhookEndpoints.some(
          (one: { endpointId: string }) => one.endpointId === endpointId,
        );
      const release = await holdRows(engine, server.databaseUrl, "webhook_deliveries");
      try {
        assert.equal((await root.client.submit("delete_webhook_endpoint", { endpointId })).status, 200);
        assert.equal(await isListed(), false);
        for (const [path, parameters] of [
          ["delete_webhook_endpoint", { endpointId }],
          ["update_webhook_endpoint", { endpointId, isActive: true }],
          ["test_webhook_endpoint", { endpointId }],
          ["redeliver_webhook", { deliveryId: before[0]?.id }],
        ] as const) {
          assert.equal((await root.client.submit(path, parameters)).status, 404, path);
        }
        assert.equal((await root.client.query("list_webhook_deliveries", { endpointId })).status, 404);
        await create("In its place");
        assert.equal((await ofEndpoint()).length, before.length);
      } finally {
        await release();
      }
      const rows = () =>
        database.read.selectFrom("webhook_endpoints").select("id").where("id", "=", endpointId).execute();
      await until(async () => (await rows()).length === 0, "its end");
      assert.deepEqual(await ofEndpoint(), []);
      const lane = database.read.selectFrom("jobs").select("id").where("lane", "=", laneOf(endpointId));
      assert.deepEqual(await lane.execute(), []);
    });
  });
}

describe("the deletion of an endpoint with many deliveries", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer("sqlite", { checksAnswers: false });
  });
  after(() => server.close());

  it("lets the event loop go round between portions", async () => {
    const { root, organizationId } = await createWorld(server);
    const { database } = server.opened;
    const url = "http://127.0.0.1:9/";
    const { endpointId } = await root.client.result("create_webhook_endpoint", { name: "Full", url });
    const receiver = { endpointId, organizationId, rootId: organizationId, url };
    await queueDeliveries(database, [receiver], { count: DELIVERIES, body: "{}", dueAt: Date.now() + HOUR_MS });
    assert.equal(await countPending(database), DELIVERIES);
    const rounds = await rowsByRound(async () =>
      assert.equal((await root.client.submit("delete_webhook_endpoint", { endpointId })).status, 200),
    );
    // Each has a job.
    assert.ok(sumOf(rounds) > 2 * DELIVERIES, `${sumOf(rounds)} rows`);
    assert.ok(Math.max(...rounds) < 2 * MAX_DELETED_ROWS, `${Math.max(...rounds)} rows at once`);
    assert.equal(await countPending(database), 0);
  });
});
