import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, request, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createRawServer, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { newId } from "../../kernel/ids.ts";
import {
  MAX_INGRESS,
  MAX_INGRESS_OF_ONE_APP,
  MAX_INTERIM_ANSWERS,
  MAX_SMALL_PIECES_AT_ONCE,
  SMALL_PIECES_PER_SECOND,
} from "../../kernel/limits.ts";
import { createLogger } from "../../kernel/log.ts";
import { nextTurn } from "../../kernel/next-turn.ts";
import { msToReceive } from "../../kernel/pace.ts";
import type { Query, Reader } from "../../storage/engine.ts";
import { Ingress } from "./ingress.ts";

const APP = newId();
const OWNER = { organization_id: "an organization", parent_id: null };

async function listening(t: TestContext, handle: RequestListener): Promise<number> {
  const server: Server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

/** The ingress before apps that listen on this port. `ownerOf` names the organization of each. */
function ingressTo(
  t: TestContext,
  port: number,
  ownerOf: (appId: string) => { organization_id: string; parent_id: string | null } = () => OWNER,
  elapsed?: () => number,
): Ingress {
  const all = async ({ parameters }: Query) => [
    { id: "deployment", public_ingress_port: port, ...ownerOf(String(parameters[0])) },
  ];
  const read = { kind: "sqlite", all } as unknown as Reader;
  const runner = { replicasOf: () => [{ isReady: true, address: "127.0.0.1" }] as never };
  const clock = elapsed && { elapsed };
  const log = createLogger("silent");
  const ingress = new Ingress({ database: { read }, runner, domain: "apps.example", log, ...clock });
  t.after(() => ingress.close());
  return ingress;
}

/** The ingress before an app that writes without an end; a client of it reads nothing until it is told to. */
async function start(
  t: TestContext,
): Promise<{ open(): Promise<Socket>; isPaused: Promise<void>; appIsLeft: Promise<unknown> }> {
  const paused = Promise.withResolvers<void>();
  const left = Promise.withResolvers<unknown>();
  const port = await listening(t, (_request, response) => {
    response.once("close", () => left.resolve(undefined));
    const write = () => {
      while (!response.destroyed && response.write(Buffer.alloc(64 * 1024)));
      response.once("drain", write);
    };
    write();
  });
  const ingress = ingressTo(t, port);
  const own = await listening(t, (incoming, answer) => {
    const { write } = answer;
    answer.write = ((...given: Parameters<typeof write>) => {
      const takesMore = write.apply(answer, given);
      if (!takesMore) setImmediate(paused.resolve);
      return takesMore;
    }) as typeof write;
    ingress.pass(incoming, answer, "192.0.2.1");
  });
  const open = async () => {
    const socket = connect({ port: own, host: "127.0.0.1" });
    socket.on("error", () => {});
    t.after(() => socket.destroy());
    await once(socket, "connect");
    socket.pause().write(`GET / HTTP/1.1\r\nHost: app-${APP}.apps.example\r\n\r\n`);
    return socket;
  };
  return { open, isPaused: paused.promise, appIsLeft: left.promise };
}

describe("an answer of an app", () => {
  it("that its client does not read is ended, at the app too", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { open, isPaused, appIsLeft } = await start(t);
    await open();
    await isPaused;
    let isLeft = false;
    void appIsLeft.then(() => {
      isLeft = true;
    });
    // The system takes some more now and then before it takes none.
    for (let rounds = 0; !isLeft; rounds++) {
      assert.ok(rounds < 10_000);
      await new Promise((resolve) => setImmediate(resolve));
      t.mock.timers.tick(msToReceive(64 * 1024));
    }
  });

  it("that its client reads goes on, however long that takes", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { open, isPaused } = await start(t);
    const socket = await open();
    const ended = once(socket, "close").then(() => assert.fail(`its connection ended after ${socket.bytesRead} bytes`));
    await isPaused;
    let next = 1;
    socket.on("data", () => {
      if (socket.bytesRead < next * 1024 * 1024) return;
      next++;
      // Four times as long as may pass without a drain, in all; what lies between the two ends drains nothing when it is read.
      t.mock.timers.tick(msToReceive(0) / 16);
    });
    while (socket.bytesRead < 64 * 1024 * 1024) await Promise.race([once(socket.resume(), "data"), ended]);
  });
});

interface Asked {
  appId?: string;
  from: string;
}

/** Sends requests to apps that answer none; resolves to how many of them the apps have, once all others are refused. */
async function startSilent(t: TestContext, ownerOf?: Parameters<typeof ingressTo>[2]) {
  let arrived = 0;
  const port = await listening(t, () => void arrived++);
  const ingress = ingressTo(t, port, ownerOf);
  const own = await listening(t, (incoming, answer) => {
    ingress.pass(incoming, answer, String(incoming.headers["x-client"]));
  });
  return async (count: number, asked: (index: number) => Asked): Promise<number> => {
    const before = arrived;
    let refused = 0;
    for (let index = 0; index < count; index++) {
      const { appId = APP, from } = asked(index);
      const headers = { host: `app-${appId}.apps.example`, "x-client": from };
      const sent = request({ port: own, host: "127.0.0.1", agent: false, headers });
      sent.on("error", () => {});
      sent.on("response", (answer) => {
        assert.equal(answer.statusCode, 503);
        refused++;
        answer.resume();
      });
      t.after(() => sent.destroy());
      sent.end();
    }
    while (arrived - before + refused < count) await nextTurn();
    return arrived - before;
  };
}

describe("requests that an app does not answer", () => {
  it("of one address leave as many for others as they take", async (t) => {
    const send = await startSilent(t);
    const half = MAX_INGRESS_OF_ONE_APP / 2;
    assert.equal(await send(half + 2, () => ({ from: "192.0.2.1" })), half);
    // An IPv6 network counts as one address.
    assert.equal(await send(half / 2 + 2, (index) => ({ from: `2001:db8::${index}` })), half / 2);
    assert.equal(await send(1, () => ({ from: "192.0.2.3" })), 1);
    assert.equal(await send(1, () => ({ from: "192.0.2.1", appId: newId() })), 1);
  });

  it("of many networks of one IPv6 site leave as many for others as they take", async (t) => {
    const send = await startSilent(t);
    const half = MAX_INGRESS_OF_ONE_APP / 2;
    assert.equal(await send(half + 2, (index) => ({ from: `2001:db8:1:${index.toString(16)}::1` })), half);
    assert.equal(await send(1, () => ({ from: "2001:db8:2::1" })), 1);
  });

  it("of one parent's apps leave as many for those of others as they take", async (t) => {
    const others = newId();
    const below = newId();
    const send = await startSilent(t, (appId) => {
      if (appId === others) return { organization_id: "another", parent_id: null };
      return appId === below ? { organization_id: "below", parent_id: OWNER.organization_id } : OWNER;
    });
    const half = MAX_INGRESS / 2;
    const apps = Array.from({ length: 4 }, newId);
    const asked = (index: number) => ({
      appId: apps[index % apps.length] as string,
      from: `192.0.${index >> 8}.${index & 255}`,
    });
    assert.equal(await send(half + 2, asked), half);
    assert.equal(await send(1, () => ({ appId: below, from: "198.51.100.1" })), 0);
    assert.equal(await send(1, () => ({ appId: others, from: "198.51.100.1" })), 1);
  });
});

it("an app that sends interim answers without an end is left", async (t) => {
  const interim = "HTTP/1.1 102 Processing\r\n\r\n";
  const final = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  const app = createRawServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (data) => {
      const count = MAX_INTERIM_ANSWERS + Number(String(data).startsWith("GET /more "));
      socket.write(interim.repeat(count) + final);
    });
  });
  await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
  t.after(() => app.close());
  const ingress = ingressTo(t, (app.address() as AddressInfo).port);
  const own = await listening(t, (incoming, answer) => ingress.pass(incoming, answer, "192.0.2.1"));
  const statusOf = async (path: string) => {
    const sent = request({
      port: own,
      host: "127.0.0.1",
      path,
      agent: false,
      headers: { host: `app-${APP}.apps.example` },
    });
    const [answer] = await once(sent.end(), "response");
    answer.resume();
    return answer.statusCode;
  };
  assert.equal(await statusOf("/"), 200);
  assert.equal(await statusOf("/more"), 502);
});

it("answers of one parent's apps in too many small pieces are ended, and those of others are not", async (t) => {
  const small = "1\r\nx\r\n";
  const app = createRawServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (data) => {
      const [, count] = /^GET \/(\d+) /.exec(String(data)) ?? [];
      // Pieces that are not small count as none.
      const large = `40\r\n${"y".repeat(64)}\r\n`.repeat(100);
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      socket.write(`${small.repeat(Number(count))}${large}0\r\n\r\n`);
    });
  });
  await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
  t.after(() => app.close());
  const others = newId();
  let now = 0;
  const ownerOf = (appId: string) => (appId === others ? { organization_id: "another", parent_id: null } : OWNER);
  const ingress = ingressTo(t, (app.address() as AddressInfo).port, ownerOf, () => now);
  const own = await listening(t, (incoming, answer) => ingress.pass(incoming, answer, "192.0.2.1"));
  /** The length of a whole answer; undefined for one that is cut off. */
  const lengthOf = async (count: number, appId = APP): Promise<number | undefined> => {
    const headers = { host: `app-${appId}.apps.example` };
    const sent = request({ port: own, host: "127.0.0.1", path: `/${count}`, agent: false, headers });
    let length = 0;
    return new Promise((resolve) => {
      sent.once("error", () => resolve(undefined)).end();
      sent.once("response", (answer) => {
        answer.on("data", (bytes: Buffer) => {
          length += bytes.length;
        });
        answer.once("end", () => resolve(length)).once("error", () => resolve(undefined));
      });
    });
  };
  const large = 100 * 64;
  assert.equal(await lengthOf(MAX_SMALL_PIECES_AT_ONCE - 1), MAX_SMALL_PIECES_AT_ONCE - 1 + large);
  assert.equal(await lengthOf(2), undefined);
  assert.equal(await lengthOf(0), large);
  assert.equal(await lengthOf(2, others), 2 + large);
  now += 1000;
  assert.equal(await lengthOf(SMALL_PIECES_PER_SECOND), SMALL_PIECES_PER_SECOND + large);
});
