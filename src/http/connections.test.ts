import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import {
  ANSWER_GRACE_MS,
  MAX_PIPELINED_REQUESTS,
  MIN_ANSWER_BYTES_PER_SECOND,
  SMALL_MESSAGE_BYTES,
} from "../kernel/limits.ts";
import { Connections } from "./connections.ts";

const REQUEST = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
/** More than the buffers of a loopback connection hold. */
const LARGE = Buffer.alloc(32 * 1024 * 1024);

interface Bench {
  connections: Connections;
  /** A client that reads nothing until the test makes it. */
  open(localAddress?: string): Promise<Socket>;
}

async function start(
  t: TestContext,
  handle: RequestListener,
  { max = 100, perAddress = 100, proxy = "" } = {},
): Promise<Bench> {
  const bounds = { maxConnections: max, maxConnectionsPerAddress: perAddress };
  const connections = new Connections(
    bounds,
    (address) => address === proxy,
    () => {},
  );
  const server = createServer(connections.inTurn(handle));
  server.on("connection", (socket) => connections.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const open = async (localAddress = "127.0.0.1") => {
    const before = once(server, "connection");
    const socket = connect({ port, host: "127.0.0.1", localAddress });
    socket.on("error", () => {});
    t.after(() => socket.destroy());
    await Promise.all([before, once(socket, "connect")]);
    return socket;
  };
  return { connections, open };
}

async function answerTo(socket: Socket): Promise<string> {
  socket.write(REQUEST);
  const [data] = await once(socket, "data");
  return String(data);
}

describe("a connection", () => {
  it("is answered one request at a time, in order", async (t) => {
    let open = 0;
    let most = 0;
    const answered: string[] = [];
    const { open: connectClient } = await start(t, (request, response) => {
      most = Math.max(most, ++open);
      response.once("finish", () => open--);
      setImmediate(() => {
        answered.push(request.url ?? "");
        response.end(request.url);
      });
    });
    const socket = await connectClient();
    const paths = Array.from({ length: MAX_PIPELINED_REQUESTS }, (_, index) => `/${index}`);
    let text = "";
    socket.on("data", (data) => {
      text += data;
    });
    socket.write(paths.map((path) => REQUEST.replace("/", path)).join(""));
    while (!text.includes(paths.at(-1) as string)) await once(socket, "data");
    assert.deepEqual(answered, paths);
    assert.equal(most, 1);
  });

  it("that does not take its answers has one, however many requests it sent", async (t) => {
    let handled = 0;
    const { open } = await start(t, (_request, response) => {
      handled++;
      response.end(LARGE);
    });
    const socket = await open();
    socket.pause().write(REQUEST.repeat(MAX_PIPELINED_REQUESTS));
    const bystander = await open();
    bystander.resume().write(REQUEST);
    while (bystander.bytesRead < LARGE.length) await once(bystander, "data");
    assert.equal(handled, 2, "one of each");
  });

  it("that sends far ahead of its answers is cut off", async (t) => {
    let handled = 0;
    const { connections, open } = await start(t, (_request, response) => {
      handled++;
      response.end(LARGE);
    });
    const socket = await open();
    socket.pause().write(REQUEST.repeat(300));
    await once(socket.resume(), "close");
    assert.equal(handled, 1);
    assert.equal(connections.count, 0);
  });

  it("that sends more than small bodies ahead of an answer is cut off", async (t) => {
    const held = Promise.withResolvers<void>();
    const { open, connections } = await start(t, async (request, response) => {
      request.on("error", () => {});
      if (request.url === "/held") await held.promise;
      let length = 0;
      request.on("data", (piece) => {
        length += piece.length;
      });
      request.on("end", () => response.end(`${length} bytes`));
    });
    const sendAhead = async (count: number, length: number) => {
      const socket = await open();
      let text = "";
      socket.on("data", (data) => {
        text += data;
      });
      const head = `POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n`;
      socket.write(REQUEST.replace("/", "/held") + (head + "x".repeat(length)).repeat(count));
      return { socket, text: () => text };
    };
    const small = await sendAhead(MAX_PIPELINED_REQUESTS, SMALL_MESSAGE_BYTES / MAX_PIPELINED_REQUESTS);
    const oneLarge = await sendAhead(1, 20 * SMALL_MESSAGE_BYTES);
    const large = await sendAhead(3, SMALL_MESSAGE_BYTES / 2 + 1);
    for (let rounds = 0; !large.socket.closed; rounds++) {
      assert.ok(rounds < 10_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(large.text(), "");
    assert.equal(connections.count, 2);
    held.resolve();
    while (
      small.text().split(`${SMALL_MESSAGE_BYTES / MAX_PIPELINED_REQUESTS} bytes`).length <= MAX_PIPELINED_REQUESTS
    ) {
      await once(small.socket, "data");
    }
    while (!oneLarge.text().includes(`${20 * SMALL_MESSAGE_BYTES} bytes`)) await once(oneLarge.socket, "data");
  });

  it("whose client does not take an answer in time is cut off", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let began = () => {};
    const writing = new Promise<void>((resolve) => {
      began = resolve;
    });
    const { connections, open } = await start(t, (_request, response) => {
      response.once("prefinish", () => began());
      response.end(LARGE);
    });
    const socket = await open();
    socket.pause().write(REQUEST);
    await writing;
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(ANSWER_GRACE_MS);
    assert.equal(connections.count, 1, "the rest may take its time");
    t.mock.timers.tick((LARGE.length / MIN_ANSWER_BYTES_PER_SECOND + 1) * 1000);
    assert.equal(connections.count, 0);
    socket.resume();
    await once(socket, "close");
    assert.ok(socket.bytesRead < LARGE.length);
  });

  it("whose client took it in time stays", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const { connections, open } = await start(t, (_request, response) => response.end(LARGE));
    const socket = await open();
    socket.resume().write(REQUEST);
    while (socket.bytesRead < LARGE.length) await once(socket, "data");
    socket.pause();
    t.mock.timers.tick(100 * ANSWER_GRACE_MS);
    assert.equal(connections.count, 1);
    socket.removeAllListeners("data");
    assert.match(await answerTo(socket.resume()), /^HTTP\/1.1 200/);
  });
});

describe("of too many connections", () => {
  const small: RequestListener = (_request, response) => response.end("ok");

  it("those of one address that are silent make room, the oldest first", async (t) => {
    const { connections, open } = await start(t, small, { perAddress: 3 });
    const used = await open();
    assert.match(await answerTo(used), /ok$/);
    const silent = await open();
    const closed = once(silent.resume(), "close");
    await open();
    const newest = await open();
    await closed;
    assert.equal(connections.count, 3);
    assert.match(await answerTo(newest), /ok$/);
    assert.match(await answerTo(used), /ok$/, "one in use stays as long as there are silent ones");
  });

  it("in all, the address with the most gives one up", async (t) => {
    const { connections, open } = await start(t, small, { max: 4 });
    const bystander = await open("127.0.0.2");
    const crowd = [await open(), await open(), await open()];
    const closed = once((crowd[0] as Socket).resume(), "close");
    const other = await open("127.0.0.3");
    await closed;
    assert.equal(connections.count, 4);
    assert.match(await answerTo(bystander), /ok$/);
    assert.match(await answerTo(other), /ok$/);
  });

  it("none that waits for its answer makes room", async (t) => {
    const answers: (() => void)[] = [];
    const { connections, open } = await start(
      t,
      (request, response) => {
        connections.hasArrived(request.socket);
        answers.push(() => response.end("ok"));
      },
      { perAddress: 2 },
    );
    const busy = [await open(), await open()];
    const done = busy.map(answerTo);
    while (answers.length < 2) await new Promise((resolve) => setImmediate(resolve));
    const refused = await open();
    await once(refused.resume(), "close");
    for (const answer of answers) answer();
    for (const text of await Promise.all(done)) assert.match(text, /ok$/);
  });

  it("those of a trusted proxy are not counted as of one address", async (t) => {
    const { connections, open } = await start(t, small, { perAddress: 2, proxy: "127.0.0.1" });
    const sockets = [await open(), await open(), await open(), await open()];
    for (const socket of sockets) assert.match(await answerTo(socket), /ok$/);
    assert.equal(connections.count, 4);
  });

  it("and none are remembered that ended", async (t) => {
    const { connections, open } = await start(t, small);
    const sockets = [await open(), await open()];
    for (const socket of sockets) socket.destroy();
    while (connections.count > 0) await new Promise((resolve) => setImmediate(resolve));
  });
});
