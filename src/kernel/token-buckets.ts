import { type RecentlyUsed, recentlyUsed } from "./recently-used.ts";

interface Bucket {
  tokens: number;
  /** When it had this many, in milliseconds. */
  at: number;
}

/**
 * One token bucket per key. Each fills at `perSecond` up to `burst`. The least recently used buckets are dropped; a dropped bucket counts
 * as full.
 */
export class TokenBuckets {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #now: () => number;
  readonly #buckets: RecentlyUsed<Bucket>;

  /** @param now milliseconds of a clock that never goes back */
  constructor(rate: { perSecond: number; burst: number }, capacity: number, now: () => number) {
    this.#perSecond = rate.perSecond;
    this.#burst = rate.burst;
    this.#now = now;
    this.#buckets = recentlyUsed({ entries: capacity });
  }

  /**
   * Takes tokens from a bucket that has at least one. Its balance may be negative afterwards.
   *
   * @returns 0, or the seconds until the bucket has a token again; then nothing was taken
   */
  take(key: string, tokens: number): number {
    const bucket = this.#bucketOf(key);
    if (bucket.tokens < 1) return (1 - bucket.tokens) / this.#perSecond;
    this.#buckets.set(key, { tokens: bucket.tokens - tokens, at: bucket.at });
    return 0;
  }

  /** Seconds until the bucket has a token; 0 if it has one. */
  secondsUntilOne(key: string): number {
    return Math.max(0, 1 - this.#bucketOf(key).tokens) / this.#perSecond;
  }

  #bucketOf(key: string): Bucket {
    const at = this.#now();
    const known = this.#buckets.get(key);
    if (!known) return { tokens: this.#burst, at };
    return { tokens: Math.min(this.#burst, known.tokens + ((at - known.at) / 1000) * this.#perSecond), at };
  }
}
