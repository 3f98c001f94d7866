import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { failForNow } from "../kernel/errors.ts";
import { MAX_BODY_BYTES, MAX_HELD_ANSWER_BYTES, MAX_SHARE_OF_ONE_ADDRESS } from "../kernel/limits.ts";
import { createLogger } from "../kernel/log.ts";
import { nextTurn } from "../kernel/next-turn.ts";
import { createListener, createRoom } from "./listener.ts";
import type { Route, RouteAnswer } from "./route.ts";

it("gives the room of an answer back though its client left before there was one", async () => {
  const large = Buffer.alloc((MAX_HELD_ANSWER_BYTES * MAX_SHARE_OF_ONE_ADDRESS) / 2);
  const listener = createListener({
    log: createLogger("silent"),
    trustedProxies: [],
    room: createRoom({ maxConnections: 10, maxConnectionsPerAddress: 10 }, [], () => {}),
    observer: { answered: () => {}, failed: () => {}, turnedAway: () => {} },
  });
  let arrival = Promise.withResolvers<() => boolean>();
  let release = Promise.withResolvers<void>();
  listener.mount({
    routes: [
      {
        method: "GET",
        path: "/large",
        accept: (head) => async () => {
          arrival.resolve(head.isWanted);
          await release.promise;
          return { body: large };
        },
      },
    ],
  });
  const { port } = await listener.listen({ host: "127.0.0.1", port: 0 });
  try {
    for (let left = 0; left < 4; left++) {
      arrival = Promise.withResolvers();
      release = Promise.withResolvers();
      const socket = connect(port, "127.0.0.1");
      socket.write("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n");
      const isWanted = await arrival.promise;
      socket.destroy();
      await once(socket, "close");
      // The server's end closes slightly later.
      while (isWanted()) await nextTurn();
      release.resolve();
    }
    const answer = await fetch(`http://127.0.0.1:${port}/large`);
    assert.equal(answer.status, 200);
    assert.equal((await answer.arrayBuffer()).byteLength, large.length);
  } finally {
    await listener.close();
  }
});

describe("an operation that any web page may call", () => {
  const told: string[] = [];
  const observer = {
    answered: (operation: string, status: number) => void told.push(`${operation} ${status}`),
    failed: ({ operation, name }: { operation: string | undefined; name: string }) =>
      void told.push(`${operation} ${name}`),
    turnedAway: () => {},
  };
  const listener = createListener({
    log: createLogger("silent"),
    trustedProxies: [],
    room: createRoom({ maxConnections: 10, maxConnectionsPerAddress: 10 }, [], () => {}),
    observer,
    elsewhere: {
      takes: ({ host }) => host === "app",
      pass: (request, response) => void response.end(`passed on: ${request.headers["content-encoding"]}`),
    },
  });
  const operation = (name: string, respond: (body: Buffer) => RouteAnswer): Route => ({
    method: "POST",
    path: `/public/${name}`,
    operation: name,
    accept({ path, headers, note }) {
      note({ seen: path });
      if (headers["x-refused"] !== undefined) failForNow("RATE_LIMITED", { reason: "before the body" }, 3);
      return async (body) => respond(body);
    },
  });
  const routes = [
    operation("echo", (body) => ({ body: JSON.stringify({ body: body.toString(), é: "ü" }) })),
    operation("bytes", () => ({ status: 201, headers: { "x-more": "of it" }, body: Buffer.from("[]") })),
    operation("later", () => failForNow("RATE_LIMITED", { reason: "for now" }, 7)),
    operation("broken", () => {
      throw new Error("not to be told");
    }),
  ];
  const proxied = (name: string): Route => ({ ...operation(name, () => ({ body: "{}" })), path: `/v1/${name}` });
  let base = "";
  before(async () => {
    listener.mount({ routes, anyOriginBelow: "/public/" });
    listener.mount({ routes: ["echo", "sign_up"].map(proxied), echoedOriginBelow: "/v1/" });
    const { port } = await listener.listen({ host: "127.0.0.1", port: 0 });
    base = `http://127.0.0.1:${port}/public/`;
  });
  after(() => listener.close());

  /** Status and headers of the answer, its body, and the calls of the observer. */
  async function answerTo(name: string, init: RequestInit): Promise<unknown[]> {
    told.length = 0;
    const answer = await fetch(base + name, { method: "POST", ...init });
    const { "x-request-id": id = "", date: _, ...headers } = Object.fromEntries(answer.headers);
    const text = await answer.text();
    assert.match(id, /^[0-9a-f-]{36}$/);
    return [answer.status, headers, text.replaceAll(id, "the request"), [...told]];
  }

  it("is answered on the short way exactly as on the long one, which odd requests for it take", async () => {
    const json = { "content-type": "application/json" };
    const large = { headers: json, body: "x".repeat(MAX_BODY_BYTES + 1) };
    const requests: [string, RequestInit][] = [
      ["echo", { headers: json, body: '{"é":1}' }],
      ["echo", { headers: json }],
      ["echo", {}],
      ["echo", { headers: { ...json, "x-refused": "1" }, body: "{}" }],
      ["echo", large],
      ["bytes", { body: "text" }],
      ["later", { headers: json, body: "{}" }],
      ["broken", { headers: json, body: "{}" }],
    ];
    for (const [name, init] of requests) {
      const plain = await answerTo(name, init);
      const [status] = plain as [number];
      assert.ok([200, 201, 413, 429, 500].includes(status), `${name} ${status}`);
      assert.deepEqual(plain, await answerTo(`${name}?`, init), name);
    }
    for (const type of ["application/json; charset=utf-8", "application/x-www-form-urlencoded"]) {
      const init = { headers: { "content-type": type }, body: "{}" };
      assert.deepEqual(await answerTo("echo", init), await answerTo("echo", { ...init, headers: json }), type);
    }
    const [status, , text] = (await answerTo("echo", { headers: { "content-type": "none" }, body: "{}" })) as [
      number,
      unknown,
      string,
    ];
    assert.equal(status, 400);
    assert.match(text, /no media type/);
  });

  /** All bytes that the server sends in response to these, until it closes the connection. */
  async function answer(sent: string): Promise<string> {
    const { hostname, port } = new URL(base);
    const socket = connect(Number(port), hostname);
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk));
    socket.write(sent);
    await once(socket, "close");
    return Buffer.concat(chunks).toString();
  }

  it("is not called broken for what comes after it, as it may have been carried out", async () => {
    const { host } = new URL(base);
    const head = ["POST /public/echo HTTP/1.1", `Host: ${host}`, "Content-Length: 2"].join("\r\n");
    assert.match(await answer("NONSENSE\r\n\r\n"), /^HTTP\/1\.1 400 /);
    assert.match(await answer(`${head}, 3\r\n\r\n{}`), /^HTTP\/1\.1 400 /);
    assert.equal(await answer(`${head}\r\n\r\n{}NONSENSE\r\n\r\n`), "");
  });

  it("is refused on both ways, in the form of all errors and once, where proxies may read its framing otherwise", async () => {
    const chunked = "2\r\n{}\r\n0\r\n\r\n";
    const [H, L, C] = ["Host: a", "Content-Length: 2", "Transfer-Encoding: chunked"];
    const cases: [problem: string, headers: string[], body?: string, version?: string, prefix?: string][] = [
      ["it has more than one Host header", [H, "hOST: b", L]],
      ["it has more than one Host header", [H, L, ...Array.from({ length: 500 }, (_, n) => `h${n}: 1`), H]],
      ["it has no Host header", [L]],
      ["its Host header names no host", ["Host: a/b", L]],
      ["its Host header names no host", ["Host: u@a", L]],
      ["it has a Transfer-Encoding other than chunked", [H, "Transfer-Encoding: gzip, chunked"], chunked],
      ["it has a Transfer-Encoding other than chunked", [H, "Transfer-Encoding: gzip"], chunked],
      ["it has a Transfer-Encoding other than chunked", [H, "Transfer-Encoding: gzip", C], chunked],
      ["HTTP/1.0 has no Transfer-Encoding", [H, C], chunked, "1.0"],
      ["its version is neither HTTP/1.1 nor HTTP/1.0", [H, L], "{}", "2.0"],
      ["its body has a Content-Encoding; send it as it is", [H, L, "Content-Encoding: gzip"]],
      ["it expects something other than 100-continue", [H, L, "Expect: 200-ok"]],
      ["its target is of another host than its Host header", [H, L], "{}", "1.1", "http://b"],
      ["its target is no path", [H, L], "{}", "1.1", "ftp://a"],
    ];
    const targets = ["/public/echo", "/public/echo?", "/public/nowhere"];
    for (const [problem, headers, body = "{}", version = "1.1", prefix = ""] of cases) {
      for (const target of targets) {
        const text = await answer([`POST ${prefix}${target} HTTP/${version}`, ...headers, "", body].join("\r\n"));
        const [head = "", shown = "", ...more] = text.split("\r\n\r\n");
        assert.match(head, /^HTTP\/1\.1 400 .*content-type: application\/json\r\n.*connection: close/is, problem);
        const { message, turnkeyErrorCode } = JSON.parse(shown) as Record<string, string>;
        assert.equal(message, `bad request body: the request is not valid HTTP: ${problem}`);
        assert.equal(turnkeyErrorCode, "REQUEST_INVALID");
        assert.deepEqual(more, []);
      }
    }
    const toAnApp = ["POST / HTTP/1.1", "Host: app", L, "Content-Encoding: gzip", "Connection: close", "", "{}"];
    assert.match(await answer(toAnApp.join("\r\n")), /^HTTP\/1\.1 200 .*passed on: gzip$/s);
    for (const sent of [
      "CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /public/echo#a HTTP/1.1\r\nHost: a\r\n\r\n",
    ]) {
      assert.match(await answer(sent), /^HTTP\/1\.1 400 .*"turnkeyErrorCode":"REQUEST_INVALID"\}$/s, sent);
    }
  });

  it("is answered where its framing is unusual but of one meaning", async () => {
    const end = ["Connection: close", "", "{}"];
    const chunks = ["Connection: close", "", "2;a=b", "{}", "0", "X-Stamp: a", "", ""];
    const requests: [first: string, ...rest: string[]][] = [
      ["POST http://a:80/public/echo HTTP/1.1", "hOsT: A:80", "cONTENT-lENGTH: 2", ...end],
      ["POST http://a/public/echo?b HTTP/1.1", "Host: a", "Content-Length: 2", ...end],
      ["POST /public/echo HTTP/1.1", "Host: [::1]:8080", "Content-Length: 2", ...end],
      ["POST /public/echo HTTP/1.1", "Host:", "Content-Length: 2", "Content-Encoding: identity", ...end],
      ["POST /public/echo HTTP/1.1", "Host: a_b.c", "Upgrade: h2c", "Content-Length: 2", ...end],
      ["POST /public/echo HTTP/1.0", "Content-Length: 2", ...end],
      ["POST /public/echo HTTP/1.1", "Host: a", "Transfer-Encoding: Chunked", ...chunks],
    ];
    for (const lines of requests) {
      const text = await answer(lines.join("\r\n"));
      assert.match(text, /^HTTP\/1\.1 200 .*\{"body":"\{\}","é":"ü"\}$/s, lines.join(" | "));
    }
  });

  it("is answered as that of any unknown path where its path can be none", async () => {
    const unknown = await answerTo("nowhere", {});
    const unreadable = await answerTo("%zz", {});
    const [status, headers, text, seen] = unknown as [number, Record<string, string>, string, string[]];
    assert.equal(status, 404);
    assert.deepEqual(unreadable, [
      status,
      { ...headers, "content-length": String(Number(headers["content-length"]) - 4) },
      text.replace("nowhere", "%zz"),
      seen,
    ]);
  });

  it("is named to clients that have its method or the rest of its path wrong", async () => {
    const messageOf = async (path: string, method: string) => {
      const answer = await fetch(new URL(path, base), { method });
      assert.equal(answer.status, 404);
      return ((await answer.json()) as { message: string }).message;
    };
    const mistaken = [
      ["GET", "/public/echo"],
      ["PUT", "/public/echo"],
      ["POST", "/public/echo/"],
      ["POST", "/public/public/echo"],
      ["POST", "/echo"],
      ["POST", "/v2/echo"],
      ["GET", "/v1/echo", "/v1/echo"],
      ["POST", "/v1/echo/", "/v1/echo"],
      ["POST", "/proxy/v1/echo", "/v1/echo"],
      ["POST", "/public/v1/sign_up", "/v1/sign_up"],
      ["GET", "/v1/sign_up", "/v1/sign_up"],
    ] as const;
    for (const [method, path, right = "/public/echo"] of mistaken) {
      assert.equal(await messageOf(path, method), `no such operation: ${method} ${path}; use POST ${right}`);
    }
    assert.equal(await messageOf("/public/", "GET"), "no such operation: GET /public/");
    const long = `/${"p".repeat(100)}/echo`;
    assert.match(await messageOf(long, "POST"), /p…; use POST \/public\/echo$/);
  });

  it("tells its clients to go where they are sent away", async () => {
    listener.sendAway();
    const answer = await fetch(`${base}echo`, { method: "POST", body: "{}" });
    assert.equal(answer.headers.get("connection"), "close");
    assert.equal(answer.status, 200);
  });
});
