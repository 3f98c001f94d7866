import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { MAX_BODY_BYTES, MAX_HELD_BODY_BYTES, MAX_SHARE_OF_ONE_ADDRESS } from "../../src/kernel/limits.ts";
import type { Client } from "../support/client.ts";
import { residentBytes } from "../support/resident-bytes.ts";
import { sendFrom } from "../support/send-from.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { type ServerProcess, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** What connections can make the server hold, and what that does to somebody else's requests. */

/** What a collector leaves lying for a while, and the documentation's own script, loaded with the first visit. */
const MAX_GROWTH_BYTES = 200 * 1024 * 1024;
const SILENT = 260;

function openTo(baseUrl: string, localAddress = "127.0.0.1"): Promise<Socket> {
  const socket = connect({ port: Number(new URL(baseUrl).port), host: "127.0.0.1", localAddress });
  socket.on("error", () => {});
  return once(socket, "connect").then(() => socket);
}

const closedOf = (sockets: readonly Socket[]): number => sockets.filter(({ destroyed }) => destroyed).length;

/** Somebody else is served meanwhile. */
async function assertServed(root: Client, localAddress: string, body = whoamiBody(root)): Promise<void> {
  const answer = await sendFrom(localAddress, root, "/public/v1/query/whoami", body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
}

const whoamiBody = (client: Client): string => JSON.stringify({ organizationId: client.organizationId });

describe("a client that reads nothing", () => {
  let server: ServerProcess;
  before(async () => {
    server = await startServerProcess({ dataDir: temporaryFolder() });
  });
  after(() => server.end("SIGKILL"));

  it("costs no more than one answer, however much it asks for", async () => {
    const page = await (await fetch(`${server.baseUrl}/docs/`)).text();
    const [, script] = /<script src="([^"]+)"/.exec(page) ?? [];
    const request = `GET /docs/${script} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    const early = residentBytes(server.pid);
    for (const count of [16, Math.ceil(13_000 / request.length), 2000]) {
      const socket = await openTo(server.baseUrl);
      socket.pause().write(request.repeat(count));
      // An answer to somebody else, so that what was written before it has been looked at.
      assert.equal((await server.root.query("whoami")).status, 200);
      const growth = residentBytes(server.pid) - early;
      assert.ok(growth < MAX_GROWTH_BYTES, `${count} requests: memory grew by ${growth} bytes`);
      socket.destroy();
    }
  });
});

it("connections to the port of the auth proxy count with all others", async (test) => {
  const settings = { KEYSTEAD_MAX_CONNECTIONS: "10", KEYSTEAD_AUTH_PROXY_PORT: "0" };
  const server = await startTestServer("sqlite", { settings });
  test.after(() => server.close());
  const sockets: Socket[] = [];
  for (let opened = 0; opened < 20; opened++) {
    sockets.push((await openTo(opened % 2 === 0 ? server.baseUrl : server.authProxyUrl)).resume());
  }
  await until(() => closedOf(sockets) >= 10, "those over the bound to be closed");
  await assertServed(server.root, "127.0.0.2");
  for (const socket of sockets) socket.destroy();
});

describe("silent connections", () => {
  let server: TestServer;
  before(async () => {
    const settings = { KEYSTEAD_MAX_CONNECTIONS: "120", KEYSTEAD_MAX_CONNECTIONS_PER_ADDRESS: "100" };
    server = await startTestServer("sqlite", { settings });
  });
  after(() => server.close());

  it("shut nobody out, neither at their own address nor at another", async () => {
    const sockets: Socket[] = [];
    for (let opened = 0; opened < SILENT; opened++) {
      const socket = await openTo(server.baseUrl, opened % 2 === 0 ? "127.0.0.1" : "127.0.0.2");
      sockets.push(socket.resume());
    }
    for (const address of ["127.0.0.1", "127.0.0.2", "127.0.0.3"]) {
      await assertServed(server.root, address);
    }
    await until(() => closedOf(sockets) >= SILENT - 120, "those over the bound to be closed");
    for (const socket of sockets) socket.destroy();
  });

  it("end when no headers come in time", async () => {
    const socket = await openTo(server.baseUrl);
    socket.write("POST /public/v1/query/whoami HTTP/1.1\r\nHost: localhost\r\nX-Sl");
    let answer = "";
    socket.on("data", (data) => {
      answer += data;
    });
    await once(socket, "close");
    assert.match(answer, /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*its headers within/);
  });
});

describe("bodies that do not arrive", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer("sqlite");
  });
  after(() => server.close());

  const largeBody = (client: Client): string =>
    JSON.stringify({ organizationId: client.organizationId, filler: "x".repeat(MAX_BODY_BYTES / 2) });

  it("take a part of the room for large ones, and none of that for small ones", async () => {
    const { root, baseUrl } = server;
    const head = [
      "POST /public/v1/query/whoami HTTP/1.1",
      "Host: localhost",
      `X-Stamp: ${root.stamp("another body")}`,
      "Expect: 100-continue",
    ].join("\r\n");
    const sockets: Socket[] = [];
    const openBody = async (framing: string) => {
      const socket = await openTo(baseUrl);
      sockets.push(socket);
      socket.write(`${head}\r\n${framing}\r\n\r\n`);
      await once(socket, "data");
      return socket;
    };
    const share = MAX_HELD_BODY_BYTES * MAX_SHARE_OF_ONE_ADDRESS;
    for (let held = 0; held + MAX_BODY_BYTES < share; held += MAX_BODY_BYTES) {
      await openBody(`Content-Length: ${MAX_BODY_BYTES}`);
    }
    // One that does not say how long it will be takes as much.
    const chunked = await openBody("Transfer-Encoding: chunked");
    chunked.write(`40000\r\n${"x".repeat(0x40000)}\r\n`);

    const refusal = async () => root.post("/public/v1/query/whoami", largeBody(root));
    await until(async () => (await refusal()).status === 429, "the share to be used up");
    const refused = await refusal();
    assert.equal(refused.body.turnkeyErrorCode, "RATE_LIMIT_EXCEEDED");
    assert.match(
      refused.body.message,
      /^Too many requests\. Please wait and try again in a few seconds: too many large/,
    );
    assert.equal(refused.headers.get("retry-after"), "1");
    await assertServed(root, "127.0.0.1");
    await assertServed(root, "127.0.0.2", largeBody(root));

    for (const socket of sockets) socket.destroy();
    await until(async () => (await refusal()).status === 200, "their room to be free again");
  });
});
