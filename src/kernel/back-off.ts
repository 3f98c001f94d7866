/** The pauses between retries. */
export interface BackOff {
  firstMs: number;
  longestMs: number;
  /** The largest part of a pause, below 1, by which it is shortened at random. */
  spread: number;
}

/**
 * A pause that doubles with each failure and is shortened at random, so that what failed at the same time is not retried at the same time.
 */
export function backOffMs(
  { firstMs, longestMs, spread }: BackOff,
  attempts: number,
  random: () => number = Math.random,
): number {
  const pause = Math.min(longestMs, firstMs * 2 ** Math.min(attempts, 30));
  return Math.round(pause * (1 - random() * spread));
}
