import { MINUTE_MS } from "./durations.ts";

/** How often the same is told. */
const TOLD_EVERY_MS = MINUTE_MS;

/**
 * What may come again and again while something is wrong, told now and then: the first of each kind at once, and within the next minute only how
 * many there were.
 */
export class NowAndThen {
  readonly #now: () => number;
  readonly #told = new Map<string, { at: number; untold: number }>();

  /** @param now milliseconds of a clock that never goes back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * @param kind one of a few that code names
   * @param tell is given how many of the kind were not told since the last that was, where there are any
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

  /** It is over: the next of the kind is told at once. */
  isOver(kind: string): void {
    this.#told.delete(kind);
  }
}
