import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { after, before, describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { DatabaseFailure } from "../../src/storage/failure.ts";
import { PGBOUNCER, type PgBouncer, startPgBouncer } from "../support/pgbouncer.ts";
import { createTestDatabase, unprivileged } from "../support/postgres.ts";
import { testPostgresUrl } from "../support/server.ts";
import {
  refusalOf,
  runKeystead,
  type ServerProcess,
  settingsOf,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { until } from "../support/until.ts";
import { checkAnswers, count, createSubjects, startLoad } from "./load.ts";

/** A pooler that gives each transaction the session that is free: what belongs to a session is nobody's. */

const skip = PGBOUNCER === undefined && "pgbouncer is not installed";
const OFF = { KEYSTEAD_POSTGRES_PREPARED: "off" };

describe("PgBouncer in transaction mode", { skip }, () => {
  const name = `pooled_${newId().replaceAll("-", "")}`;
  let directUrl: string;
  let bouncer: PgBouncer;
  /** Lets through, and forgets, what servers ask for a session. */
  let lenient: PgBouncer;
  before(async () => {
    directUrl = await createTestDatabase(testPostgresUrl(), name);
    bouncer = await startPgBouncer(testPostgresUrl(), { default_pool_size: 3 });
    lenient = await startPgBouncer(testPostgresUrl(), {
      ignore_startup_parameters: "statement_timeout,idle_in_transaction_session_timeout",
    });
  });
  after(async () => {
    await bouncer?.stop();
    await lenient?.stop();
  });

  it("runs here as nobody and in nobody's group, where the tests run as root", () => {
    const shown = execFileSync("ps", ["-o", "uid=,gid=", "-p", String(bouncer.pid)], { encoding: "utf8" });
    const { uid = process.getuid?.(), gid = process.getgid?.() } = unprivileged() ?? {};
    assert.deepEqual(shown.trim().split(/\s+/).map(Number), [uid, gid]);
  });

  it("is noticed where it takes no settings of a session", async () => {
    const database = openDatabase({ url: bouncer.urlOf(name) });
    const failure = await database.pooler().catch((error: unknown) => error);
    await database.close();
    assert.ok(failure instanceof DatabaseFailure);
    assert.equal(failure.kind, "unavailable");
    assert.match(failure.reason, /set KEYSTEAD_POSTGRES_PREPARED=off$/);
  });

  it("is noticed where it takes them and forgets them: the server does not start, and says what to set", async () => {
    const refusal = await refusalOf({ dataDir: temporaryFolder(), databaseUrl: lenient.urlOf(name) });
    assert.match(
      refusal,
      /behind a pooler that gives each transaction another session .+ set KEYSTEAD_POSTGRES_PREPARED=off/,
    );
  });

  it("is a failure to keystead doctor, and a warning where it gives sessions", async () => {
    const sessions = await startPgBouncer(testPostgresUrl(), { pool_mode: "session" });
    const states = [lenient, sessions].map(async (pooler) => {
      const settings = settingsOf({ dataDir: temporaryFolder(), databaseUrl: pooler.urlOf(name), settings: {} });
      const { checks } = JSON.parse((await runKeystead(["doctor", "--json"], settings)).stdout);
      const found = checks.find(({ check }: { check: string }) => check === "postgresql pooler");
      return found.state;
    });
    assert.deepEqual(await Promise.all(states), ["fail", "warn"]);
    await sessions.stop();
  });

  it("leaves time-outs to each transaction, and none to whoever has the session next", async () => {
    const database = openDatabase({ url: bouncer.urlOf(name), postgres: { prepared: false } });
    const show = { sql: "show statement_timeout", parameters: [] };
    const [inside] = await database.transact("scope", (tx) => tx.all<{ statement_timeout: string }>(show));
    const outside = await Promise.all([1, 2, 3, 4].map(() => database.read.all<{ statement_timeout: string }>(show)));
    await database.close();
    assert.equal(inside?.statement_timeout, "15s");
    for (const rows of outside) assert.deepEqual(rows, [{ statement_timeout: "0" }]);
  });

  describe("with KEYSTEAD_POSTGRES_PREPARED=off", () => {
    let server: ServerProcess;
    before(async () => {
      server = await startServerProcess({
        dataDir: temporaryFolder(),
        databaseUrl: bouncer.urlOf(name),
        settings: OFF,
      });
    });
    after(async () => {
      await server?.end("SIGKILL");
    });

    it("a server makes its tables and answers everything, with more connections than there are sessions", async () => {
      const load = startLoad(server.root, await createSubjects(server.root));
      await until(() => count(load, 200) > 200, "the load");
      await load.stop();
      assert.equal(count(load, 200), load.answers.length);
      const store = openDatabase({ url: directUrl });
      await checkAnswers(load, store);
      await store.close();
      assert.doesNotMatch(server.stdout(), /"level":"(error|fatal)"/);
    });

    it("keystead doctor and backups go through it", async () => {
      const { dataDir } = server;
      const settings = settingsOf({ dataDir, databaseUrl: bouncer.urlOf(name), settings: OFF });
      const doctor = JSON.parse((await runKeystead(["doctor", "--json"], settings)).stdout);
      const found = doctor.checks.find(({ check }: { check: string }) => check === "postgresql pooler");
      assert.deepEqual([found.state, found.text], ["ok", "there is one, and KEYSTEAD_POSTGRES_PREPARED is off"]);
      const backup = await runKeystead(["backup", `${dataDir}/pooled.backup`], settings);
      assert.equal(backup.code, 0, backup.stderr);
    });
  });
});
