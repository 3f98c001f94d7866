import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { createTestDatabase, startPostgres, type TestPostgres } from "../support/postgres.ts";
import { type ServerProcess, spawnServer, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";
import { type Readyz, readyz, whenReady } from "./load.ts";

/** `/readyz` in the states that a database can be in. What it says is true of requests at the same moment. */

async function untilReady(server: ServerProcess): Promise<void> {
  assert.deepEqual(await whenReady(server), {
    status: "ready",
    database: "ready",
    signer: "ready",
    organization: "ready",
  });
}

async function untilDatabaseIs(server: ServerProcess, state: string, reason: RegExp): Promise<Readyz["body"]> {
  let last: Readyz | undefined;
  await until(async () => {
    last = await readyz(server);
    return last.body.database === state && reason.test(last.body.reasons?.database ?? "");
  }, `/readyz to tell of ${reason}`).catch((error: Error) => {
    throw new Error(`${error.message}; it said ${JSON.stringify(last)}`);
  });
  assert.equal(last?.status, 503);
  return last?.body as Readyz["body"];
}

describe("/readyz on PostgreSQL", () => {
  let postgres: TestPostgres;
  let proxy: TcpProxy;
  let server: ServerProcess;
  let directUrl: string;
  let userId: string;

  before(async () => {
    postgres = await startPostgres();
    directUrl = await createTestDatabase(postgres.url, "ready");
    const url = new URL(directUrl);
    proxy = await startTcpProxy(Number(url.port));
    url.port = String(proxy.port);
    server = await startServerProcess({ dataDir: temporaryFolder(), databaseUrl: url.href });
    ({ userId } = await server.root.read("whoami"));
  });
  after(async () => {
    await server.end("SIGKILL");
    await proxy.close();
    await postgres.stop();
  });

  const rename = () => server.root.submit("update_user_name", { userId, userName: "renamed" });
  const operate = (...statements: string[]) => operateAt(directUrl, statements);
  const operateFromOutside = (...statements: string[]) => operateAt(postgres.url, statements);
  const operateAt = async (connectionString: string, statements: readonly string[]) => {
    const client = new pg.Client({ connectionString });
    await client.connect();
    for (const statement of statements) await client.query(statement);
    await client.end();
  };

  it("says that all is well, with nothing beside it", () => untilReady(server));

  it("a standby that takes no writes: reads work, and it is not ready", async () => {
    postgres.setFile("standby.signal", "");
    await postgres.restart();
    await untilDatabaseIs(
      server,
      "unwritable",
      /^the database accepts no writes: it is a standby, or set to read-only; reads work/,
    );
    assert.equal((await server.root.query("whoami")).status, 200);
    const { status, body } = await rename();
    assert.equal(status, 503, JSON.stringify(body));
    postgres.setFile("standby.signal", undefined);
    await postgres.restart();
    await untilReady(server);
    assert.equal((await rename()).status, 200);
  });

  it("tables that somebody has locked, for reads or for writes alone", async () => {
    const client = new pg.Client({ connectionString: directUrl });
    await client.connect();
    for (const [lock, state, reason] of [
      ["users in access exclusive mode", "unavailable", /^the database did not answer in time; /],
      ["activities in access exclusive mode", "unwritable", /^the database did not (answer|confirm a write) in time; /],
      ["votes in share mode", "unwritable", /^the database did not (answer|confirm a write) in time; /],
    ] as const) {
      await client.query("begin");
      await client.query(`lock table ${lock}`);
      await untilDatabaseIs(server, state, reason);
      await client.query("rollback");
      await untilReady(server);
    }
    await client.end();
  });

  it("commits that fail for want of room, where a small write still works", async () => {
    // A real error of the server, at the commit, with the code of a full disk.
    await operate(
      "create function full_disk() returns trigger language plpgsql as $$ begin raise 'no space' using errcode = '53100'; end $$",
      "create constraint trigger full_disk after insert on votes deferrable initially deferred for each row execute function full_disk()",
    );
    let stopped = false;
    const writes = [0, 1].map(async () => {
      const statuses: number[] = [];
      while (statuses.length < 2 || !stopped) statuses.push((await rename()).status);
      return statuses;
    });
    await untilDatabaseIs(server, "unwritable", /^the database has no room left on its disk; reads work/);
    stopped = true;
    for (const statuses of await Promise.all(writes)) assert.ok(statuses.every((status) => status === 503));
    await operate("drop trigger full_disk on votes");
    await untilReady(server);
    assert.equal((await rename()).status, 200);
  });

  it("a full disk on which no further session can begin: reads go on by those that are there", async () => {
    await operate("create trigger full_disk after insert on votes for each row execute function full_disk()");
    await operateFromOutside("alter database ready allow_connections false");
    for (let time = 0; time < 20; time++) assert.equal((await rename()).status, 503);
    assert.equal((await server.root.query("whoami")).status, 200);
    await operateFromOutside("alter database ready allow_connections true");
    await operate("drop trigger full_disk on votes");
    await untilReady(server);
  });

  it("requests that get no connection, while those that it looks by are still there", async () => {
    // These two are the last words of the connections that it looks by.
    const ofProbes = `(query = 'select 1' or query like 'insert into "installation"%')`;
    await operateFromOutside(
      "alter database ready allow_connections false",
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = 'ready' and not ${ofProbes}`,
    );
    const asked = server.root.query("whoami");
    await untilDatabaseIs(server, "unavailable", /^the database accepts no connections at the moment; every request/);
    await operateFromOutside("alter database ready allow_connections true");
    await asked;
    await untilReady(server);
    assert.equal((await rename()).status, 200);
  });

  it("commits that are never confirmed", async () => {
    postgres.setFile("postgresql.auto.conf", "synchronous_standby_names = 'nobody'\n");
    // Before the settings of the command line, which are for speed.
    await operate("alter database ready set synchronous_commit = on", "select pg_reload_conf()");
    const endOthers = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()";
    await operate(`${endOthers} and application_name = 'keystead'`);
    await untilDatabaseIs(server, "unwritable", /^the database did not confirm a write in time; reads work/);
    assert.equal((await server.root.query("whoami")).status, 200);
    postgres.setFile("postgresql.auto.conf", "");
    await operate("select pg_reload_conf()");
    await untilReady(server);
  });

  it("a database that hangs: it answers all the same, however many ask, and asks the database little", async () => {
    proxy.stall();
    await untilDatabaseIs(server, "unavailable", /^the database did not answer in time; every request that needs it/);
    const answers = await Promise.all(Array.from({ length: 200 }, () => readyz(server)));
    assert.ok(answers.every(({ status }) => status === 503));
    await proxy.heal();
    await untilReady(server);
    const client = new pg.Client({ connectionString: directUrl });
    await client.connect();
    const { rows } = await client.query<{ count: number }>(
      "select count(*)::int as count from pg_stat_activity where application_name = 'keystead'",
    );
    await client.end();
    assert.ok((rows[0]?.count ?? 0) <= 16, `${rows[0]?.count} connections`);
  });
});

describe("/readyz on SQLite", () => {
  it("a file that another process keeps locked: reads and /healthz go on, and writes with the lock's end", async () => {
    const dataDir = temporaryFolder();
    const server = await startServerProcess({ dataDir });
    const { userId } = await server.root.read("whoami");
    await untilReady(server);
    // The server may be writing at this moment, which is not what is tested.
    const other = new DatabaseSync(`${dataDir}/keystead.db`, { timeout: 30_000 });
    other.exec("begin immediate");
    let answered = false;
    const waiting = server.root.submit("update_user_name", { userId, userName: "waited" }).finally(() => {
      answered = true;
    });
    await untilDatabaseIs(server, "unwritable", /^the database did not confirm a write in time; reads work/);
    let others = 0;
    for (; !answered; others++) {
      assert.equal((await fetch(`${server.baseUrl}/healthz`)).status, 200);
      assert.equal((await server.root.query("whoami")).status, 200);
    }
    assert.ok(others > 3, `only ${others} requests were answered while the write waited`);
    assert.equal((await waiting).status, 503, "it does not wait for ever");
    await untilDatabaseIs(server, "unwritable", /is locked by another process|did not confirm a write in time/);
    const next = server.root.submit("update_user_name", { userId, userName: "waited less" });
    other.exec("commit");
    other.close();
    assert.equal((await next).status, 200);
    await untilReady(server);
    await server.end("SIGTERM");
  });
});

describe("/readyz without an organization", () => {
  it("says so: here the first start was killed, and the next one has no passphrase", async () => {
    const dataDir = temporaryFolder();
    const killer = fileURLToPath(new URL("../support/kill-at-step.ts", import.meta.url));
    const passphrase = { KEYSTEAD_ROOT_KEY_PASSPHRASE: "correct horse battery staple" };
    // The last step before the organization is stored.
    const killing = { ...passphrase, NODE_OPTIONS: `--import=${killer}`, KILL_AT_STEP: "credentials.json" };
    const killed = spawnServer({ dataDir, settings: killing });
    assert.equal((await killed.exited).signal, "SIGKILL", killed.stdout() + killed.stderr());

    const sealed = await startServerProcess({ dataDir });
    // On a busy machine the first look at the database may not have its answer in time.
    await until(async () => (await readyz(sealed)).body.database === "ready", "the database to be ready");
    const { status, body } = await readyz(sealed);
    assert.equal(status, 503);
    const { reasons, ...states } = body;
    assert.deepEqual(states, { status: "not ready", database: "ready", signer: "sealed", organization: "missing" });
    assert.match(reasons?.organization ?? "", /^there is no organization yet; /);
    await sealed.end("SIGTERM");

    const server = await startServerProcess({ dataDir, settings: passphrase });
    await untilReady(server);
    await server.end("SIGTERM");
  });
});
