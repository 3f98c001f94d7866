import { SMALL_MESSAGE_BYTES } from "./limits.ts";

/**
 * Lets in work by the bytes that it will hold, so many in all and so many of each key; the rest waits. Keys have their turns, and
 * work that is larger than the bounds has the room alone. What is small is always let in.
 */
export class ByteRoom {
  readonly #inAll: number;
  readonly #ofOneKey: number;
  readonly #heldBy = new Map<string, number>();
  /** The key whose turn is next stands first. */
  readonly #waiting = new Map<string, { bytes: number; letIn: () => void }[]>();
  #held = 0;

  constructor({ inAll, ofOneKey }: { inAll: number; ofOneKey: number }) {
    this.#inAll = inAll;
    this.#ofOneKey = ofOneKey;
  }

  /** Resolves when there is room, to what gives it back; calling that again does nothing. */
  async enter(key: string, bytes: number): Promise<() => void> {
    if (bytes <= SMALL_MESSAGE_BYTES) return () => {};
    await new Promise<void>((letIn) => {
      const queue = this.#waiting.get(key);
      if (queue) queue.push({ bytes, letIn });
      else this.#waiting.set(key, [{ bytes, letIn }]);
      this.#letIn();
    });
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#hold(key, -bytes);
      this.#letIn();
    };
  }

  #letIn(): void {
    for (const [key, queue] of this.#waiting) {
      const [first] = queue;
      if (first === undefined || !fits(this.#heldBy.get(key) ?? 0, first.bytes, this.#ofOneKey)) continue;
      // Nobody smaller goes before the one whose turn it is, or it would wait forever.
      if (!fits(this.#held, first.bytes, this.#inAll)) return;
      queue.shift();
      this.#waiting.delete(key);
      // Reached again in this loop, after the others.
      if (queue.length > 0) this.#waiting.set(key, queue);
      this.#hold(key, first.bytes);
      first.letIn();
    }
  }

  #hold(key: string, bytes: number): void {
    this.#held += bytes;
    const own = (this.#heldBy.get(key) ?? 0) + bytes;
    if (own === 0) this.#heldBy.delete(key);
    else this.#heldBy.set(key, own);
  }
}

const fits = (held: number, bytes: number, bound: number): boolean => held === 0 || held + bytes <= bound;
