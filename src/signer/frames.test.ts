import assert from "node:assert/strict";
import { once } from "node:events";
import { Duplex, PassThrough } from "node:stream";
import { describe, it } from "node:test";
import fc from "fast-check";
import { MAX_SIGNER_FRAME_BYTES } from "../kernel/limits.ts";
import { readFrames, writeFrame } from "./frames.ts";

/** What is written, as bytes. */
function bytesOf(...messages: unknown[]): Buffer {
  const chunks: Buffer[] = [];
  const sink = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  for (const message of messages) writeFrame(sink, message);
  return Buffer.concat(chunks);
}

interface Reading {
  messages: unknown[];
  stream: PassThrough;
  /** What the stream was ended with. */
  failure: Promise<Error>;
}

function reading(onMessage: (message: unknown) => void = () => {}): Reading {
  const stream = new PassThrough();
  const messages: unknown[] = [];
  readFrames(stream, (message) => {
    messages.push(message);
    onMessage(message);
  });
  const failure = once(stream, "error").then(([error]) => error as Error);
  failure.catch(() => {});
  return { messages, stream, failure };
}

const settled = () => new Promise(setImmediate);

describe("frames", () => {
  it("are a 32-bit big-endian length and JSON", () => {
    assert.deepEqual(bytesOf({ a: 1 }), Buffer.concat([Buffer.from([0, 0, 0, 7]), Buffer.from('{"a":1}')]));
  });

  it("arrive as they were sent, however they are cut and joined", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue(), { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }),
        async (messages, sizes) => {
          const sent = messages.map((message) => JSON.parse(JSON.stringify(message)));
          const bytes = bytesOf(...messages);
          const { stream, messages: received } = reading();
          for (let at = 0, turn = 0; at < bytes.length; turn++) {
            const size = sizes[turn % sizes.length] as number;
            stream.write(bytes.subarray(at, at + size));
            at += size;
          }
          await settled();
          assert.deepEqual(received, sent);
        },
      ),
    );
  });

  it("of two bytes are seen at once, and the next is waited for", async () => {
    const { stream, messages } = reading();
    const bytes = bytesOf([], {});
    stream.write(bytes.subarray(0, 8));
    await settled();
    assert.deepEqual(messages, [[]]);
    stream.write(bytes.subarray(8));
    await settled();
    assert.deepEqual(messages, [[], {}]);
  });

  it("over the limit are not written", () => {
    assert.throws(() => bytesOf("x".repeat(MAX_SIGNER_FRAME_BYTES)), /over the limit/);
    assert.equal(bytesOf("x".repeat(MAX_SIGNER_FRAME_BYTES - 2)).length, MAX_SIGNER_FRAME_BYTES + 4);
  });

  it("that claim to be over the limit end the stream before they are read", async () => {
    const { stream, messages, failure } = reading();
    const head = Buffer.alloc(4);
    head.writeUInt32BE(MAX_SIGNER_FRAME_BYTES + 1);
    stream.write(head);
    assert.match((await failure).message, /over the limit/);
    assert.deepEqual(messages, []);
    assert.ok(stream.destroyed);
  });

  for (const [name, bytes] of Object.entries({
    "no JSON": Buffer.concat([Buffer.from([0, 0, 0, 3]), Buffer.from("{a}")]),
    "an empty frame": Buffer.from([0, 0, 0, 0]),
    "text of a terminal": Buffer.from("\x00\x00\x00\x05GET /"),
  })) {
    it(`of junk end the stream: ${name}`, async () => {
      const { stream, messages, failure } = reading();
      stream.write(Buffer.concat([bytesOf("before"), bytes, bytesOf("after")]));
      assert.ok((await failure) instanceof SyntaxError);
      assert.deepEqual(messages, ["before"]);
    });
  }

  it("that cannot be worked on end the stream", async () => {
    const { stream, failure } = reading(() => {
      throw new Error("cannot");
    });
    stream.write(bytesOf(1, 2));
    assert.match((await failure).message, /cannot/);
  });
});
