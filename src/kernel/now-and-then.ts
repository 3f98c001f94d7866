import { MINUTE_MS } from "./durations.ts";

/** How often the same kind is reported. */
const TOLD_EVERY_MS = MINUTE_MS;

/**
 * Limits reports of events that may repeat while something is wrong. The first event of each kind is reported immediately. Further events
 * are only counted; the first one after a minute is reported with their number.
 */
export class NowAndThen {
  readonly #now: () => number;
  readonly #told = new Map<string, { at: number; untold: number }>();

  /** @param now milliseconds of a clock that never goes back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * @param kind one of a few names in the code
   * @param tell gets the number of events since the last report that were not reported, if there are any
   */
  note(kind: string, tell: (since: { untold?: number }) => void): void {
    const now = this.#now();
    const told = this.#told.get(kind);
    if (told && now - told.at < TOLD_EVERY_MS) {
      told.untold++;
      return;
    }
    this.#told.set(kind, { at: now, untold: 0 });
    tell(told?.untold ? { untold: told.untold } : {});
  }

  /** Ends the problem: the next event of the kind is reported immediately. */
  isOver(kind: string): void {
    this.#told.delete(kind);
  }
}
