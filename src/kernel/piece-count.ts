import { BYTES_PER_PIECE } from "./limits.ts";

/**
 * Counts the pieces in which a message's body arrives: chunks of a chunked body, or whatever is read from the connection at a time. Each takes
 * a few hundred bytes of memory and about a microsecond, even for a single byte.
 */
export class PieceCount {
  readonly #atMost: number;
  #pieces = 0;
  #bytes = 0;

  /** @param atMost how many are accepted, and one more for each `BYTES_PER_PIECE` bytes */
  constructor(atMost: number) {
    this.#atMost = atMost;
  }

  /** False once there are too many. */
  add(bytes: number): boolean {
    this.#pieces++;
    this.#bytes += bytes;
    return this.#pieces <= this.#atMost + this.#bytes / BYTES_PER_PIECE;
  }
}
