import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import net, { type AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { MAX_ANSWER_HEADER_BYTES } from "../../src/kernel/limits.ts";
import type { Json } from "../support/client.ts";
import { reservePort } from "../support/ports.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { standingClock, webhooksOf } from "../support/webhooks.ts";

const GIGABYTE = 1024 ** 3;
const settings = {
  KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
  KEYSTEAD_WEBHOOK_RETRY_SECONDS: "0,60,600",
  KEYSTEAD_WEBHOOK_TIMEOUT_SECONDS: "3",
};
const pem = (name: string) => readFileSync(new URL(`../support/tls/${name}.pem`, import.meta.url));

const closings: (() => void)[] = [];
async function listening(server: net.Server): Promise<number> {
  const sockets = new Set<net.Socket>();
  server.on("connection", (socket: net.Socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closings.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
const rawServer = async (onConnection: (socket: net.Socket) => void) =>
  `http://127.0.0.1:${await listening(net.createServer(onConnection))}/`;

function drip(socket: net.Socket, piece: string): void {
  const timer = setInterval(() => socket.write(piece), 20);
  socket.on("close", () => clearInterval(timer));
}

/** URLs of receivers that fail, each in its own way, with what the log must say of them. */
const faults: Record<string, { url: () => Promise<string>; error: RegExp }> = {
  "never answers": {
    url: () => rawServer((socket) => socket.resume()),
    error: /^timeout: gave up after 3000 ms: no answer had begun$/,
  },
  "answers byte by byte": {
    url: () =>
      rawServer((socket) => {
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
        drip(socket, "x");
      }),
    error: /^timeout: gave up after 3000 ms: the answer was not finished$/,
  },
  "writes its headers byte by byte": {
    url: () =>
      rawServer((socket) => {
        socket.write("HTTP/1.1 200 OK\r\nX-Slow: ");
        drip(socket, "x");
      }),
    error: /^timeout: gave up after 3000 ms: no answer had begun$/,
  },
  "resets the connection": {
    url: () => rawServer((socket) => socket.once("data", () => socket.resetAndDestroy())),
    error: /^reset: /,
  },
  "has a bad certificate": {
    url: async () => {
      const server = https.createServer({ key: pem("key"), cert: pem("valid") }, (_, response) => response.end());
      return `https://localhost:${await listening(server)}/`;
    },
    error: /^tls: the certificate is self-signed$/,
  },
  "has a name without an address": {
    url: async () => "http://nothing.invalid/",
    // Whichever comes first where the machine has no name server that answers.
    error:
      /^(dns: the host name could not be resolved|timeout: gave up after 3000 ms: the host name was still being resolved)$/,
  },
  "is not there": {
    url: async () => `http://127.0.0.1:${await reservePort()}/`,
    error: /^connect: the connection was refused$/,
  },
  "answers with huge headers": {
    url: async () => {
      const server = http.createServer((request, response) => {
        request.resume();
        response.writeHead(200, { "x-huge": "x".repeat(4 * MAX_ANSWER_HEADER_BYTES) }).end();
      });
      return `http://127.0.0.1:${await listening(server)}/`;
    },
    error: /^protocol: the answer's headers are larger than/,
  },
  "does not speak HTTP": {
    url: () => rawServer((socket) => socket.end("220 mail.example.com ESMTP\r\n")),
    error: /^protocol: the answer is not valid HTTP/,
  },
};

for (const engine of engines) {
  describe(`webhooks and receivers that fail (${engine})`, () => {
    const clock = standingClock();
    let server: TestServer;
    let healthy: Receiver;
    before(async () => {
      server = await startTestServer(engine, { settings, clock: clock.now });
      healthy = await startReceiver();
    });
    after(async () => {
      await server.close();
      await healthy.close();
      for (const close of closings.splice(0)) close();
    });

    it("log what happened, and retry by the schedule", async () => {
      const hooks = webhooksOf(server.root, clock.now);
      const endpoints = new Map<string, string>();
      for (const [name, { url }] of Object.entries(faults)) endpoints.set(name, await hooks.create(await url()));
      await hooks.create(healthy.url);

      await hooks.rename();
      await healthy.waitFor(1);
      for (const [attempt, pauseMs] of [60_000, 600_000, undefined].entries()) {
        for (const [name, endpointId] of endpoints) {
          const delivery = await hooks.newest(endpointId, ({ attempts }) => attempts.length === attempt + 1);
          const { error, statusCode, durationMs, startedAt } = delivery.attempts[attempt] as Json;
          assert.match(error, faults[name]?.error as RegExp, name);
          assert.equal(statusCode, undefined);
          assert.ok(durationMs >= (error.startsWith("timeout") ? 2990 : 0), `${name}: ${durationMs} ms`);
          assert.equal(startedAt.seconds, String(Math.floor(clock.now() / 1000)));
          const next = delivery.nextAttemptAt && Number(delivery.nextAttemptAt.seconds);
          assert.equal(next, pauseMs && Math.floor((clock.now() + pauseMs) / 1000), name);
          assert.equal(delivery.status, pauseMs ? "PENDING" : "FAILED", name);
        }
        // A millisecond too early nothing is tried again, though another event comes by.
        if (pauseMs) {
          clock.pass(pauseMs - 1);
          const count = healthy.received.length;
          await hooks.rename();
          await healthy.waitFor(count + 1);
          for (const endpointId of endpoints.values()) {
            const earlier = (await hooks.list(endpointId)).at(-1) as Json;
            assert.equal(earlier.attempts.length, attempt + 1);
          }
          await dropNewest(server);
          clock.pass(1);
        }
      }
    });

    it("read no more of an answer than they keep", async () => {
      let written = 0;
      const chunk = Buffer.alloc(1024 * 1024);
      const endless = http.createServer((request, response) => {
        request.resume();
        response.writeHead(200, { "content-length": GIGABYTE });
        const more = () => {
          while (!response.destroyed && response.write(chunk)) written += chunk.length;
          written += chunk.length;
        };
        response.on("drain", more);
        more();
      });
      const hooks = webhooksOf(server.root, clock.now);
      const endpointId = await hooks.create(`http://127.0.0.1:${await listening(endless)}/`);
      const before = process.memoryUsage().rss;
      for (let round = 0; round < 10; round++) {
        await hooks.rename();
        const delivery = await hooks.newest(endpointId, ({ status }) => status !== "PENDING");
        assert.equal(delivery.status, "DELIVERED");
        assert.equal(delivery.attempts[0].statusCode, 200);
      }
      assert.ok(written < 10 * 64 * 1024 * 1024, `${written} bytes were taken off the receiver's hands`);
      const growth = process.memoryUsage().rss - before;
      assert.ok(growth < 200 * 1024 * 1024, `memory grew by ${growth} bytes`);
    });
  });
}

for (const engine of engines) {
  it(`a receiver that never answers delays nobody else (${engine})`, async () => {
    // Longer than this test takes on any machine.
    const patient = { ...settings, KEYSTEAD_WEBHOOK_TIMEOUT_SECONDS: "50" };
    const server = await startTestServer(engine, { settings: patient });
    const healthy = await startReceiver();
    const hooks = webhooksOf(server.root, Date.now);
    const slow = await hooks.create(await rawServer((socket) => socket.resume()));
    await hooks.create(healthy.url);
    await hooks.rename();
    await healthy.waitFor(1);
    const [stillOpen] = await hooks.list(slow);
    assert.deepEqual(stillOpen.attempts, []);
    await server.close();
    await healthy.close();
    for (const close of closings.splice(0)) close();
  });
}

/** Takes back the event that was made last, so that the ones before stay the newest. */
async function dropNewest({ opened }: TestServer): Promise<void> {
  const { database } = opened;
  const newest = await database.read
    .selectFrom("webhook_events")
    .select("id")
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirstOrThrow();
  await until(async () => {
    const pending = await database.read
      .selectFrom("webhook_deliveries as d")
      .innerJoin("webhook_attempts as a", "a.delivery_id", "d.id")
      .select("d.id")
      .where("d.event_id", "=", newest.id)
      .execute();
    return pending.length > Object.keys(faults).length;
  }, "every receiver to be tried");
  await database.transact(undefined, async (tx) => {
    await tx.deleteFrom("webhook_events").where("id", "=", newest.id).execute();
  });
}
