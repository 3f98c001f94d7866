import { IncomingMessage } from "node:http";
import { MAX_BODY_PIECES } from "../kernel/limits.ts";
import { PieceCount } from "../kernel/piece-count.ts";

/**
 * The class of a server's requests. It bounds the number of pieces in which a body arrives, whether the body is read, waits to be read or is
 * discarded.
 *
 * @param onTooMany called once for a request whose body comes in too many pieces; no more of its connection is read then
 */
export const requestsInFewPieces = (onTooMany: (request: IncomingMessage) => void): typeof IncomingMessage =>
  class extends IncomingMessage {
    readonly #pieces = new PieceCount(MAX_BODY_PIECES);
    #isRefused = false;

    // The parser passes each piece to this method.
    override push(piece: Buffer | null): boolean {
      if (piece === null) return super.push(null);
      // What else has been read already is still parsed.
      if (this.#isRefused) return false;
      if (this.#pieces.add(piece.length)) return super.push(piece);
      this.#isRefused = true;
      onTooMany(this);
      return false;
    }
  };

/** Reads and discards the rest of a body that nobody reads. Left to itself, Node discards it without passing it on as pieces. */
export function discardRest(request: IncomingMessage): void {
  if (request.complete || request.readableFlowing !== null) return;
  // Marks it as read immediately, which `resume` alone does later.
  request.read(0);
  request.resume();
}
