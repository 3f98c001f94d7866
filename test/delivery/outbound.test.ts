import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import net, { type AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gunzipSync, gzipSync } from "node:zlib";
import { createOutboundClient, type OutboundOptions, type OutboundRequest } from "../../src/delivery/outbound.ts";
import {
  BYTES_PER_PIECE,
  MAX_ANSWER_PIECES,
  MAX_CONNECTIONS,
  MAX_CONNECTIONS_PER_HOST,
  MAX_INTERIM_ANSWERS,
  MAX_SESSION_TICKETS,
} from "../../src/kernel/limits.ts";
import { failure } from "../support/outbound-failure.ts";
import { reservePort } from "../support/ports.ts";

const pem = (name: string) => readFileSync(new URL(`../support/tls/${name}.pem`, import.meta.url), "utf8");
const key = pem("key");
const valid = pem("valid");
const expired = pem("expired");

/** A listening server, its port, and what reached it; everything is closed after the test. */
async function listening<S extends net.Server>(t: TestContext, server: S, host = "127.0.0.1") {
  const sockets = new Set<net.Socket>();
  const seen = { connections: 0, open: 0, mostOpen: 0 };
  const changes = new EventEmitter();
  server.on("connection", (socket: net.Socket) => {
    seen.connections++;
    seen.open++;
    seen.mostOpen = Math.max(seen.mostOpen, seen.open);
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      seen.open--;
      sockets.delete(socket);
      changes.emit("change");
    });
    changes.emit("change");
  });
  server.listen(0, host);
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const openIs = async (count: number) => {
    while (seen.open !== count) await once(changes, "change");
  };
  return { server, seen, openIs, port: (server.address() as AddressInfo).port };
}

const rawServer = (t: TestContext, onConnection: (socket: net.Socket) => void) =>
  listening(t, net.createServer(onConnection));
const httpServer = (t: TestContext, onRequest: http.RequestListener, host?: string) =>
  listening(t, http.createServer({ keepAliveTimeout: 60_000 }, onRequest), host);
const httpsServer = (t: TestContext, cert: string, onRequest: http.RequestListener) =>
  listening(t, https.createServer({ key, cert }, onRequest));

/** A client that dials this machine for every name, unless `options` say otherwise. */
function clientOf(t: TestContext, options: Partial<OutboundOptions> = {}) {
  const client = createOutboundClient({ allowPrivateNetworks: true, resolver: toLoopback, ...options });
  t.after(() => client.close());
  const get = (url: string, more: Partial<OutboundRequest> = {}) =>
    client.request({ method: "GET", url, timeoutMs: 10_000, maxResponseBytes: 65_536, ...more });
  return { get, close: client.close };
}

/** For deadlines that pass: enough to reach what the receiver does not do, on a busy machine too. */
const PATIENCE_MS = 1500;

const toLoopback = async () => [{ address: "127.0.0.1", family: 4 }];

test("sends the request as given and returns the answer as given", async (t) => {
  const received: { method?: string; url?: string; headers: http.IncomingHttpHeaders; body: string }[] = [];
  const { port } = await httpServer(t, async (request, response) => {
    const { method = "", url = "", headers } = request;
    received.push({ method, url, headers, body: await text(request) });
    response.writeHead(202, { "X-Reply": "yes", "X-List": ["a", "b"], "Set-Cookie": ["a=1", "b=2"] });
    response.end("tak");
  });
  const { get } = clientOf(t);
  const url = `http://hooks.example.com:${port}/hook?a=1`;
  const answer = await get(url, { method: "POST", headers: { "X-Event": "e1" }, body: "blåbær" });
  assert.equal(answer.status, 202);
  assert.equal(answer.body.toString(), "tak");
  assert.equal(answer.truncated, false);
  assert.equal(answer.headers["x-reply"], "yes");
  assert.equal(answer.headers["x-list"], "a, b");
  assert.equal(answer.headers["set-cookie"], undefined);
  assert.ok(Number.isInteger(answer.durationMs) && answer.durationMs >= 0);
  await get(url, { method: "PUT", body: Buffer.from([0x6f, 0x6b]) });

  const [first, second] = received;
  assert.deepEqual([first?.method, first?.url, first?.body], ["POST", "/hook?a=1", "blåbær"]);
  assert.equal(first?.headers.host, `hooks.example.com:${port}`);
  assert.equal(first?.headers["x-event"], "e1");
  assert.equal(first?.headers["content-length"], "8");
  assert.deepEqual([second?.method, second?.body], ["PUT", "ok"]);
  assert.equal(second?.headers.cookie, undefined, "no cookie is kept");
  assert.equal(second?.headers["accept-encoding"], undefined);
});

test("speaks TLS to a trusted certificate, by name and by address", async (t) => {
  const { port } = await httpsServer(t, valid, (_, response) => response.end("hello"));
  const { get } = clientOf(t, { ca: valid });
  for (const host of ["hooks.example.com", "localhost", "127.0.0.1"]) {
    assert.equal((await get(`https://${host}:${port}/`)).body.toString(), "hello", host);
  }
});

test("a bad certificate is a TLS error that says what is bad", async (t) => {
  const good = await httpsServer(t, valid, (_, response) => response.end());
  const old = await httpsServer(t, expired, (_, response) => response.end());
  const plain = await httpServer(t, (_, response) => response.end());
  const trusting = clientOf(t, { ca: valid });
  const wary = clientOf(t);
  const url = (port: number, host = "hooks.example.com") => `https://${host}:${port}/`;

  assert.match(await failure(wary.get(url(good.port)), "tls"), /self-signed/);
  assert.match(await failure(clientOf(t, { ca: expired }).get(url(old.port)), "tls"), /expired/);
  assert.match(await failure(trusting.get(url(good.port, "other.example.com")), "tls"), /another host name/);
  assert.match(await failure(trusting.get(url(plain.port)), "tls"), /does not speak TLS/);
});

test("the environment can switch off neither certificate checks nor the guarded dialing", async (t) => {
  const proxied: string[] = [];
  const proxy = await httpServer(t, (request, response) => {
    proxied.push(request.url ?? "");
    response.end("proxy");
  });
  proxy.server.on("connect", (request, socket) => {
    proxied.push(request.url ?? "");
    socket.destroy();
  });
  const secure = await httpsServer(t, valid, (_, response) => response.end());
  const plain = await httpServer(t, (_, response) => response.end("direct"));
  const script = `
    import { createOutboundClient } from ${JSON.stringify(new URL("../../src/delivery/outbound.ts", import.meta.url))};
    const client = createOutboundClient({ allowPrivateNetworks: true });
    const get = (url) => client.request({ method: "GET", url, timeoutMs: 10000, maxResponseBytes: 100 });
    const { body } = await get("http://localhost:${plain.port}/");
    const kind = await get("https://localhost:${secure.port}/").then(() => "answered", (error) => error.kind);
    await client.close();
    console.log(body.toString(), kind);`;
  const proxyUrl = `http://127.0.0.1:${proxy.port}`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", script], {
    env: { NODE_USE_ENV_PROXY: "1", HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl, NODE_TLS_REJECT_UNAUTHORIZED: "0" },
  });
  assert.equal(stdout, "direct tls\n");
  assert.deepEqual(proxied, []);
});

test("a host has one handshake on a connection", async (t) => {
  let handshakes = 0;
  const server = https.createServer({ key, cert: valid, maxVersion: "TLSv1.2" }, ({ socket }, response) => {
    const again = () => {
      const isAsked = (socket as TLSSocket).renegotiate({}, (error) => {
        if (error) return;
        if (++handshakes < 100) again();
        else response.end();
      });
      if (!isAsked) socket.destroy();
    };
    again();
  });
  server.on("secureConnection", () => void handshakes++);
  const { port } = await listening(t, server);
  const { get } = clientOf(t, { ca: valid });
  await get(`https://localhost:${port}/`, { timeoutMs: PATIENCE_MS }).catch(() => undefined);
  assert.equal(handshakes, 1);
});

const withoutOpenssl = spawnSync("openssl", ["version"]).error ? "openssl is not installed" : false;

test("a host that sends session tickets without end is refused", { skip: withoutOpenssl }, async (t) => {
  const file = (name: string) => fileURLToPath(new URL(`../support/tls/${name}.pem`, import.meta.url));
  const { get } = clientOf(t, { ca: valid });
  for (const tickets of [MAX_SESSION_TICKETS, MAX_SESSION_TICKETS + 1]) {
    const port = await reservePort();
    const server = spawn("openssl", [
      ...["s_server", "-accept", `127.0.0.1:${port}`, "-key", file("key"), "-cert", file("valid")],
      ...["-num_tickets", String(tickets), "-www", "-tls1_3"],
    ]);
    t.after(() => server.kill());
    for await (const line of createInterface(server.stdout)) if (line.startsWith("ACCEPT")) break;
    const answer = get(`https://localhost:${port}/`);
    if (tickets === MAX_SESSION_TICKETS) assert.equal((await answer).status, 200);
    else assert.equal(await failure(answer, "tls"), "the host sent more than 32 TLS session tickets");
  }
});

test("a receiver that never answers costs the deadline and no more", async (t) => {
  const silent = await rawServer(t, (socket) => socket.resume());
  const { get } = clientOf(t, { ca: valid });
  const plain = await failure(get(`http://127.0.0.1:${silent.port}/`, { timeoutMs: PATIENCE_MS }), "timeout");
  assert.equal(plain, "gave up after 1500 ms: no answer had begun");
  const secure = await failure(get(`https://127.0.0.1:${silent.port}/`, { timeoutMs: PATIENCE_MS }), "timeout");
  assert.equal(secure, "gave up after 1500 ms: the TLS handshake was not finished");
  await silent.openIs(0);
});

test("the deadline covers DNS", async (t) => {
  const { get } = clientOf(t, { resolver: () => new Promise(() => undefined) });
  const message = await failure(get("http://hooks.example.com/", { timeoutMs: 50 }), "timeout");
  assert.equal(message, "gave up after 50 ms: the host name was still being resolved");
});

/** Writes `piece` again and again until the connection is gone. */
function drip(socket: net.Socket, piece: string): void {
  const timer = setInterval(() => socket.write(piece), 5);
  socket.on("close", () => clearInterval(timer));
}

test("an answer that comes byte by byte does not outlast the deadline", async (t) => {
  const inBody = await rawServer(t, (socket) => {
    socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
    drip(socket, "x");
  });
  const inHeaders = await rawServer(t, (socket) => {
    socket.write("HTTP/1.1 200 OK\r\nX-Slow: ");
    drip(socket, "x");
  });
  const inInterim = await rawServer(t, (socket) => {
    socket.write(`${"HTTP/1.1 102 Processing\r\n\r\n".repeat(MAX_INTERIM_ANSWERS)}HTTP/1.1 102 Pro`);
    drip(socket, "x");
  });
  const { get } = clientOf(t);
  const body = await failure(get(`http://127.0.0.1:${inBody.port}/`, { timeoutMs: PATIENCE_MS }), "timeout");
  assert.equal(body, "gave up after 1500 ms: the answer was not finished");
  for (const { port } of [inHeaders, inInterim]) {
    const message = await failure(get(`http://127.0.0.1:${port}/`, { timeoutMs: PATIENCE_MS }), "timeout");
    assert.equal(message, "gave up after 1500 ms: no answer had begun");
  }
  await Promise.all([inBody.openIs(0), inHeaders.openIs(0), inInterim.openIs(0)]);
});

test("of a body of 1 GB only the first bytes are read", async (t) => {
  const chunk = Buffer.alloc(65_536, "x");
  let written = 0;
  const { port, openIs } = await httpServer(t, (_, response) => {
    response.writeHead(200, { "content-length": 2 ** 30 });
    const more = (): void => {
      while (!response.destroyed && written < 2 ** 30) {
        written += chunk.length;
        if (!response.write(chunk)) return void response.once("drain", more);
      }
    };
    more();
  });
  const { get } = clientOf(t);
  const before = process.memoryUsage().rss;
  const answer = await get(`http://127.0.0.1:${port}/`, { maxResponseBytes: 1000 });
  assert.equal(answer.status, 200);
  assert.equal(answer.truncated, true);
  assert.equal(answer.body.toString(), "x".repeat(1000));
  await openIs(0);
  assert.ok(written < 2 ** 26, `${written} bytes were written`);
  assert.ok(process.memoryUsage().rss - before < 2 ** 26, "memory stays flat");
});

test("a body is cut exactly behind maxResponseBytes, whatever its framing", async (t) => {
  const { port } = await httpServer(t, (request, response) => {
    if (request.url === "/chunked") for (const char of "12345678") response.write(char);
    response.end(request.url === "/chunked" ? "90" : "1234567890");
  });
  const { get } = clientOf(t);
  for (const path of ["/", "/chunked"]) {
    for (const [limit, expected] of [
      [11, "1234567890"],
      [10, "1234567890"],
      [9, "123456789"],
      [0, ""],
    ] as const) {
      const answer = await get(`http://127.0.0.1:${port}${path}`, { maxResponseBytes: limit });
      assert.deepEqual([answer.body.toString(), answer.truncated], [expected, limit < 10], `${path} ${limit}`);
    }
  }
});

test("a body is handed on piece by piece, no faster than it is taken, and only that of status 200", async (t) => {
  const large = Buffer.alloc(3_000_000, "abcdefg");
  const { port } = await httpServer(t, (request, response) => {
    response.writeHead(request.url === "/other" ? 203 : 200).end(large);
  });
  const { get } = clientOf(t);
  for (const maxResponseBytes of [large.length, large.length - 1]) {
    const pieces: Buffer[] = [];
    let taking = 0;
    const into = async (piece: Buffer) => {
      assert.equal(++taking, 1, "one at a time");
      await nextTurn();
      pieces.push(piece);
      taking--;
    };
    const answer = await get(`http://127.0.0.1:${port}/`, { maxResponseBytes, into });
    assert.deepEqual([answer.body.length, answer.truncated], [0, maxResponseBytes < large.length]);
    assert.ok(Buffer.concat(pieces).equals(large.subarray(0, maxResponseBytes)));
    assert.ok(pieces.length > 1);
  }
  const into = () => assert.fail("another status");
  const other = await get(`http://127.0.0.1:${port}/other`, { maxResponseBytes: 2 ** 22, into });
  assert.ok(other.body.equals(large));
});

test("a large body under the limit arrives whole", async (t) => {
  const large = Buffer.alloc(3_000_000, "abcdefg");
  const { port } = await httpServer(t, (_, response) => response.end(large));
  const answer = await clientOf(t).get(`http://127.0.0.1:${port}/`, { maxResponseBytes: 2 ** 22 });
  assert.ok(answer.body.equals(large));
  assert.equal(answer.truncated, false);
});

test("compression is not undone", async (t) => {
  const bomb = gzipSync(Buffer.alloc(2 ** 24));
  assert.ok(bomb.length < 65_536 && gunzipSync(bomb).length === 2 ** 24);
  const { port } = await httpServer(t, (_, response) => {
    response.writeHead(200, { "content-encoding": "gzip" });
    response.end(bomb);
  });
  const answer = await clientOf(t).get(`http://127.0.0.1:${port}/`);
  assert.ok(answer.body.equals(bomb));
  assert.equal(answer.headers["content-encoding"], "gzip");
});

test("a connection that ends early is a reset, wherever it ends", async (t) => {
  const atOnce = await rawServer(t, (socket) => socket.resetAndDestroy());
  const afterRequest = await rawServer(t, (socket) => socket.once("data", () => socket.resetAndDestroy()));
  const closed = await rawServer(t, (socket) => socket.once("data", () => socket.end()));
  const inHeaders = await rawServer(t, (socket) => socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nX-A: ")));
  const inBody = await rawServer(t, (socket) =>
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")),
  );
  const inChunk = await rawServer(t, (socket) =>
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n123")),
  );
  const { get } = clientOf(t, { ca: valid });
  for (const { port } of [atOnce, afterRequest, closed, inHeaders, inBody, inChunk]) {
    await failure(get(`http://127.0.0.1:${port}/`), "reset");
  }
  assert.match(await failure(get(`https://127.0.0.1:${afterRequest.port}/`), "tls"), /closed during the TLS handshake/);
});

test("a port that nobody listens on is a connect error", async (t) => {
  const { port, server } = await rawServer(t, () => undefined);
  server.close();
  await once(server, "close");
  const message = await failure(clientOf(t).get(`http://hooks.example.com:${port}/`), "connect");
  assert.equal(message, "the connection was refused");
});

test("an answer that is not HTTP/1.1 is a protocol error", async (t) => {
  const answers = [
    "220 mail.example.com ESMTP\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
  ];
  const { get } = clientOf(t);
  for (const answer of answers) {
    const { port, openIs } = await rawServer(t, (socket) => socket.once("data", () => socket.write(answer)));
    await failure(get(`http://127.0.0.1:${port}/`), "protocol");
    await openIs(0);
  }
});

test("huge headers are a protocol error, one large header or many", async (t) => {
  const { port } = await httpServer(t, (request, response) => {
    if (request.url === "/many") for (let i = 0; i < 1500; i++) response.setHeader(`x-${i}`, "0123456789");
    else response.setHeader("x-large", "x".repeat(Number(request.url?.slice(1))));
    response.end();
  });
  const { get } = clientOf(t);
  const message = "the answer's headers are larger than 16384 bytes";
  assert.equal(await failure(get(`http://127.0.0.1:${port}/17000`), "protocol"), message);
  assert.equal(await failure(get(`http://127.0.0.1:${port}/many`), "protocol"), message);
  assert.equal((await get(`http://127.0.0.1:${port}/15000`)).headers["x-large"]?.length, 15_000);
});

test("an answer after very many interim ones, or in very many small pieces, is a protocol error", async (t) => {
  const most = Math.floor((MAX_ANSWER_PIECES * BYTES_PER_PIECE) / (BYTES_PER_PIECE - 1));
  const interim = (count: number) => "HTTP/1.1 102 Processing\r\n\r\n".repeat(count);
  const chunked = (count: number) => `Transfer-Encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(count)}0\r\n\r\n`;
  const answers = {
    "/interim": `${interim(MAX_INTERIM_ANSWERS)}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`,
    "/pieces": `HTTP/1.1 200 OK\r\n${chunked(most)}`,
    "/interim/more": `${interim(MAX_INTERIM_ANSWERS + 1)}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok`,
    "/pieces/more": `HTTP/1.1 200 OK\r\n${chunked(most + 1)}`,
  };
  const { port, openIs } = await rawServer(t, (socket) => {
    socket.on("data", (data) => {
      const [, path = ""] = String(data).split(" ");
      socket.write(answers[path as keyof typeof answers]);
    });
  });
  const { get } = clientOf(t);
  assert.equal((await get(`http://127.0.0.1:${port}/interim`)).body.toString(), "ok");
  assert.equal((await get(`http://127.0.0.1:${port}/pieces`)).body.length, most);
  const interimRefused = await failure(get(`http://127.0.0.1:${port}/interim/more`), "protocol");
  assert.match(interimRefused, /more than 32 interim answers/);
  assert.match(await failure(get(`http://127.0.0.1:${port}/pieces/more`), "protocol"), /too many small pieces/);
  await openIs(0);
});

test("a redirect is an answer and is not followed", async (t) => {
  const inner = await httpServer(t, (_, response) => response.end("secret"));
  const outer = await httpServer(t, (request, response) => {
    response.writeHead(Number(request.url?.slice(1)), { location: `http://127.0.0.1:${inner.port}/latest/meta-data` });
    response.end("moved");
  });
  const { get } = clientOf(t);
  for (const status of [301, 302, 303, 307, 308]) {
    const answer = await get(`http://127.0.0.1:${outer.port}/${status}`, { method: "POST", body: "{}" });
    assert.equal(answer.status, status);
    assert.equal(answer.body.toString(), "moved");
  }
  assert.equal(inner.seen.connections, 0);
});

test("names that resolve to nothing are DNS errors", async (t) => {
  await failure(clientOf(t, { resolver: async () => [] }).get("https://hooks.example.com/"), "dns");
  const failing = clientOf(t, { resolver: () => Promise.reject(new Error("queryA ESERVFAIL hooks.example.com")) });
  const message = await failure(failing.get("https://hooks.example.com/"), "dns");
  assert.equal(message, "the host name could not be resolved");
});

test("private targets are refused before anything is dialed", async (t) => {
  const { port, seen } = await httpsServer(t, valid, (_, response) => response.end("secret"));
  const guarded = (...addresses: string[]) =>
    clientOf(t, {
      allowPrivateNetworks: false,
      ca: valid,
      resolver: async () => addresses.map((address) => ({ address, family: net.isIP(address) })),
    });
  const url = `https://hooks.example.com:${port}/`;
  for (const addresses of [
    ["127.0.0.1"],
    ["::1"],
    ["::ffff:127.0.0.1"],
    ["64:ff9b::7f00:1"],
    ["8.8.8.8", "127.0.0.1"],
    ["127.0.0.1", "8.8.8.8"],
    ["2606:4700:4700::1111", "169.254.169.254"],
  ]) {
    const message = await failure(guarded(...addresses).get(url), "blocked");
    for (const address of addresses) assert.ok(!message.includes(address), message);
  }
  const { get } = guarded("8.8.8.8");
  for (const host of ["127.0.0.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "a.internal"]) {
    assert.match(await failure(get(`https://${host}:${port}/`), "url"), /^the URL must have a public/);
  }
  assert.equal(await failure(get("http://hooks.example.com/"), "url"), "the URL must use https");
  assert.equal(seen.connections, 0);
});

test("dials the address that was checked, though the name's answer changes", async (t) => {
  const hosts: string[] = [];
  const { port } = await httpServer(t, (_, response) => response.end("first"));
  const resolver = async (hostname: string) => {
    hosts.push(hostname);
    return hosts.length === 1 ? toLoopback() : [{ address: "169.254.169.254", family: 4 }];
  };
  const { get } = clientOf(t, { resolver });
  const answer = await get(`http://hooks.example.com:${port}/`);
  assert.equal(answer.body.toString(), "first");
  assert.deepEqual(hosts, ["hooks.example.com"]);
});

test("tries every checked address of a name", async (t) => {
  const { port } = await httpServer(t, (_, response) => response.end("here"));
  const resolver = async () => ["::1", "127.0.0.1"].map((address) => ({ address, family: 4 }));
  const answer = await clientOf(t, { resolver }).get(`http://hooks.example.com:${port}/`);
  assert.equal(answer.body.toString(), "here");
});

test("takes an IPv6 address for a host", async (t) => {
  let host: string | undefined;
  const server = await httpServer(
    t,
    (request, response) => {
      host = request.headers.host;
      response.end("six");
    },
    "::1",
  ).catch(() => undefined);
  if (server === undefined) return t.skip("this machine has no IPv6");
  const answer = await clientOf(t).get(`http://[0:0::1]:${server.port}/`);
  assert.equal(answer.body.toString(), "six");
  assert.equal(host, `[::1]:${server.port}`);
});

test("headers that frame or route the message are the client's own", async (t) => {
  const { port, seen } = await httpServer(t, (_, response) => response.end());
  const { get } = clientOf(t);
  const url = `http://127.0.0.1:${port}/`;
  for (const name of ["Host", "content-length", "Transfer-Encoding", "connection", "Expect", "Upgrade"]) {
    await failure(get(url, { headers: { [name]: "x" } }), "protocol");
  }
  for (const headers of [{ "x a": "1" }, { "": "1" }, { "x-a": "1\r\nx-b: 2" }, { "x-a": "\u0000" }, { "x-a": "€" }]) {
    await failure(get(url, { headers }), "protocol");
  }
  assert.equal(seen.connections, 0);
});

test("connections are kept and used again", async (t) => {
  const { port, seen } = await httpServer(t, (request, response) => {
    request.resume();
    response.end("ok");
  });
  const secure = await httpsServer(t, valid, (_, response) => response.end("ok"));
  const { get } = clientOf(t, { ca: valid });
  for (let i = 0; i < 20; i++) {
    await get(`http://hooks.example.com:${port}/${i}`, { method: "POST", body: "{}" });
    await get(`https://hooks.example.com:${secure.port}/${i}`);
  }
  assert.equal(seen.connections, 1);
  assert.equal(secure.seen.connections, 1);
});

test("a connection that was cut short is not used again", async (t) => {
  const { port, seen } = await httpServer(t, (_, response) => response.end("1234567890"));
  const { get } = clientOf(t);
  await get(`http://127.0.0.1:${port}/`, { maxResponseBytes: 5 });
  assert.equal((await get(`http://127.0.0.1:${port}/`)).body.toString(), "1234567890");
  assert.equal(seen.connections, 2);
});

/** A server that holds its answers back until told to give them; `held` tells how many wait. */
async function holdingServer(t: TestContext) {
  const arrivals = new EventEmitter();
  const held: http.ServerResponse[] = [];
  let open = false;
  const server = await httpServer(t, (_, response) => {
    if (open) return void response.end("ok");
    held.push(response);
    arrivals.emit("arrival");
  });
  const heldIs = async (count: number) => {
    while (held.length < count) await once(arrivals, "arrival");
    await nextTurn();
    assert.equal(held.length, count);
  };
  const release = () => {
    open = true;
    for (const response of held) response.end("ok");
  };
  return { ...server, heldIs, release };
}

test("connections to one host are bounded, and the others wait their turn", async (t) => {
  const { port, heldIs, release, seen } = await holdingServer(t);
  const { get } = clientOf(t);
  const answers = Array.from({ length: 50 }, () => get(`http://hooks.example.com:${port}/`));
  await heldIs(MAX_CONNECTIONS_PER_HOST);
  release();
  for (const { status } of await Promise.all(answers)) assert.equal(status, 200);
  assert.equal(seen.mostOpen, MAX_CONNECTIONS_PER_HOST);
  assert.equal(seen.connections, MAX_CONNECTIONS_PER_HOST, "the waiting requests use the same connections");
});

test("connections are bounded altogether, idle ones included", async (t) => {
  const { port, heldIs, release, seen } = await holdingServer(t);
  const { get } = clientOf(t);
  const hosts = Array.from({ length: 3 * MAX_CONNECTIONS }, (_, index) => `host-${index}.example.com`);
  const answers = hosts.map((host) => get(`http://${host}:${port}/`));
  await heldIs(MAX_CONNECTIONS);
  release();
  for (const { status } of await Promise.all(answers)) assert.equal(status, 200);
  assert.ok(seen.mostOpen <= 2 * MAX_CONNECTIONS, `${seen.mostOpen} were open`);
  assert.equal((await get(`http://one-more.example.com:${port}/`)).status, 200);
});

test("a request whose turn does not come before its deadline is never sent", async (t) => {
  let requests = 0;
  const { port, openIs } = await httpServer(t, () => void requests++);
  const { get } = clientOf(t);
  const url = `http://hooks.example.com:${port}/`;
  const sent = Array.from({ length: MAX_CONNECTIONS_PER_HOST }, () =>
    failure(get(url, { timeoutMs: 2 * PATIENCE_MS }), "timeout"),
  );
  await openIs(MAX_CONNECTIONS_PER_HOST);
  const late = await failure(get(url, { timeoutMs: 100 }), "timeout");
  assert.equal(late, "gave up after 100 ms: earlier requests to this host were still open");
  await Promise.all(sent);
  await openIs(0);
  assert.equal(requests, MAX_CONNECTIONS_PER_HOST);
});

test("a host that never answers does not hold up another", async (t) => {
  const silent = await holdingServer(t);
  const quick = await httpServer(t, (_, response) => response.end("ok"));
  const { get, close } = clientOf(t);
  const stuck = Array.from({ length: 100 }, () => failure(get(`http://silent.example.com:${silent.port}/`), "reset"));
  await silent.heldIs(MAX_CONNECTIONS_PER_HOST);
  assert.equal((await get(`http://quick.example.com:${quick.port}/`)).status, 200);
  await close();
  await Promise.all(stuck);
});

test("close ends what is open, refuses what comes, and leaves no connection", { timeout: 600_000 }, async (t) => {
  const { port, heldIs, openIs, seen } = await holdingServer(t);
  const idle = await httpServer(t, (_, response) => response.end("ok"));
  // No connection ends by itself while this test may last.
  const { get, close } = clientOf(t, { idleConnectionMs: 3_600_000 });
  await get(`http://127.0.0.1:${idle.port}/`);
  assert.equal(idle.seen.open, 1);
  const open = Array.from({ length: 20 }, () => failure(get(`http://127.0.0.1:${port}/`), "reset"));
  await heldIs(MAX_CONNECTIONS_PER_HOST);
  await Promise.all([close(), close()]);
  for (const message of await Promise.all(open)) assert.match(message, /this service is stopping/);
  assert.match(await failure(get(`http://127.0.0.1:${idle.port}/`), "reset"), /this service is stopping/);
  await Promise.all([openIs(0), idle.openIs(0)]);
  assert.equal(seen.connections, MAX_CONNECTIONS_PER_HOST);
});

test("close while a name is being resolved", async (t) => {
  const asked = Promise.withResolvers<void>();
  const { get, close } = clientOf(t, {
    resolver: () => {
      asked.resolve();
      return new Promise(() => undefined);
    },
  });
  const open = failure(get("http://hooks.example.com/"), "reset");
  await asked.promise;
  await close();
  await open;
});
