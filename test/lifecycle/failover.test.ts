import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { openDatabase } from "../../src/storage/database.ts";
import { createTestDatabase, startPostgres, type TestPostgres } from "../support/postgres.ts";
import {
  childrenOf,
  isRunning,
  type ServerProcess,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { until } from "../support/until.ts";
import { checkAnswers, createSubjects, type Load, readyz, startLoad } from "./load.ts";

/** A primary of PostgreSQL that dies, with a synchronous standby that takes its place. */

const portOf = ({ url }: TestPostgres) => new URL(url).port;

async function ask(url: string, statement: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}

/** At once, with everything that works for it. */
function killAtOnce(postgres: TestPostgres): void {
  const children = childrenOf(postgres.pid);
  postgres.kill("SIGKILL");
  for (const child of children) {
    try {
      process.kill(child, "SIGKILL");
    } catch {
      // It ended with its parent.
    }
  }
}

const writes = ({ answers }: Load) => answers.filter(({ body, answer }) => body !== "" && answer.status === 200).length;

describe("a primary of PostgreSQL that dies under load", () => {
  let primary: TestPostgres;
  let standby: TestPostgres;
  let server: ServerProcess;
  before(async () => {
    primary = await startPostgres({ durable: true });
    await createTestDatabase(primary.url, "keys");
    standby = await primary.startStandby();
    primary.setFile("postgresql.auto.conf", "synchronous_standby_names = '*'\n");
    await ask(primary.url, "select pg_reload_conf()");
    const isSynchronous = "select 1 from pg_stat_replication where sync_state = 'sync'";
    await until(async () => (await ask(primary.url, isSynchronous)).length === 1, "the standby to follow");
    // The standby comes first: it is passed over for as long as it takes no writes.
    const hosts = `127.0.0.1:${portOf(standby)},127.0.0.1:${portOf(primary)}`;
    server = await startServerProcess({
      dataDir: temporaryFolder(),
      databaseUrl: `postgres://keystead@${hosts}/keys?target_session_attrs=read-write`,
    });
  });
  after(async () => {
    await server?.end("SIGKILL");
    await standby?.stop();
    await primary?.stop();
  });

  it("loses and doubles nothing that was acknowledged, and the standby that is promoted takes the writes", async (test) => {
    const load = startLoad(server.root, await createSubjects(server.root));
    await until(() => writes(load) > 30, "the load");
    killAtOnce(primary);
    const toldAt = performance.now();
    assert.deepEqual(await ask(standby.url, "select pg_promote(true, 300) as promoted"), [{ promoted: true }]);
    const before = writes(load);
    await until(() => writes(load) > before, "a write to the new primary");
    // Told and not asserted: on a busy machine it says more about the machine.
    const ms = Math.round(performance.now() - toldAt);
    test.diagnostic(`writes again ${ms} ms after the standby was told to take over; the goal is 5,000 after it has`);
    await until(() => writes(load) > before + 30, "the load to go on");
    await load.stop();
    await until(async () => (await readyz(server)).status === 200, "the server to be ready");
    assert.ok(isRunning(server.pid));

    // Whoever was not answered sends the same again: it was done, or it is done now.
    const unanswered = load.answers.filter(({ body, answer }) => body !== "" && answer.status === 503).slice(0, 20);
    for (const { body } of unanswered) {
      const path = /SIGN_RAW_PAYLOAD/.test(body) ? "sign_raw_payload" : "update_user_name";
      load.answers.push({ body, answer: await server.root.post(`/public/v1/submit/${path}`, body) });
      assert.equal(load.answers.at(-1)?.answer.status, 200);
    }
    const store = openDatabase({ url: standby.url.replace(/\/postgres$/, "/keys") });
    try {
      await checkAnswers(load, store);
    } finally {
      await store.close();
    }
  });

  it("gives nothing to the old primary when that comes back and takes writes, also while the new one is away", async () => {
    primary.setFile("postgresql.auto.conf", "");
    await primary.restart();
    const onOld = () => ask(primary.url.replace(/\/postgres$/, "/keys"), "select count(*) from activities");
    const before = await onOld();
    const load = startLoad(server.root, await createSubjects(server.root));
    await until(() => writes(load) > 10, "the load");
    await standby.restart();
    const then = writes(load);
    await until(() => writes(load) > then + 30, "the load to go on");
    await load.stop();
    assert.deepEqual(await onOld(), before);
    const store = openDatabase({ url: standby.url.replace(/\/postgres$/, "/keys") });
    try {
      await checkAnswers(load, store);
    } finally {
      await store.close();
    }
  });
});
