import { createGate } from "./gate.ts";

export interface BoundsOfTurns {
  /** At work at a time, of one key ... */
  perKey: number;
  /** ... and of all keys together. */
  total: number;
  /** Of one key, at work and waiting. */
  inside: number;
  /** Whoever waits longer is not begun any more. */
  waitMs: number;
}

/**
 * Runs what is asked of somebody outside in turns, those of keys by turns. Few wait behind others, and none for long: requests that wait hold
 * what their organization may have at work, and whoever asked may have left.
 *
 * @param refuse throws what those are told who do not get their turn
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
