import { SMALL_MESSAGE_BYTES } from "./limits.ts";

/**
 * Limits work by the bytes that it will hold in memory, in total and per key. Further work waits. Keys take turns. Work that exceeds a
 * bound by itself runs when nothing else is held. Small work is always let in.
 */
export class ByteRoom {
  readonly #inAll: number;
  readonly #ofOneKey: number;
  readonly #heldBy = new Map<string, number>();
  /** In the order of their turns: the first key is next. */
  readonly #waiting = new Map<string, { bytes: number; letIn: () => void }[]>();
  #held = 0;

  constructor({ inAll, ofOneKey }: { inAll: number; ofOneKey: number }) {
    this.#inAll = inAll;
    this.#ofOneKey = ofOneKey;
  }

  /** Waits until there is room. Resolves to a function that releases it, which may be called more than once. */
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
      // Smaller work may not overtake the key whose turn it is, or that key could wait forever.
      if (!fits(this.#held, first.bytes, this.#inAll)) return;
      queue.shift();
      this.#waiting.delete(key);
      // At the end, so that this loop reaches the key again after the others.
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
