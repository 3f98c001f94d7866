import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { testPostgresUrl } from "../support/server.ts";
import {
  childrenOf,
  isRunning,
  type ServerProcess,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

/** SIGTERM and SIGINT: what was begun is answered, nothing new is taken, and the server ends in time. */

/** The server promises ten seconds; the rest is for a busy machine. */
const DEADLINE_MS = 10_000;
const GRACE_MS = 5_000;

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
      const start = performance.now();
      const ended = server.end(signal);
      await until(() => isRefused(server), "new connections to be refused");
      assert.ok(isRunning(server.pid), "it waits for the open request");
      const answer = await request.finish();
      assert.match(answer, /^HTTP\/1\.1 200 OK/);
      assert.match(answer, /ACTIVITY_STATUS_COMPLETED/);
      assert.deepEqual(await ended, { code: 0, signal: null });
      assert.ok(performance.now() - start < DEADLINE_MS);
      assert.ok(!isRunning(signer as number));
    });
  }

  it("does not wait for connections that are kept alive", async () => {
    const server = await startServerProcess({ dataDir: temporaryFolder() });
    const socket = connectTo(server.baseUrl);
    socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(socket, "data");
    const start = performance.now();
    assert.deepEqual(await server.end("SIGTERM"), { code: 0, signal: null });
    assert.ok(performance.now() - start < GRACE_MS);
    socket.destroy();
  });

  it("cuts off at the deadline what never ends", async () => {
    const server = await startServerProcess({ dataDir: temporaryFolder() });
    const { socket } = await openRequest(server);
    const start = performance.now();
    assert.deepEqual(await server.end("SIGTERM"), { code: 0, signal: null });
    const tookMs = performance.now() - start;
    assert.ok(tookMs > DEADLINE_MS - 1000 && tookMs < DEADLINE_MS + GRACE_MS, `it took ${tookMs} ms`);
    assert.match(server.stdout(), /cut off at the drain deadline/);
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
    const start = performance.now();
    assert.deepEqual(await server.end("SIGTERM"), { code: 0, signal: null });
    assert.ok(performance.now() - start < DEADLINE_MS + GRACE_MS);
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
