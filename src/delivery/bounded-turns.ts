import { createGate } from "./gate.ts";

export interface BoundsOfTurns {
  /** Running calls of one key. */
  perKey: number;
  /** Running calls of all keys together. */
  total: number;
  /** Running and waiting calls of one key. */
  inside: number;
  /** A call that waits longer than this is refused instead of started. */
  waitMs: number;
}

/**
 * Runs calls to an external service in bounded numbers. Keys take turns. Only a bounded number waits, and not for long: a waiting request
 * uses a slot of its organization, and its client may have disconnected.
 *
 * @param refuse throws the error for calls that are refused
 */
export function boundedTurns(
  { perKey, total, inside, waitMs }: BoundsOfTurns,
  refuse: () => never,
): <T>(key: string, fn: () => Promise<T> | T) => Promise<T> {
  const gate = createGate({ perKey, total });
  const counts = new Map<string, number>();
  return async (key, fn) => {
    const count = counts.get(key) ?? 0;
    if (count >= inside) return refuse();
    counts.set(key, count + 1);
    const latest = performance.now() + waitMs;
    try {
      return await gate.run(key, () => (performance.now() > latest ? refuse() : fn()));
    } finally {
      const left = (counts.get(key) as number) - 1;
      if (left === 0) counts.delete(key);
      else counts.set(key, left);
    }
  };
}
