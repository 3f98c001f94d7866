import type { Work } from "./slices.ts";

/** What became of a request, and how long that took. */
export type Outcome = { ms: number } & ({ response: unknown } | { error: unknown });

interface Begun {
  work: Work;
  onDone: (outcome: Outcome) => void;
  /** Time that went into it so far. */
  ms: number;
  /** Processor time that went into its slices after the first: time in which the machine ran something else does not count. */
  cpuMs: number;
  isFirstSlice: boolean;
}

/** Messages are read, and signs of life given, at least this often. */
const TURN_MS = 2;

/**
 * The requests in hand, one slice of each in turn: a short request does not wait for a long one that came before it. What is
 * done in one turn of the event loop is answered together.
 */
export class Rounds {
  readonly #begun: Begun[] = [];

  begin(work: Work, onDone: (outcome: Outcome) => void): void {
    this.#begun.push({ work, onDone, ms: 0, cpuMs: 0, isFirstSlice: true });
    if (this.#begun.length === 1) setImmediate(() => this.#turn());
  }

  /** The processor time of the request that took most of it. A first slice is not counted: it ends, or nothing more is heard. */
  get longestMs(): number {
    return this.#begun.reduce((longest, { cpuMs }) => Math.max(longest, cpuMs), 0);
  }

  #turn(): void {
    const end = performance.now() + TURN_MS;
    for (let now = 0; this.#begun.length > 0 && now < end; now = performance.now()) {
      const begun = this.#begun.shift() as Begun;
      if (!goOn(begun)) this.#begun.push(begun);
    }
    if (this.#begun.length > 0) setImmediate(() => this.#turn());
  }
}

/** @returns whether the request is answered */
function goOn(begun: Begun): boolean {
  const start = performance.now();
  const cpu = begun.isFirstSlice ? undefined : process.cpuUsage();
  let outcome: { response: unknown } | { error: unknown } | undefined;
  try {
    const { done, value } = begun.work.next();
    if (done) outcome = { response: value };
  } catch (error) {
    outcome = { error };
  }
  begun.ms += performance.now() - start;
  begun.isFirstSlice = false;
  if (outcome) {
    begun.onDone({ ...outcome, ms: begun.ms });
    return true;
  }
  if (cpu) {
    const { user, system } = process.cpuUsage(cpu);
    begun.cpuMs += (user + system) / 1000;
  }
  return false;
}
