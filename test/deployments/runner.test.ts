import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { MAX_FRAME_BYTES, MAX_LOG_LINE_LENGTH, MAX_LOG_LINES, MAX_SHOWN_LOG_BYTES } from "../../src/kernel/limits.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { LocalRunner } from "../../src/runner/client.ts";
import { isHealthy } from "../../src/runner/process/health.ts";
import { ReplicaLog } from "../../src/runner/process/log.ts";
import type { Program, Replica } from "../../src/runner/runner.ts";
import type { Client, Json } from "../support/client.ts";
import { appParams, approvalParams, deploymentParams, newOperator } from "../support/deployments.ts";
import { reservePort, usersOfTests } from "../support/ports.ts";
import { httpProgram, parentOf, programFolder, requestAs } from "../support/program.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { createWorld } from "../support/world.ts";

const isRoot = process.getuid?.() === 0;
const isRunning = (pid: number): boolean => {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
};

for (const engine of oneEngine("sqlite")) {
  describe(`the local runner (${engine})`, () => {
    const folder = programFolder();
    const alice = newOperator("alice");
    let server: TestServer;
    let client: Client;
    let app: Json;
    let users: { firstUid?: number };

    before(async () => {
      users = await usersOfTests();
      server = await startTestServer(engine, {
        tvc: { runner: "local", directory: folder.directory, ...users },
      });
      client = (await createWorld(server)).root.client;
      app = await client.result("create_tvc_app", appParams([alice]));
    });
    after(async () => {
      await server.close();
      folder.remove();
    });

    const deploy = async (name: string, more: Json = {}): Promise<Json> => {
      const port = await reservePort();
      const params = await deploymentParams(app.appId, httpProgram(folder.node, name), {
        healthCheckPort: port,
        publicIngressPort: port,
        replicas: 1,
        nonce: port,
        ...more,
      });
      const made = { ...app, port, ...(await client.result("create_tvc_deployment", params)) };
      await client.result("create_tvc_manifest_approvals", await approvalParams(client, made, [alice]));
      return made;
    };
    const statusOf = async ({ deploymentId }: Json): Promise<Json> => {
      const { appStatus } = await client.read("get_app_status", { appId: app.appId });
      return appStatus.deployments.find((each: Json) => each.deploymentId === deploymentId);
    };
    const ready = (deployment: Json, count: number) =>
      until(async () => (await statusOf(deployment)).readyReplicas === count, `${count} replicas to be ready`);
    const ask = (path: string, options = {}) =>
      requestAs(server.baseUrl, `app-${app.appId}.tvc.localhost`, path, options);
    const logsOf = async ({ deploymentId }: Json, more: object = {}): Promise<Json[]> =>
      (await client.read("get_tvc_deployment_debug_logs", { deploymentId, ...more })).entries;

    let first: Json;
    let second: Json;
    it("runs what is approved, and passes requests to the app's domain on to it", async () => {
      first = await deploy("first");
      await ready(first, 1);
      const answer = await ask("/greet?x=1", { method: "POST", body: "hello", headers: { "x-mine": "1" } });
      assert.equal(answer.status, 201);
      assert.equal(answer.headers["x-program"], "first");
      const { name, args, method, url, body, headers, environment, cwd, uid, groups } = answer.body;
      assert.deepEqual([name, method, url, body], ["first", "POST", "/greet?x=1", "hello"]);
      assert.deepEqual(args, ["--greeting", "hello"]);
      assert.equal(headers["x-mine"], "1");
      assert.equal(headers["x-forwarded-for"], "127.0.0.1");
      // Nothing of the server's environment; a shell adds PWD and the like.
      assert.deepEqual(
        environment.filter((each: string) => !["PWD", "SHLVL", "_", "OLDPWD"].includes(each)),
        ["HOME", "PATH", "TMPDIR"],
      );
      assert.ok(cwd.startsWith(folder.directory));
      if (isRoot) {
        assert.equal(uid, users.firstUid);
        assert.deepEqual(groups, [uid]);
      }
    });

    it("is what everybody else on the listener notices nothing of", async () => {
      assert.equal((await ask("/public/v1/query/whoami", { method: "POST" })).body.name, "first");
      const host = "app-00000000-0000-7000-8000-000000000000.tvc.localhost";
      assert.equal((await requestAs(server.baseUrl, host, "/")).status, 404);
      assert.equal((await requestAs(server.baseUrl, "app-x.tvc.localhost", "/healthz")).status, 200);
      await client.read("whoami");
    });

    it("passes a body on as one, whatever its method and its sender say", async () => {
      const body = "GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n";
      const length = String(body.length);
      const framings: Record<string, string>[] = [
        { "transfer-encoding": "chunked" },
        { "content-length": length },
        { "content-length": length, connection: "content-length, host, x-named" },
      ];
      for (const method of ["GET", "DELETE", "POST"]) {
        for (const headers of framings) {
          const answer = await ask("/whole", { method, body, headers: { ...headers, "x-named": "1" } });
          assert.deepEqual([answer.body.method, answer.body.url, answer.body.body], [method, "/whole", body]);
          assert.equal(answer.body.headers.host, `app-${app.appId}.tvc.localhost`);
          assert.equal("x-named" in answer.body.headers, headers.connection === undefined);
        }
      }
      assert.equal((await ask("/next")).body.url, "/next");
    });

    it("answers for a program that gives what is no answer", async () => {
      const heads = [
        "099 Odd",
        "000 None",
        "101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x",
        "100 Continue",
      ];
      for (const head of heads) {
        const raw = Buffer.from(`HTTP/1.1 ${head}\r\n\r\n`).toString("hex");
        const answer = await ask(`/raw/${raw}`);
        assert.deepEqual([answer.status, answer.body.message], [502, "the app did not answer"], head);
      }
      assert.equal((await ask("/next")).status, 201);
    });

    it("starts a program again whenever it ends, and tells that it is not healthy", async () => {
      const { pid } = (await ask("/end")).body;
      await until(() => !isRunning(pid), "the program to have ended");
      await until(async () => {
        const { status, body } = await ask("/");
        return status === 201 && body.pid !== pid;
      }, "the program to be back");
      await ready(first, 1);
      await ask("/be/500");
      await ready(first, 0);
      assert.equal((await ask("/")).status, 503);
      await fetch(`http://127.0.0.1:${first.port}/be/200`);
      await ready(first, 1);
    });

    it("runs each replica at an address of its own, in turns, and shows their logs in debug mode alone", async () => {
      await fails(client, "get_tvc_deployment_debug_logs", first, /not in debug mode/);
      second = await deploy("second", { replicas: 2, debugMode: true });
      await ready(second, 2);
      await client.result("set_tvc_app_live_deployment", { deploymentId: second.deploymentId });
      const replicas = [(await ask("/a")).body, (await ask("/b")).body];
      assert.deepEqual(
        replicas.map(({ name }) => name),
        ["second", "second"],
      );
      assert.deepEqual(replicas.map(({ replica }) => replica).sort(), [1, 2]);
      await until(async () => (await logsOf(second)).some(({ line }) => line.content === "GET /b"), "the log");
      const entries = await logsOf(second);
      assert.equal(entries.filter(({ line }) => line.content === "listening").length, 2);
      assert.deepEqual(
        new Set(entries.map(({ replicaLabel }) => replicaLabel)),
        new Set(["replica 1/2", "replica 2/2"]),
      );
      const times = entries.map(({ line: { ts } }) => Number(ts.seconds) * 1e9 + Number(ts.nanos));
      assert.deepEqual(
        times,
        times.toSorted((a, b) => a - b),
      );
      assert.equal((await logsOf(second, { tailLines: 1 })).length, 2);
      assert.ok((await logsOf(second, { sinceSeconds: "100000" })).length >= 4);
    });

    it("shows the newest of long logs, and nothing ends for the others", async () => {
      const pids = () => Promise.all([ask("/"), ask("/")]).then((both) => both.map(({ body }) => body.pid).sort());
      const before = await pids();
      // Far more than what the server and the runner say to each other in one go.
      const path = `/write/${MAX_LOG_LINES}/${MAX_LOG_LINE_LENGTH}`;
      await Promise.all([ask(path), ask(path)]);
      const isWritten = ({ line }: Json) => line.content === `GET ${path}`;
      const last = () => logsOf(second, { tailLines: 1 });
      await until(async () => (await last()).filter(isWritten).length === 2, "both logs");
      const entries = await logsOf(second);
      const shown = entries.filter(({ line }) => line.content === "\u0001".repeat(MAX_LOG_LINE_LENGTH));
      assert.ok(shown.length > 10, `${shown.length} lines`);
      assert.ok(Buffer.byteLength(JSON.stringify(entries)) < 2 * MAX_SHOWN_LOG_BYTES);
      assert.deepEqual(await pids(), before);
    });

    it("stops what is deleted, and runs it again when it is restored", async () => {
      const { deploymentId } = first;
      const { pid } = (await (await fetch(`http://127.0.0.1:${first.port}/`)).json()) as Json;
      await client.result("delete_tvc_deployment", { deploymentId });
      await until(() => !isRunning(pid), "the program to be stopped");
      assert.equal(await statusOf(first), undefined);
      await client.result("restore_tvc_deployment", { deploymentId });
      await ready(first, 1);
      await client.result("set_tvc_app_live_deployment", { deploymentId });
      assert.equal((await ask("/")).body.name, "first");
    });

    it("never runs a program whose digest is not the approved one", async () => {
      const other = await deploy("other", { expectedPivotDigest: "ab".repeat(32) });
      await until(() => server.log().includes(`but ${"ab".repeat(32)} was approved`), "the refusal to be logged");
      assert.equal((await statusOf(other)).readyReplicas, 0);
      assert.ok(!existsSync(join(folder.directory, "programs", "ab".repeat(32))));
      const { deploymentId } = other;
      const { status, body } = await client.submit("set_tvc_app_live_deployment", { deploymentId });
      assert.equal(status, 400);
      assert.match(body.message, /none of its replicas is ready/);
    });

    it("is back after it was killed, and no program of before is left", async () => {
      const { pid } = (await ask("/")).body;
      const runner = parentOf(pid);
      process.kill(runner, "SIGKILL");
      await until(async () => {
        const answer = await ask("/");
        return answer.status === 201 && answer.body.pid !== pid;
      }, "another runner to run it");
      assert.ok(!isRunning(pid));
      await ready(first, 1);
    });

    it("runs no row that was edited by hand, and its state says why", async () => {
      const edited = await deploy("edited");
      await ready(edited, 1);
      const { organizationId } = client;
      const { deploymentId } = edited;
      const { database } = server.opened;
      const change = (values: object) =>
        database.transact(organizationId, async (tx) => {
          await tx
            .updateTable("tvc_deployments")
            .set(values)
            .where("organization_id", "=", organizationId)
            .where("id", "=", deploymentId)
            .execute();
        });
      const refusedFor = (pattern: RegExp) =>
        until(async () => {
          const { readyReplicas, refusalReason = "" } = await statusOf(edited);
          return readyReplicas === 0 && pattern.test(refusalReason);
        }, `${pattern} to be the reason`);
      const stored = await database.read
        .selectFrom("tvc_deployments")
        .select(["pivot_args", "pivot_digest"])
        .where("organization_id", "=", organizationId)
        .where("id", "=", deploymentId)
        .executeTakeFirstOrThrow();
      const edits: [object, RegExp][] = [
        [{ pivot_args: '["--leave"]' }, /list of arguments/],
        [{ pivot_digest: "0".repeat(64) }, /program's digest/],
      ];
      for (const [values, pattern] of edits) {
        await change(values);
        await refusedFor(pattern);
        await change(stored);
        await ready(edited, 1);
        assert.equal("refusalReason" in (await statusOf(edited)), false);
      }
      await client.result("delete_tvc_deployment", { deploymentId });
      await database.transact(organizationId, async (tx) => {
        await tx
          .deleteFrom("tvc_manifest_approvals")
          .where("organization_id", "=", organizationId)
          .where("deployment_id", "=", deploymentId)
          .execute();
      });
      await change({ pivot_args: "[]" });
      await client.result("restore_tvc_deployment", { deploymentId });
      await refusedFor(/valid approvals from 0 members of the manifest set, but requires 1/);
      await client.result("delete_tvc_deployment", { deploymentId });
    });

    it("ends with the server, and so do its programs", async () => {
      const { pid } = (await ask("/")).body;
      await server.close();
      await until(() => !isRunning(pid), "the program to be stopped");
      assert.deepEqual(readdirSync(join(folder.directory, "processes")), []);
    });
  });
}

describe("the local runner by itself", () => {
  const folder = programFolder();
  let lines: string[];
  let runner: LocalRunner;
  let times = 0;
  beforeEach(async () => {
    lines = [];
    const directory = `${folder.directory}-${++times}`;
    mkdirSync(directory, { mode: 0o711 });
    const settings = { directory, firstUid: (await usersOfTests()).firstUid };
    runner = new LocalRunner(settings, createLogger("debug", { write: (line: string) => void lines.push(line) }));
  });
  afterEach(() => runner.close());
  after(() => folder.remove());

  const programOf = async (deploymentId: string, more: Partial<Program> = {}): Promise<Program> => {
    const port = await reservePort();
    const bytes = httpProgram(folder.node, deploymentId);
    const file = join(folder.folder, deploymentId);
    writeFileSync(file, bytes, { mode: 0o755 });
    const digest = createHash("sha256").update(bytes).digest("hex");
    const healthCheck = { kind: "http", port } as const;
    return { deploymentId, file, digest, args: [], replicas: 1, healthCheck, publicIngressPort: port, ...more };
  };
  const ready = async (deploymentId: string): Promise<Replica> => {
    const isReady = () => runner.replicasOf(deploymentId)?.every((replica) => replica.isReady) === true;
    await until(isReady, `${deploymentId} to be ready`);
    return runner.replicasOf(deploymentId)?.[0] as Replica;
  };

  const isNothingOf = (deploymentId: string) => runner.replicasOf(deploymentId) === undefined;

  it("goes on with what it was told where it cannot be told more", async () => {
    const large = await programOf("large", { args: ["x".repeat(MAX_FRAME_BYTES)] });
    runner.run([large]);
    assert.match(lines.join(""), /cannot be told what to run/);
    const small = await programOf("small");
    runner.run([small]);
    const { pid } = await ready("small");
    for (const _ of ["once", "again"]) assert.throws(() => runner.run([small, large]), /over the limit/);
    runner.run([small]);
    const another = await programOf("another");
    runner.run([small, another]);
    await ready("another");
    assert.equal((await ready("small")).pid, pid);
  });

  it("begins what is wanted again when it has ended, in a folder that stays", async () => {
    const program = await programOf("again", { args: ["--stubborn"] });
    runner.run([program]);
    const before = await ready("again");
    runner.run([]);
    await until(() => isNothingOf("again"), "it to be stopped");
    runner.run([program]);
    await askAt(before, program, "/end");
    const since = await ready("again");
    assert.notEqual(since.pid, before.pid);
    // Neither its address nor its folder was another's meanwhile.
    assert.equal(since.address, before.address);
    assert.ok(existsSync((await askAt(since, program)).cwd));
    runner.run([]);
    await until(() => isNothingOf("again"), "it to be stopped");
    await askAt(since, program, "/end");
  });

  // Without users of their own nothing tells whose processes these are.
  if (isRoot) {
    it("ends with a program whatever it began, also after a runner that was killed", async () => {
      const program = await programOf("leaving", { args: ["--leave"] });
      runner.run([program]);
      const { pid, left, oomScore } = await askAt(await ready("leaving"), program);
      assert.equal(oomScore, 1000);
      assert.ok(isRunning(left));
      process.kill(runner.pid as number, "SIGKILL");
      await until(() => !isRunning(pid) && !isRunning(left), "both to be ended");
      const again = await askAt(await ready("leaving"), program);
      assert.ok(isRunning(again.left));
      runner.run([]);
      await until(() => !isRunning(again.left), "it to be ended");
    });
  }

  it("does not wait for a health check that never ends", async () => {
    const trickle = createServer((socket) => {
      socket.write("HTTP/1.1 200 OK\r\n");
      const timer = setInterval(() => socket.write("x-more: 1\r\n"), 50);
      socket.on("close", () => clearInterval(timer)).on("error", () => {});
    });
    await once(trickle.listen(0, "127.0.0.1"), "listening");
    const { port } = trickle.address() as AddressInfo;
    assert.equal(await isHealthy({ kind: "http", port }, "127.0.0.1"), false);
    trickle.close();
  });

  it("keeps the last lines of a flood of them, and looks at no others", () => {
    const length = 64 * 1024;
    let looked = 0;
    class CountingLog extends ReplicaLog {
      override write(content: string): void {
        looked++;
        super.write(content);
      }
    }
    const log = new CountingLog(1);
    const output = new PassThrough();
    log.keep(output);
    const texts = ["\n".repeat(length), "begun", `, ended\n${"x\n".repeat(length)}`, "last\nopen"];
    for (const text of texts) output.write(text);
    const expected = [...Array.from({ length: MAX_LOG_LINES - 1 }, () => "x"), "last"];
    const contents = (count: number) => log.last(count).map(({ content }) => content);
    assert.deepEqual(contents(0), expected);
    assert.deepEqual(contents(1), ["last"]);
    assert.ok(looked <= texts.length * MAX_LOG_LINES, `${looked} lines`);
  });

  it("keeps no more than twice what can be shown, however long the lines are", () => {
    const log = new ReplicaLog(1);
    const bytesOf = () => log.last(0).reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);
    // Three bytes for each character.
    const long = "\u20ac".repeat(MAX_LOG_LINE_LENGTH);
    let most = 0;
    for (let line = 0; line < MAX_LOG_LINES; line++) {
      log.write(long);
      most = Math.max(most, bytesOf());
    }
    assert.ok(most <= 2 * MAX_SHOWN_LOG_BYTES, `${most} bytes`);
    assert.ok(bytesOf() >= MAX_SHOWN_LOG_BYTES - 2 * Buffer.byteLength(long), "and not much less than can be shown");
    log.write("last");
    assert.equal(log.last(1)[0]?.content, "last");
  });
});

const askAt = async ({ address }: Replica, { publicIngressPort: port }: Program, path = "/"): Promise<Json> =>
  (await (await fetch(`http://${address}:${port}${path}`)).json()) as Json;

async function fails(client: Client, path: string, { deploymentId }: Json, pattern: RegExp): Promise<void> {
  const { status, body } = await client.query(path, { deploymentId });
  assert.equal(status, 400);
  assert.match(body.message, pattern);
}
