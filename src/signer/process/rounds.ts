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
 * The requests in hand. Organizations have slices in turn, and so have the requests of one: neither does a short request wait for a
 * long one that came before it, nor an organization for the many of another. What is done in one turn of the event loop is
 * answered together.
 */
export class Rounds {
  /** By organization; the first has the next slice. */
  readonly #begun = new Map<string, Begun[]>();

  begin(organizationId: string, work: Work, onDone: (outcome: Outcome) => void): void {
    const begun = { work, onDone, ms: 0, cpuMs: 0, isFirstSlice: true };
    const own = this.#begun.get(organizationId);
    if (own) own.push(begun);
    else this.#begun.set(organizationId, [begun]);
    if (!own && this.#begun.size === 1) setImmediate(() => this.#turn());
  }

  /** The processor time of the request that took most of it. A first slice is not counted: it ends, or nothing more is heard. */
  get longestMs(): number {
    return [...this.#begun.values()].flat().reduce((longest, { cpuMs }) => Math.max(longest, cpuMs), 0);
  }

  /** Where several organizations have work, each has one slice at most: what they sent meanwhile is read, and has its turn. */
  #turn(): void {
    const end = performance.now() + TURN_MS;
    let left = this.#begun.size;
    do {
      this.#goOnWithNext();
      left = this.#begun.size > 1 ? left - 1 : this.#begun.size;
    } while (left > 0 && performance.now() < end);
    if (this.#begun.size > 0) setImmediate(() => this.#turn());
  }

  #goOnWithNext(): void {
    const [organizationId, own] = this.#begun.entries().next().value as [string, Begun[]];
    const begun = own.shift() as Begun;
    if (!goOn(begun)) own.push(begun);
    this.#begun.delete(organizationId);
    if (own.length > 0) this.#begun.set(organizationId, own);
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
