import type { IncomingMessage } from "node:http";
import { fail, KeysteadError } from "../kernel/errors.ts";
import { MAX_BODY_BYTES, SMALL_MESSAGE_BYTES } from "../kernel/limits.ts";

/** Reserves room for a body that is not small. Throws if there is none. */
export type TakeRoom = (bytes: number) => void;

/**
 * Reads the exact bytes of a request's body. If the request declares its length, room for it is reserved before it is read. If not, room
 * for the largest body is reserved as soon as this one is not small.
 *
 * @throws KeysteadError BODY_TOO_LARGE, BODY_INVALID if the client disconnects, or an error of `takeRoom`
 */
export function readBody(request: IncomingMessage, takeRoom: TakeRoom): Promise<Buffer> {
  const declared = request.headers["content-length"];
  if (declared !== undefined) {
    refuseLarge(Number(declared));
    takeRoom(Number(declared));
  }
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let hasRoom = declared !== undefined;
    const stop = (error: unknown) => {
      request.off("data", onData).off("end", onEnd).off("error", onError);
      // The rest is read and discarded. A client that is still sending would otherwise not read why it was refused.
      request.resume();
      reject(error);
    };
    const onData = (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      try {
        refuseLarge(length);
        if (!hasRoom && length > SMALL_MESSAGE_BYTES) {
          takeRoom(MAX_BODY_BYTES);
          hasRoom = true;
        }
      } catch (error) {
        stop(error);
      }
    };
    const onEnd = () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, length));
    const onError = () => stop(new KeysteadError("BODY_INVALID", { reason: "it was not sent whole" }, []));
    request.on("data", onData).once("end", onEnd).once("error", onError);
  });
}

function refuseLarge(bytes: number): void {
  if (bytes > MAX_BODY_BYTES) fail("BODY_TOO_LARGE", { maxBytes: MAX_BODY_BYTES });
}
