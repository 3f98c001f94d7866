import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { addLine, nextLines } from "../../src/main/audit/queue.ts";
import { copyDatabase } from "../../src/main/backup/copy.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { addUser, generateApiKey, type Json } from "../support/client.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { startReceiver } from "../support/receiver.ts";
import { engines, freshDatabaseUrl, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/** What the audit stream tells, and what becomes of it where a sink is slow, full or gone. */

const root = mkdtempSync(join(tmpdir(), "keystead-audit-"));
after(() => rmSync(root, { recursive: true, force: true }));
const newPath = () => join(mkdtempSync(join(root, "a-")), "audit.ndjson");

const linesIn = (text: string): Json[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
const linesOf = (path: string): Json[] => (existsSync(path) ? linesIn(readFileSync(path, "utf8")) : []);
const activitiesIn = (lines: readonly Json[]): Json[] => lines.filter(({ event }) => event === "activity");

const readyz = async ({ baseUrl }: Pick<TestServer, "baseUrl">): Promise<{ status: number; body: Json }> => {
  const answer = await fetch(`${baseUrl}/readyz`);
  return { status: answer.status, body: await answer.json() };
};

const SECRET = "a name that nobody else has";

for (const engine of engines) {
  describe(`the audit stream (${engine})`, () => {
    it("tells of each status of an activity, and of who brought it there", async () => {
      const path = newPath();
      const server = await startTestServer(engine, { audit: { file: { path }, whenFull: "block" } });
      const { root, credentials } = server;
      const { userId, client } = await addUser(root, SECRET);
      const denied = await client.submit("update_organization_name", { organizationName: SECRET });
      assert.equal(denied.status, 403);
      const { userId: second, client: other } = await addUser(root);
      await root.result("update_root_quorum", { threshold: 2, userIds: [credentials.userId, second] });
      const asked = await root.submit("create_user_tag", { userTagName: SECRET, userIds: [] });
      const { id, fingerprint } = asked.body.activity;
      await other.submit("reject_activity", { fingerprint });
      await until(
        () => linesOf(path).some((line) => line.activity?.id === id && line.outcome === "rejected"),
        "the last line",
      );
      const lines = linesOf(path);
      const lineOf = (outcome: string) =>
        lines.filter((line) => line.outcome === outcome).at(-1) ?? assert.fail(`no line is ${outcome}`);
      const consensus = lineOf("consensus_needed");
      const { id: lineId, time, ...rest } = consensus;
      assert.match(lineId, /^[0-9a-f-]{36}$/);
      assert.ok(Math.abs(Date.parse(time) - Date.now()) < 3_600_000);
      assert.deepEqual(rest, {
        event: "activity",
        outcome: "consensus_needed",
        organizationId: root.organizationId,
        activity: {
          id,
          type: "ACTIVITY_TYPE_CREATE_USER_TAG",
          status: "ACTIVITY_STATUS_CONSENSUS_NEEDED",
          fingerprint,
        },
        by: {
          organizationId: root.organizationId,
          userId: credentials.userId,
          credentialId: rest.by.credentialId,
          credentialType: "CREDENTIAL_TYPE_API_KEY_P256",
          stamp: "SIGNATURE_SCHEME_TK_API_P256",
          publicKey: root.key.publicKey,
        },
        vote: "approved",
        clientAddress: "127.0.0.1",
      });
      const rejected = lineOf("rejected");
      assert.deepEqual([rejected.by.userId, rejected.vote], [second, "rejected"]);
      assert.equal(rejected.activity.id, id);
      const { by, activity, failureCode } = lineOf("denied");
      assert.deepEqual([by.userId, activity.type, failureCode], [userId, "ACTIVITY_TYPE_UPDATE_ORGANIZATION_NAME", 7]);
      assert.equal(lineOf("completed").event, "activity");
      assert.ok(!readFileSync(path, "utf8").includes(SECRET), "nothing of a body");
      await server.close();
    });

    it("tells of refused authentications, of a flood as a number", async () => {
      const path = newPath();
      const server = await startTestServer(engine, { audit: { file: { path }, whenFull: "drop" } });
      const { root, baseUrl } = server;
      const stranger = root.with({ key: generateApiKey() });
      assert.equal((await stranger.query("whoami")).status, 401);
      const refused = () => linesOf(path).filter(({ event }) => event === "authentication_refused");
      await until(() => refused().length === 1, "the line");
      const { id: _, time: __, ...line } = refused()[0];
      assert.deepEqual(line, {
        event: "authentication_refused",
        reason: "PUBLIC_KEY_NOT_FOUND",
        operation: "whoami",
        organizationId: root.organizationId,
        clientAddress: "127.0.0.1",
      });
      const FLOOD = 600;
      const sendOne = () => fetch(`${baseUrl}/public/v1/query/whoami`, { method: "POST", body: "{}" });
      const seconds = performance.now() / 1000;
      for (let sent = 0; sent < FLOOD; sent += 50) {
        const answers = await Promise.all(Array.from({ length: 50 }, sendOne));
        assert.ok(answers.every(({ status }) => status === 401));
      }
      const tookSeconds = performance.now() / 1000 - seconds;
      const leftOut = () =>
        linesOf(path)
          .filter(({ event }) => event === "authentications_left_out")
          .reduce((sum, { count }) => sum + count, 0);
      await until(() => refused().length + leftOut() === FLOOD + 1, "all to be told of");
      assert.ok(refused().length <= 200 + 5 * tookSeconds + 1, `${refused().length} lines of their own`);
      await server.close();
    });

    it("is ordered by organization, goes to every sink, and waits for one that is slow or gone", async () => {
      const path = newPath();
      const receiver = await startReceiver();
      receiver.answer(503);
      const server = await startTestServer(engine, {
        audit: { file: { path }, https: { url: `${receiver.url}/audit` }, whenFull: "block" },
        settings: { KEYSTEAD_AUDIT_TOKEN: "token-of-the-audit-stream" },
      });
      const { root } = server;
      const ids: string[] = [];
      const sendSome = async () => {
        for (let number = 0; number < 5; number++) {
          const { body } = await root.submit("update_organization_name", { organizationName: `Name ${number}` });
          ids.push(body.activity.id);
        }
      };
      await sendSome();
      await receiver.waitFor(1);
      await until(async () => (await readyz(server)).body.warnings?.["audit https"] !== undefined, "a warning");
      const { status, body } = await readyz(server);
      assert.deepEqual([status, body.status, body.audit.https.status], [200, "ready", "failing"]);
      assert.match(body.warnings["audit https"], /^the sink answered HTTP 503, since .*; \d+ lines are waiting$/);
      assert.ok(!JSON.stringify(body).includes(receiver.url));
      const inFile = () => activitiesIn(linesOf(path)).map(({ activity }) => activity.id);
      await until(() => inFile().length === ids.length, "the file to have them meanwhile");

      // Slow at first, so that more comes together while one batch is under way.
      let answerAll = () => {};
      const slow = new Promise<void>((resolve) => {
        answerAll = resolve;
      });
      const taken: Json[] = [];
      receiver.answer((_, response) => {
        const { body: text } = receiver.received.at(-1) as { body: string };
        void slow.then(() => {
          taken.push(...linesIn(text));
          response.writeHead(204).end();
        });
      });
      await sendSome();
      answerAll();
      await until(() => activitiesIn(taken).length >= ids.length, "all lines");
      const order = [...new Set(activitiesIn(taken).map(({ activity }) => activity.id))];
      assert.deepEqual(order, ids);
      await until(() => inFile().length === ids.length, "all lines in the file");
      assert.deepEqual(inFile(), ids);
      const [first] = receiver.received;
      assert.deepEqual(
        [first?.path, first?.headers["content-type"], first?.headers.authorization],
        ["/audit", "application/x-ndjson", "Bearer token-of-the-audit-stream"],
      );
      await until(async () => (await readyz(server)).body.audit.https.status === "delivering", "the sink to be well");
      assert.equal((await readyz(server)).body.warnings?.["audit https"], undefined);
      assert.ok(!server.log().includes("token-of-the-audit-stream"));
      await server.close();
      await receiver.close();
    });

    const noFull = !existsSync("/dev/full") && "there is no /dev/full";
    it("blocks writes while a full disk takes nothing, and goes on when there is room", { skip: noFull }, async () => {
      const path = newPath();
      symlinkSync("/dev/full", path);
      const server = await startTestServer(engine, { audit: { file: { path }, whenFull: "block", maxBacklog: 3 } });
      const { root } = server;
      const ids: string[] = [];
      const write = (name: string) => root.submit("update_organization_name", { organizationName: name });
      // The bound is held as far as the server knows what waits: it counts anew now and then.
      let refused = await write("The first");
      let ready = await readyz(server);
      await until(async () => {
        if (refused.status === 200) ids.push(refused.body.activity.id);
        refused = await write(`Name ${ids.length}`);
        ready = await readyz(server);
        const isTold = /^the sink has no room left on its disk/.test(ready.body.warnings?.["audit file"] ?? "");
        return refused.status !== 200 && ready.status === 503 && isTold;
      }, "the bound to hold");
      assert.equal(refused.status, 503);
      assert.match(refused.body.message, /^the audit log is full: \d+ lines are waiting for file/);
      assert.ok(Number(refused.headers.get("retry-after")) > 0);
      assert.equal((await root.query("whoami")).status, 200);
      const { body } = ready;
      assert.equal(body.audit.file.status, "full");
      assert.ok(body.audit.file.backlog >= 3, `${body.audit.file.backlog} wait`);
      assert.match(body.reasons.audit, /^\d+ lines are waiting for the audit sink file/);
      rmSync(path);
      await until(async () => (await readyz(server)).status === 200, "the server to be ready");
      ids.push((await write("After it")).body.activity.id);
      const told = () => activitiesIn(linesOf(path)).map(({ activity }) => activity.id);
      await until(() => told().length === ids.length, "every line");
      assert.deepEqual(told(), ids);
      await server.close();
    });

    it("drops lines where it was told to, with an alarm and a line that says so", { skip: noFull }, async () => {
      const path = newPath();
      symlinkSync("/dev/full", path);
      const server = await startTestServer(engine, { audit: { file: { path }, whenFull: "drop", maxBacklog: 3 } });
      const { root } = server;
      let written = 0;
      let ready = await readyz(server);
      await until(async () => {
        await root.result("update_organization_name", { organizationName: `Name ${++written}` });
        ready = await readyz(server);
        return (
          ready.body.audit.file.status === "full" &&
          /no room left.*dropped/.test(ready.body.warnings?.["audit file"] ?? "")
        );
      }, "the alarm");
      const { status, body } = ready;
      assert.equal(status, 200);
      assert.match(body.warnings["audit file"], /\d+ lines? of activities were dropped$/);
      rmSync(path);
      const told = () => activitiesIn(linesOf(path)).length;
      const dropped = () =>
        linesOf(path)
          .filter(({ event }) => event === "activities_dropped")
          .reduce((sum, { count }) => sum + count, 0);
      await until(() => told() + dropped() === written, "all to be told of");
      assert.ok(dropped() > 0);
      await until(async () => (await readyz(server)).body.warnings?.["audit file"] === undefined, "the alarm to end");
      assert.match(
        server.log(),
        /"dropped":1,"msg":"the queue of an audit sink is full: lines of activities are dropped"/,
      );
      assert.match(server.log(), /"dropped":\d+,"msg":"an audit sink accepts lines again"/);
      await server.close();
    });
  });
}

describe("the audit stream of two servers on one database", () => {
  it("keeps the order of an organization whichever of them it writes to, also when the one that delivers is gone", async () => {
    const dataDirs = [mkdtempSync(join(root, "s-")), mkdtempSync(join(root, "s-"))] as const;
    const receiver = await startReceiver();
    const databaseUrl = await freshDatabaseUrl("postgres", dataDirs[0], MIGRATED_DATABASE);
    const audit = { https: { url: receiver.url }, whenFull: "block" };
    const settings = { KEYSTEAD_JOB_LEASE_SECONDS: "2" };
    const one = await startTestServer("postgres", { dataDir: dataDirs[0], databaseUrl, audit, settings });
    for (const name of ["root.key", "credentials.json"]) {
      symlinkSync(join(dataDirs[0], name), join(dataDirs[1], name));
    }
    const other = await startTestServer("postgres", { dataDir: dataDirs[1], databaseUrl, audit, settings });
    const ids: string[] = [];
    const send = async (server: TestServer) => {
      const { body } = await server.root.submit("update_organization_name", { organizationName: `Name ${ids.length}` });
      ids.push(body.activity.id);
    };
    for (let number = 0; number < 20; number++) await send(number % 2 === 0 ? one : other);
    await one.close();
    for (let number = 0; number < 5; number++) await send(other);
    const told = () => [
      ...new Set(
        activitiesIn(receiver.received.flatMap(({ body }) => linesIn(body))).map(({ activity }) => activity.id),
      ),
    ];
    await until(() => told().length >= ids.length, "every line");
    assert.deepEqual(told(), ids);
    await other.close();
    await receiver.close();
  });
});

describe("a full disk of one server", { skip: !existsSync("/dev/full") && "there is no /dev/full" }, () => {
  it("leaves the lines to another server on the database, and is told of there alone where it is", async () => {
    const dataDirs = [mkdtempSync(join(root, "d-")), mkdtempSync(join(root, "d-"))] as const;
    const databaseUrl = await freshDatabaseUrl("postgres", dataDirs[0], MIGRATED_DATABASE);
    const [full, path] = [newPath(), newPath()];
    symlinkSync("/dev/full", full);
    const auditTo = (file: string) => ({ file: { path: file }, whenFull: "block" });
    const one = await startTestServer("postgres", { dataDir: dataDirs[0], databaseUrl, audit: auditTo(full) });
    const { body } = await one.root.submit("update_organization_name", { organizationName: "Before" });
    const ids = [body.activity.id];
    await until(async () => (await readyz(one)).body.audit.file.status === "failing", "the disk to be full");
    for (const name of ["root.key", "credentials.json"]) {
      symlinkSync(join(dataDirs[0], name), join(dataDirs[1], name));
    }
    const other = await startTestServer("postgres", { dataDir: dataDirs[1], databaseUrl, audit: auditTo(path) });
    for (let number = 0; number < 5; number++) {
      const answer = await one.root.submit("update_organization_name", { organizationName: `Name ${number}` });
      ids.push(answer.body.activity.id);
    }
    const told = () => activitiesIn(linesOf(path)).map(({ activity }) => activity.id);
    await until(() => told().length === ids.length, "the other server to have delivered them");
    assert.deepEqual(told(), ids);
    assert.equal((await readyz(other)).body.audit.file.status, "delivering");
    await until(async () => (await readyz(one)).body.audit.file.status === "delivering", "the warning to end");
    await one.close();
    await other.close();
  });
});

describe("lines that wait, of a database that is copied to another engine", () => {
  for (const [from, to] of [
    ["sqlite", "postgres"],
    ["postgres", "sqlite"],
  ] as const) {
    it(`come before those that are stored there (${from} to ${to})`, async () => {
      const folders = [mkdtempSync(join(root, "c-")), mkdtempSync(join(root, "c-"))] as const;
      const urls = [await freshDatabaseUrl(from, folders[0]), await freshDatabaseUrl(to, folders[1])] as const;
      const add = (database: Database, line: string) =>
        database.transact("o", (tx) => addLine(tx, { sink: "file", organizationId: "o", line, now: 0 }));
      const first = openDatabase({ url: urls[0] });
      await first.migrate();
      for (const line of ["1", "2", "3"]) await add(first, line);
      await first.close();
      await copyDatabase({ from: urls[0], to: urls[1], onProgress: () => {}, warn: () => {} });
      const second = openDatabase({ url: urls[1] });
      for (const line of ["4", "5"]) await add(second, line);
      const lines = await nextLines(second.read, { sink: "file", limit: 10 });
      assert.deepEqual(
        lines.map(({ line }) => line),
        ["1", "2", "3", "4", "5"],
      );
      await second.close();
    });
  }
});
