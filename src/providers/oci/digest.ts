import { createHash } from "node:crypto";
import { pause } from "../../kernel/turns.ts";

/** Bytes that take far less than a turn's time. */
const PIECE_BYTES = 256 * 1024;

/** Splits bytes into pieces that are each short enough for one turn of the event loop. */
function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

/** The SHA-256, in hex, of content that may have a hundred megabytes. Other work runs in between. */
export const sha256InTurns = (bytes: Buffer): Promise<string> => sha256OfPieces(piecesOf(bytes));

/** The same of content in pieces that are each short enough for one turn of the event loop. */
export async function sha256OfPieces(pieces: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of pieces) {
    await pause();
    hash.update(piece);
  }
  return hash.digest("hex");
}
