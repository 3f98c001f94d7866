import { createHash } from "node:crypto";
import { pause } from "../../kernel/turns.ts";

/** Bytes that take well under the time of one turn. */
const PIECE_BYTES = 256 * 1024;

/** These bytes in pieces that one turn of the event loop is enough for. */
export function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.subarray(at, at + PIECE_BYTES);
}

/** SHA-256 in hex of what may have a hundred megabytes, with turns for others in between. */
export async function sha256InTurns(bytes: Buffer): Promise<string> {
  const hash = createHash("sha256");
  for (const piece of piecesOf(bytes)) {
    await pause();
    hash.update(piece);
  }
  return hash.digest("hex");
}
