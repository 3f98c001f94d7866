import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { newId } from "../../src/kernel/ids.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import type { TestAnswer } from "../support/client.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { testPostgresUrl } from "../support/server.ts";
import { isRunning, type ServerProcess, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";
import { checkAnswers, count, createSubjects, type Load, readyz, type Subjects, startLoad } from "./load.ts";

/** What becomes of requests while the database is away, hangs, or has no room left. */

describe("PostgreSQL behind a server", () => {
  let proxy: TcpProxy;
  let server: ServerProcess;
  let store: Database;
  let operator: pg.Client;
  let subjects: Subjects;

  before(async () => {
    const directUrl = await createTestDatabase(testPostgresUrl(), `away_${newId().replaceAll("-", "")}`);
    const url = new URL(directUrl);
    proxy = await startTcpProxy(Number(url.port));
    url.port = String(proxy.port);
    server = await startServerProcess({ dataDir: temporaryFolder(), databaseUrl: url.href });
    store = openDatabase({ url: directUrl });
    operator = new pg.Client({ connectionString: directUrl });
    await operator.connect();
    subjects = await createSubjects(server.root);
  });
  after(async () => {
    await server.end("SIGKILL");
    await store.close();
    await operator.end();
    await proxy.close();
  });

  const loaded = async (): Promise<Load> => {
    const load = startLoad(server.root, subjects);
    await until(() => count(load, 200) > 50, "the load");
    return load;
  };

  it("gone and back: 503 meanwhile, and the server says so", async () => {
    const load = await loaded();
    await proxy.refuse();
    await until(() => count(load, 503) > 10, "answers that say so");
    const probe = await readyz(server);
    assert.equal(probe.status, 503);
    assert.equal(probe.body.database, "unavailable");
    assert.equal((await fetch(`${server.baseUrl}/healthz`)).status, 200);
    await proxy.heal();
    const before = count(load, 200);
    await until(() => count(load, 200) > before + 50, "the load to go on");
    // What it says is up to a second old.
    await until(async () => (await readyz(server)).status === 200, "the server to be ready");
    await load.stop();
    await checkAnswers(load, store);
    assert.ok(isRunning(server.pid));
  });

  it("ends every connection, several times: the server lives and what it acknowledged is there", async () => {
    const load = await loaded();
    for (let time = 0; time < 5; time++) {
      const before = count(load, 200);
      await operator.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'keystead' and datname = current_database() and pid <> pg_backend_pid()",
      );
      await until(() => count(load, 200) > before + 30, "the load to go on");
    }
    await load.stop();
    await checkAnswers(load, store);
    assert.ok(isRunning(server.pid));
  });

  it("that hangs: requests are told within their time, and go on when it does", async () => {
    const load = await loaded();
    proxy.stall();
    const start = performance.now();
    const stopped = load.stop();
    await stopped;
    const tookMs = performance.now() - start;
    assert.ok(tookMs < 120_000, `the last answer took ${tookMs} ms`);
    assert.ok(count(load, 503) > 0);
    await proxy.heal();
    await until(async () => (await readyz(server)).status === 200, "the server to be ready");
    const again = await loaded();
    await again.stop();
    await checkAnswers(load, store);
    await checkAnswers(again, store);
  });
});

describe("SQLite with no room left on its disk", () => {
  // Of a file, in the 512-byte blocks of a POSIX shell: the fresh database fits, and in its log some sixty writes more.
  const BLOCKS = 4000;
  const dataDir = temporaryFolder();
  let server: ServerProcess;
  let store: Database;
  let userId: string;
  let answers: { body: string; answer: TestAnswer }[];

  before(async () => {
    // So that the tables are there, and files of compiled code are not among those that have no room.
    const first = await startServerProcess({ dataDir });
    await first.end("SIGTERM");
    server = await startServerProcess({
      dataDir,
      shellPrefix: `ulimit -f ${BLOCKS}`,
      settings: { NODE_DISABLE_COMPILE_CACHE: "1" },
    });
    ({ userId } = await server.root.read("whoami"));
    store = openDatabase({ url: `sqlite:${dataDir}/keystead.db` });
  });
  after(async () => {
    await server.end("SIGKILL");
    await store.close();
  });

  it("refuses writes, and goes on reading", async () => {
    answers = [];
    const padding = "x".repeat(200);
    const write = async (name: string) => {
      const parameters = {
        users: Array.from({ length: 3 }, (_, index) => ({
          userName: `${name} ${index} ${padding}`,
          userEmail: "somebody@example.com",
          apiKeys: [],
          authenticators: [],
          oauthProviders: [],
          userTags: [],
        })),
      };
      const body = server.root.submitBody("create_users", parameters);
      answers.push({ body, answer: await server.root.post("/public/v1/submit/create_users", body) });
    };
    const rename = async (name: string) => {
      const body = server.root.submitBody("update_user_name", { userId, userName: `${name} ${padding}` });
      answers.push({ body, answer: await server.root.post("/public/v1/submit/update_user_name", body) });
    };
    const refused = () => answers.filter(({ answer }) => answer.status === 503).length;
    for (let turn = 0; refused() < 20; turn++) {
      assert.ok(turn < 3000, "the limit is never met");
      const round = [0, 1, 2, 3].map((sender) => rename(`${turn} ${sender}`));
      await Promise.all(turn < 20 ? [...round, write(`${turn}`)] : round);
    }
    assert.ok(answers.length - refused() > 20, "there was room for some");
    const isFull = async () => {
      await rename("one more");
      const { body } = await readyz(server);
      return body.database === "unwritable" && /disk/.test(body.reasons?.database ?? "");
    };
    await until(isFull, "/readyz to say that the disk is full");
    await checkAnswers({ answers, stop: async () => {} }, store);
    assert.ok(isRunning(server.pid));
    assert.equal((await server.root.read("whoami")).userId, userId);
    assert.equal((await fetch(`${server.baseUrl}/healthz`)).status, 200);
  });

  it("holds nothing half written", async () => {
    const { read } = store;
    const activities = await read.selectFrom("activities").select(["id", "type", "result"]).execute();
    const votes = await read.selectFrom("votes").select("activity_id").execute();
    assert.deepEqual(votes.map((vote) => vote.activity_id).sort(), activities.map(({ id }) => id).sort());
    const created = activities
      .filter(({ type }) => type.startsWith("ACTIVITY_TYPE_CREATE_USERS"))
      .flatMap(({ result }) => JSON.parse(result as string).createUsersResult.userIds as string[]);
    const users = await read.selectFrom("users").select("id").execute();
    assert.deepEqual([...created, userId].sort(), users.map(({ id }) => id).sort());
  });

  it("works again with room, with everything that was acknowledged", async () => {
    await server.end("SIGTERM");
    server = await startServerProcess({ dataDir });
    for (const { body, answer } of answers.filter(({ answer }) => answer.status === 200).slice(-20)) {
      const path = body.includes("CREATE_USERS") ? "create_users" : "update_user_name";
      const again = await server.root.post(`/public/v1/submit/${path}`, body);
      assert.equal(again.body.activity.id, answer.body.activity.id);
    }
    await server.root.result("update_user_name", { userId, userName: "room again" });
    await checkAnswers({ answers, stop: async () => {} }, store);
  });
});
