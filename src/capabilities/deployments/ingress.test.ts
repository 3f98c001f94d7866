import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { newId } from "../../kernel/ids.ts";
import { createLogger } from "../../kernel/log.ts";
import { msToReceive } from "../../kernel/pace.ts";
import type { Reader } from "../../storage/engine.ts";
import { Ingress } from "./ingress.ts";

const APP = newId();

async function listening(t: TestContext, handle: RequestListener): Promise<number> {
  const server: Server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
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
  const live = [{ id: "deployment", public_ingress_port: port }];
  const read = { kind: "sqlite", all: async () => live } as unknown as Reader;
  const runner = { replicasOf: () => [{ isReady: true, address: "127.0.0.1" }] as never };
  const ingress = new Ingress({ database: { read }, runner, domain: "apps.example", log: createLogger("silent") });
  t.after(() => ingress.close());
  const own = await listening(t, (incoming, answer) => {
    const { write } = answer;
    answer.write = ((...given: Parameters<typeof write>) => {
      const takesMore = write.apply(answer, given);
      if (!takesMore) setImmediate(paused.resolve);
      return takesMore;
    }) as typeof write;
    ingress.pass(incoming, answer);
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
