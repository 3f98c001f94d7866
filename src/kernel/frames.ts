import type { Duplex } from "node:stream";
import { MAX_FRAME_BYTES } from "./limits.ts";

const LENGTH_BYTES = 4;

/**
 * Writes one message: a 32-bit big-endian length, then that many bytes of JSON. Messages written in the same turn of the event loop are
 * sent together, because a system call costs more than a message.
 */
export function writeFrame(stream: Duplex, message: unknown): void {
  const body = Buffer.from(JSON.stringify(message));
  if (body.length > MAX_FRAME_BYTES) throw new Error(`a frame of ${body.length} bytes is over the limit`);
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + body.length);
  frame.writeUInt32BE(body.length);
  body.copy(frame, LENGTH_BYTES);
  if (stream.writableCorked === 0) {
    stream.cork();
    setImmediate(() => stream.uncork());
  }
  stream.write(frame);
}

/** Calls `onMessage` for each complete message. A length over the limit or invalid JSON ends the stream. */
export function readFrames(stream: Duplex, onMessage: (message: unknown) => void): void {
  let pending: Buffer = Buffer.alloc(0);
  stream.on("data", (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    while (pending.length >= LENGTH_BYTES) {
      const length = pending.readUInt32BE();
      if (length > MAX_FRAME_BYTES) {
        stream.destroy(new Error(`a frame of ${length} bytes is over the limit`));
        return;
      }
      if (pending.length < LENGTH_BYTES + length) return;
      const body = pending.subarray(LENGTH_BYTES, LENGTH_BYTES + length);
      pending = pending.subarray(LENGTH_BYTES + length);
      try {
        onMessage(JSON.parse(body.toString()));
      } catch (error) {
        stream.destroy(error as Error);
        return;
      }
    }
  });
}
