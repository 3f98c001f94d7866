import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import type { AddressInfo, Server } from "node:net";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import type { OutboundRequest } from "../../src/delivery/outbound.ts";
import { createOutboundThread } from "../../src/delivery/outbound-thread.ts";
import { costlyCertificates } from "../support/costly-certificates.ts";
import { longestHold } from "../support/loop-hold.ts";
import { askForSms } from "../support/messages.ts";
import { failure } from "../support/outbound-failure.ts";
import { startReceiver } from "../support/receiver.ts";
import { startTestServer } from "../support/server.ts";
import { until } from "../support/until.ts";

/** The outbound client whose work is done by a thread of its own. What it does otherwise is tested in outbound.test.ts. */

const pem = (name: string) => readFileSync(new URL(`../support/tls/${name}.pem`, import.meta.url), "utf8");

async function listening(t: TestContext, server: Server & { closeAllConnections(): void }): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function clientOf(t: TestContext) {
  const client = createOutboundThread({ allowPrivateNetworks: true, ca: pem("valid") });
  t.after(() => client.close());
  const get = (url: string, more: Partial<OutboundRequest> = {}) =>
    client.request({ method: "GET", url, timeoutMs: 60_000, maxResponseBytes: 2 ** 22, ...more });
  return { get, close: client.close };
}

test("requests and answers arrive as they were given, errors too", async (t) => {
  const { get } = clientOf(t);
  const port = await listening(
    t,
    http.createServer(async (request, response) => {
      response.writeHead(202, { "x-method": request.method, "x-event": request.headers["x-event"] ?? "" });
      response.end(await text(request));
    }),
  );
  const url = `http://localhost:${port}/`;
  for (const body of ["blåbær", Buffer.from("blåbær"), new Uint8Array()]) {
    const answer = await get(url, { method: "POST", headers: { "x-event": "e1" }, body });
    assert.deepEqual([answer.status, answer.headers["x-method"], answer.headers["x-event"]], [202, "POST", "e1"]);
    assert.ok(Buffer.isBuffer(answer.body));
    assert.equal(answer.body.toString(), Buffer.from(body).toString());
    assert.ok(Number.isInteger(answer.durationMs));
  }
  assert.equal((await get(url, { method: "POST", body: "blåbær", maxResponseBytes: 3 })).truncated, true);
  const secure = await listening(
    t,
    https.createServer({ key: pem("key"), cert: pem("valid") }, (_, response) => response.end("hello")),
  );
  assert.equal((await get(`https://localhost:${secure}/`)).body.toString(), "hello");
  assert.equal(await failure(get("ftp://localhost/"), "url"), "the URL must use https or http");
  await failure(get(`http://localhost:${secure}/`), "reset");
  await failure(get(url, { headers: { host: "other" } }), "protocol");
});

test("a body is handed on piece by piece, no faster than it is taken", async (t) => {
  const large = Buffer.alloc(3_000_000, "abcdefg");
  const port = await listening(
    t,
    http.createServer((_, response) => response.end(large)),
  );
  const { get } = clientOf(t);
  const pieces: Buffer[] = [];
  let taking = 0;
  const into = async (piece: Buffer) => {
    assert.equal(++taking, 1, "one at a time");
    await new Promise((resolve) => setImmediate(resolve));
    pieces.push(piece);
    taking--;
  };
  assert.equal((await get(`http://127.0.0.1:${port}/`, { into })).status, 200);
  assert.ok(pieces.length > 1);
  assert.ok(Buffer.concat(pieces).equals(large));
  const full = new Error("no room");
  const untaken = () => Promise.reject(full);
  await failure(get(`http://127.0.0.1:${port}/`, { into: untaken }), "reset");
  assert.equal((await get(`http://127.0.0.1:${port}/`)).body.length, large.length, "and it goes on");
});

test("close ends what is open and refuses what comes", async (t) => {
  const arrived = Promise.withResolvers<void>();
  const port = await listening(
    t,
    http.createServer(() => arrived.resolve()),
  );
  const { get, close } = clientOf(t);
  const open = failure(get(`http://127.0.0.1:${port}/`), "reset");
  await arrived.promise;
  await Promise.all([close(), close()]);
  assert.match(await open, /this service is stopping/);
  assert.match(await failure(get(`http://127.0.0.1:${port}/`), "reset"), /this service is stopping/);
  await clientOf(t).close();
});

test("requests to a thread that ended fail, and each is asked of another thread", async (t) => {
  // Nothing that is a certificate, so that each thread ends as it starts.
  const ca = 1 as unknown as string;
  const client = createOutboundThread({ allowPrivateNetworks: true, ca });
  t.after(() => client.close());
  const ask = () => client.request({ method: "GET", url: "http://localhost/", timeoutMs: 60_000, maxResponseBytes: 0 });
  for (let time = 0; time < 2; time++) assert.match(await failure(ask(), "reset"), /was closed before the answer/);
});

test("hosts that strangers, organizations and the operator name are asked by threads of their own", async (t) => {
  const receiver = await startReceiver();
  t.after(() => receiver.close());
  const { url } = receiver;
  const settings = { KEYSTEAD_SMS_URL: `${url}/sms`, KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" };
  let threads = 0;
  const count = () => threads++;
  process.on("worker", count);
  t.after(() => process.off("worker", count));
  const server = await startTestServer("sqlite", { settings });
  t.after(() => server.close());
  const asked = (path: string) => until(() => receiver.received.some((each) => each.path === path), path);
  const before = threads;
  await askForSms(server, { to: "+14155550100" });
  await asked("/sms");
  assert.equal(threads, before, "the operator's: the thread that serves");
  const { endpointId } = await server.root.result("create_webhook_endpoint", { url: `${url}/hook`, name: "hook" });
  await server.root.result("test_webhook_endpoint", { endpointId });
  await asked("/hook");
  assert.equal(threads, before + 1);
  const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const claims = { iss: `${url}/issuer`, sub: "s", aud: "app", iat: exp - 3600, exp };
  const oidcToken = [encoded({ alg: "RS256" }), encoded(claims), "AAAA"].join(".");
  const { userId } = await server.root.read("whoami");
  const oauthProviders = [{ providerName: "Issuer", oidcToken }];
  assert.equal((await server.root.submit("create_oauth_providers", { userId, oauthProviders })).status, 400);
  await asked("/issuer/.well-known/openid-configuration");
  assert.equal(threads, before + 2);
});

test("certificates that take long to verify hold up nobody whose requests the server answers", async (t) => {
  const server = await startTestServer("sqlite");
  t.after(() => server.close());
  const port = await listening(t, https.createServer(costlyCertificates(40)));
  const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const claims = { sub: "s", aud: "app", iat: exp - 3600, exp };
  const { userId } = await server.root.read("whoami");
  let issuers = 0;
  const show = async () => {
    const token = [{ alg: "RS256" }, { iss: `https://localhost:${port}/${issuers++}`, ...claims }].map(encoded);
    const oauthProviders = [{ providerName: "Issuer", oidcToken: [...token, "AAAA"].join(".") }];
    const { status, body } = await server.root.submit("create_oauth_providers", { userId, oauthProviders });
    assert.equal(status, 400);
    return JSON.stringify(body);
  };
  // What is compiled and loaded on the way.
  await show();
  let [held, usedMs, told] = [0, 0, ""];
  // On a busy machine an issuer's time may be over before.
  while (!/self-signed|not trusted/.test(told)) {
    const usedBefore = process.cpuUsage();
    held = await longestHold(async () => {
      told = await show();
    });
    const { user, system } = process.cpuUsage(usedBefore);
    usedMs = (user + system) / 1000;
  }
  assert.ok(held < usedMs / 4, `this thread was held for ${held} ms of ${usedMs} ms`);
});
