import assert from "node:assert/strict";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { DRAIN_DEADLINE_MS } from "../../src/kernel/limits.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { testPostgresUrl } from "../support/server.ts";
import {
  childrenOf,
  isRunning,
  KEYSTEAD,
  type ServerProcess,
  signerOf,
  spawnKeystead,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

/** SIGTERM and SIGINT: what was begun is answered, nothing new is taken, and the server ends in time. */

const CUT_OFF = /cut off at the drain deadline/;

interface OpenRequest {
  socket: Socket;
  /** Sends the rest of the body and resolves to the whole answer. */
  finish(): Promise<string>;
}

/** A request whose headers the server has read and whose body it waits for. */
async function openRequest({ baseUrl, root }: ServerProcess): Promise<OpenRequest> {
  const body = root.submitBody("create_user_tag", { userTagName: "begun before the end", userIds: [] });
  const socket = connectTo(baseUrl);
  const head = [
    "POST /public/v1/submit/create_user_tag HTTP/1.1",
    "Host: localhost",
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Stamp: ${root.stamp(body)}`,
    // The server answers this as soon as the request is its business.
    "Expect: 100-continue",
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  const [first] = await once(socket, "data");
  assert.match(String(first), /^HTTP\/1\.1 100 Continue/);
  return {
    socket,
    finish: async () => {
      let answer = "";
      socket.on("data", (chunk) => {
        answer += chunk;
      });
      socket.write(body);
      await once(socket, "close");
      return answer;
    },
  };
}

function connectTo(baseUrl: string): Socket {
  const socket = connect(Number(new URL(baseUrl).port), "127.0.0.1");
  socket.on("error", () => {});
  return socket;
}

const isRefused = ({ baseUrl }: ServerProcess): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connectTo(baseUrl);
    socket.once("connect", () => {
      socket.destroy();
      resolve(false);
    });
    socket.once("error", () => resolve(true));
  });

describe("a server that is told to stop", { concurrency: true }, () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    it(`answers what is open and takes nothing new: ${signal}`, async () => {
      const server = await startServerProcess({ dataDir: temporaryFolder() });
      const [signer] = childrenOf(server.pid);
      const request = await openRequest(server);
      const ended = server.end(signal);
      await until(() => isRefused(server), "new connections to be refused");
      assert.ok(isRunning(server.pid), "it waits for the open request");
      const answer = await request.finish();
      assert.match(answer, /^HTTP\/1\.1 200 OK/);
      assert.match(answer, /ACTIVITY_STATUS_COMPLETED/);
      assert.deepEqual(await ended, { code: 0, signal: null });
      assert.doesNotMatch(server.stdout(), CUT_OFF);
      assert.ok(!isRunning(signer as number));
    });
  }

  it("does not wait for connections that are kept alive", async () => {
    const server = await startServerProcess({ dataDir: temporaryFolder() });
    const socket = connectTo(server.baseUrl);
    socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(socket, "data");
    assert.deepEqual(await server.end("SIGTERM"), { code: 0, signal: null });
    assert.doesNotMatch(server.stdout(), CUT_OFF);
    socket.destroy();
  });

  it("says first that it stops, and goes on answering for a while", async () => {
    const settings = { KEYSTEAD_SHUTDOWN_DELAY_SECONDS: "600" };
    const server = await startServerProcess({ dataDir: temporaryFolder(), settings });
    const ready = async () => fetch(`${server.baseUrl}/readyz`);
    await until(async () => (await ready()).status === 200, "it to be ready");
    const ended = server.end("SIGTERM");
    await until(async () => {
      const { status, reasons = {} } = (await (await ready()).json()) as { status: string; reasons?: object };
      return status === "not ready" && "server" in reasons;
    }, "it to be not ready");
    const answer = await server.root.submit("create_user_tag", { userTagName: "on the way out", userIds: [] });
    assert.deepEqual([answer.status, answer.headers.get("connection")], [200, "close"]);
    process.kill(server.pid, "SIGTERM");
    assert.deepEqual(await ended, { code: 1, signal: null });
  });

  it("ends in good order after that while, and logs both", async () => {
    const settings = { KEYSTEAD_SHUTDOWN_DELAY_SECONDS: "1" };
    const server = await startServerProcess({ dataDir: temporaryFolder(), settings });
    assert.deepEqual(await server.end("SIGTERM"), { code: 0, signal: null });
    assert.match(server.stdout(), /"delayMs":1000,"msg":"stopping"[\s\S]*"msg":"stopped"/);
  });

  it("ends in good order when the npx that started it is told to stop", async () => {
    const server = await startServerProcess({ dataDir: temporaryFolder(), byNpx: true });
    // Resolves once nobody is left who could write to its output.
    await server.end("SIGTERM");
    assert.match(server.stdout(), /"msg":"stopped"/);
  });

  it("ends in good order where a disk that takes no writes keeps what is to go", async () => {
    const dataDir = temporaryFolder();
    const server = await startServerProcess({ dataDir });
    // Removing fails here for every user: tests may run as root.
    for (const name of ["first-visit.link", "server.lock.json"]) {
      rmSync(join(dataDir, name));
      mkdirSync(join(dataDir, name));
    }
    assert.deepEqual(await server.end("SIGTERM"), { code: 0, signal: null }, server.stderr());
    assert.match(server.stdout(), /"msg":"stopped"/);
    assert.doesNotMatch(server.stderr(), /Error/);
  });

  it("cuts off at the deadline what never ends", async () => {
    const server = await startServerProcess({ dataDir: temporaryFolder() });
    const { socket } = await openRequest(server);
    const start = performance.now();
    assert.deepEqual(await server.end("SIGTERM"), { code: 0, signal: null });
    assert.ok(performance.now() - start >= DRAIN_DEADLINE_MS, "it had its time");
    assert.match(server.stdout(), CUT_OFF);
    socket.destroy();
  });

  it("does not wait for a database that hangs", async (test) => {
    const url = new URL(await createTestDatabase(testPostgresUrl(), `hangs_${newId().replaceAll("-", "")}`));
    const proxy = await startTcpProxy(Number(url.port));
    test.after(proxy.close);
    url.port = String(proxy.port);
    const server = await startServerProcess({ dataDir: temporaryFolder(), databaseUrl: url.href });
    proxy.stall();
    const request = await openRequest(server);
    const answer = request.finish();
    assert.deepEqual(await server.end("SIGTERM"), { code: 0, signal: null });
    assert.match(server.stdout(), /the database was closed before it had answered everything/);
    assert.match(await answer, /^$|^HTTP\/1\.1 503 /, "told or cut off");
  });

  it("ends at once when told a second time", async () => {
    const server = await startServerProcess({ dataDir: temporaryFolder() });
    const { socket } = await openRequest(server);
    const ended = server.end("SIGTERM");
    await until(() => isRefused(server), "new connections to be refused");
    process.kill(server.pid, "SIGTERM");
    assert.deepEqual(await ended, { code: 1, signal: null });
    socket.destroy();
  });
});

describe("a server that was started under an older Node", { concurrency: true }, () => {
  /** The process that was started; its one child is the server. */
  async function start(): Promise<{ server: ServerProcess; child: number }> {
    const server = await startServerProcess({ dataDir: temporaryFolder(), onOlderNode: true });
    const [child, ...others] = childrenOf(server.pid);
    assert.deepEqual(others, []);
    return { server, child: child as number };
  }

  it("is told of a signal, and counts one that reaches both processes once", async () => {
    const { server, child } = await start();
    const request = await openRequest(server);
    process.kill(child, "SIGINT");
    const ended = server.end("SIGINT");
    await until(() => isRefused(server), "new connections to be refused");
    assert.match(await request.finish(), /^HTTP\/1\.1 200 OK/);
    assert.deepEqual(await ended, { code: 0, signal: null });
    assert.ok(!isRunning(child));
  });

  it("ends at once when told a second time", async () => {
    const { server } = await start();
    const { socket } = await openRequest(server);
    const ended = server.end("SIGTERM");
    await until(() => isRefused(server), "new connections to be refused");
    process.kill(server.pid, "SIGTERM");
    assert.deepEqual(await ended, { code: 1, signal: null });
    socket.destroy();
  });

  it("ends in good order when the process that was started is killed", async () => {
    const { server, child } = await start();
    const request = await openRequest(server);
    process.kill(server.pid, "SIGKILL");
    await until(() => isRefused(server), "new connections to be refused");
    assert.match(await request.finish(), /^HTTP\/1\.1 200 OK/);
    await until(() => !isRunning(child), "the server to end");
  });

  it("leaves the exit status of a command, and a signal that ended it, as they are", async () => {
    const command = (...args: string[]) => spawnKeystead(args, { onOlderNode: true });
    assert.deepEqual(await command("--version").exited, { code: 0, signal: null });
    assert.deepEqual(await command("no-such-command").exited, { code: 1, signal: null });
    const { server, child } = await start();
    process.kill(child, "SIGKILL");
    assert.deepEqual(await server.exited, { code: null, signal: "SIGKILL" });
  });

  it("says what to do where that Node 24 is not installed", async () => {
    const folder = temporaryFolder();
    cpSync(KEYSTEAD, join(folder, "bin", "keystead.mjs"));
    const alone = spawnKeystead(["serve"], { onOlderNode: true, program: join(folder, "bin", "keystead.mjs") });
    assert.deepEqual(await alone.exited, { code: 1, signal: null });
    assert.match(alone.stderr(), /^keystead needs Node 24 or newer; .* Install Node 24, or reinstall Keystead/);
  });
});

const noFullDisk = !existsSync("/dev/full") && "there is no /dev/full";

it("a server whose log and signer have no room for their lines serves, signs and stops", {
  skip: noFullDisk,
}, async () => {
  const server = await startServerProcess({
    dataDir: temporaryFolder(),
    shellPrefix: "exec > /dev/full 2>&1",
  });
  const signer = await signerOf(server);
  const key = { privateKeyName: "k", curve: "CURVE_P256", privateKeyTags: [], addressFormats: [] };
  for (let turn = 0; turn < 3; turn++) {
    const { privateKeys } = await server.root.result("create_private_keys", {
      privateKeys: [{ ...key, privateKeyName: `k${turn}` }],
    });
    await server.root.result("sign_raw_payload", {
      signWith: privateKeys[0].privateKeyId,
      payload: "00",
      encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
      hashFunction: "HASH_FUNCTION_SHA256",
    });
  }
  assert.equal(await signerOf(server), signer, "it is the same signer");
  assert.deepEqual(await server.end("SIGTERM"), { code: 0, signal: null });
});
