import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, describe, it } from "node:test";
import { BYTES_PER_PIECE, MAX_BODY_PIECES } from "../kernel/limits.ts";
import { createLogger } from "../kernel/log.ts";
import { createListener, createRoom } from "./listener.ts";

/** Each of one byte: as many as are accepted. */
const MOST_SMALL_PIECES = Math.floor((MAX_BODY_PIECES * BYTES_PER_PIECE) / (BYTES_PER_PIECE - 1));
const END = "0\r\n\r\n";
const NEXT = "GET /public/next HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

const headOf = (path: string, host = "a") =>
  `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n`;
const pieces = (count: number, bytes = 1) => `${bytes.toString(16)}\r\n${"x".repeat(bytes)}\r\n`.repeat(count);

describe("a body in many pieces", () => {
  const turnedAway: string[] = [];
  let releaseHeld = () => {};
  const listener = createListener({
    log: createLogger("silent"),
    trustedProxies: [],
    room: createRoom({ maxConnections: 10, maxConnectionsPerAddress: 10 }, [], () => {}),
    observer: { answered: () => {}, failed: () => {}, turnedAway: (reason) => void turnedAway.push(reason) },
    elsewhere: {
      takes: ({ host }) => host === "app",
      pass: (request, response) => void request.pipe(response),
    },
  });
  const route = (name: string, answer: (body: Buffer) => Promise<string>) => ({
    method: "POST" as const,
    path: `/public/${name}`,
    operation: name,
    accept: () => async (body: Buffer) => ({ body: await answer(body) }),
  });
  let port = 0;
  before(async () => {
    const held = () => new Promise<string>((resolve) => (releaseHeld = () => resolve("held")));
    const routes = [route("length", async ({ length }) => `${length} bytes`), route("held", held)];
    listener.mount({ routes, anyOriginBelow: "/public/" });
    ({ port } = await listener.listen({ host: "127.0.0.1", port: 0 }));
  });
  after(() => listener.close());

  function open(): { socket: Socket; text: () => string } {
    const socket = connect(port, "127.0.0.1");
    const chunks: Buffer[] = [];
    socket.on("data", (chunk) => chunks.push(chunk)).on("error", () => {});
    return { socket, text: () => Buffer.concat(chunks).toString() };
  }

  /** All that the server answers until it closes the connection. */
  async function answerTo(sent: string): Promise<string> {
    const { socket, text } = open();
    socket.write(sent);
    await once(socket, "close");
    return text();
  }

  for (const [way, head] of Object.entries({
    "the short way": headOf("/public/length"),
    "the long way": headOf("/public/length?"),
  })) {
    it(`is read on ${way}, up to a number that grows with its bytes`, async () => {
      for (const [count, bytes] of [
        [MOST_SMALL_PIECES, 1],
        [3 * MAX_BODY_PIECES, BYTES_PER_PIECE],
      ] as const) {
        const answer = await answerTo(head + pieces(count, bytes) + END + NEXT);
        assert.match(answer, new RegExp(`^HTTP/1\\.1 200 .*${count * bytes} bytesHTTP/1\\.1 404 `, "s"));
      }
    });

    it(`is refused on ${way} beyond that, with its connection`, async () => {
      turnedAway.length = 0;
      for (const [count, bytes] of [
        [MOST_SMALL_PIECES + 1, 1],
        [3 * MAX_BODY_PIECES, BYTES_PER_PIECE / 2],
      ] as const) {
        const answer = await answerTo(head + pieces(count, bytes) + END + NEXT);
        assert.match(answer, /^HTTP\/1\.1 400 (?!.*HTTP\/1\.1).*connection: close.*more than 1024 pieces/is);
      }
      assert.deepEqual(turnedAway, ["broken", "broken"]);
    });
  }

  it("is refused for an app as well", async () => {
    const sent = (count: number) => headOf("/", "app") + pieces(count) + END + NEXT;
    assert.match(await answerTo(sent(MOST_SMALL_PIECES)), /HTTP\/1\.1 404 /);
    assert.doesNotMatch(await answerTo(sent(MOST_SMALL_PIECES + 1)), /HTTP\/1\.1 404 /);
  });

  it("that nobody reads is discarded, and ends its connection beyond that number", async () => {
    for (const [count, next] of [
      [MOST_SMALL_PIECES, /^HTTP\/1\.1 404 .*HTTP\/1\.1 404 /s],
      [MOST_SMALL_PIECES + 1, /^HTTP\/1\.1 404 (?!.*HTTP\/1\.1)/s],
    ] as const) {
      const { socket, text } = open();
      socket.write(headOf("/public/nowhere"));
      await once(socket, "data");
      socket.write(pieces(count) + END + NEXT);
      await once(socket, "close");
      assert.match(text(), next);
    }
  });

  it("that waits for the answer to another request ends their connection beyond that number", async () => {
    const { socket, text } = open();
    socket.write("POST /public/held HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    socket.write(headOf("/public/length") + pieces(MOST_SMALL_PIECES + 1) + END + NEXT);
    // Answers to others, so that what was written before them has been looked at.
    for (let times = 0; times < 10; times++) assert.match(await answerTo(NEXT), /^HTTP\/1\.1 404 /);
    releaseHeld();
    if (!socket.closed) await once(socket, "close");
    assert.equal(text(), "");
  });
});
