/** Random numbers that can be had again: a test that fails prints its seed, and TEST_SEED=<seed> repeats it. */
export interface SeededRandom {
  seed: number;
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  pick<T>(choices: readonly T[]): T;
}

/** Mulberry32: 32 bits of state are plenty for choosing what to do next. */
export function seededRandom(seed = seedOfThisRun()): SeededRandom {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (min: number, max: number) => min + Math.floor(next() * (max - min + 1));
  return { seed, integer, pick: (choices) => choices[integer(0, choices.length - 1)] as (typeof choices)[number] };
}

const seedOfThisRun = (): number => Number(process.env.TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));
