import type { Work } from "./slices.ts";

/** The outcome of a request, and the time it took. */
export type Outcome = { ms: number } & ({ response: unknown } | { error: unknown });

interface Begun {
  work: Work;
  onDone: (outcome: Outcome) => void;
  /** Time spent on it so far. */
  ms: number;
  /** Processor time of its slices after the first. It excludes time in which the machine ran something else. */
  cpuMs: number;
  isFirstSlice: boolean;
}

/** Messages are read and pings are answered at least this often. */
const TURN_MS = 2;

/**
 * The requests in progress. Slices alternate between organizations, and between the requests of one organization. So a short request does
 * not wait for a long one that came before it, and an organization does not wait for the many requests of another. Requests that are
 * finished in one turn of the event loop are answered together.
 */
export class Rounds {
  /** By organization; the first one gets the next slice. */
  readonly #begun = new Map<string, Begun[]>();

  begin(organizationId: string, work: Work, onDone: (outcome: Outcome) => void): void {
    const begun = { work, onDone, ms: 0, cpuMs: 0, isFirstSlice: true };
    const own = this.#begun.get(organizationId);
    if (own) own.push(begun);
    else this.#begun.set(organizationId, [begun]);
    if (!own && this.#begun.size === 1) setImmediate(() => this.#turn());
  }

  /**
   * The processor time of the request that has used most of it. A first slice does not count: if it never ends, the signer falls silent,
   * which is noticed.
   */
  get longestMs(): number {
    return [...this.#begun.values()].flat().reduce((longest, { cpuMs }) => Math.max(longest, cpuMs), 0);
  }

  /** If several organizations have work, each gets at most one slice per turn; then new messages are read and take their turns as well. */
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
