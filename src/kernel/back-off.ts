/** How what failed is tried again. */
export interface BackOff {
  firstMs: number;
  longestMs: number;
  /** The part of a pause, below 1, by which it is shortened at most. */
  spread: number;
}

/** Doubling pauses, each shortened by a random part, so that what failed together does not come back so. */
export function backOffMs(
  { firstMs, longestMs, spread }: BackOff,
  attempts: number,
  random: () => number = Math.random,
): number {
  const pause = Math.min(longestMs, firstMs * 2 ** Math.min(attempts, 30));
  return Math.round(pause * (1 - random() * spread));
}
