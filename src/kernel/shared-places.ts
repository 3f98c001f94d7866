/** How many a key may have inside at a time. */
export interface SharedPlacesOptions {
  /** However few others there are. */
  atMost: number;
  /** Of all keys, while more than one comes: whoever has some inside already gets more within this alone ... */
  together: number;
  /** ... but for so many of each, which come in however many are inside. */
  always: number;
  /** Milliseconds after which one that is inside no longer counts among those: it waits for something else than its neighbours do. */
  countedMs: number;
  /** Milliseconds for which a key that came counts as one that comes, and up to twice that. */
  rememberedMs: number;
}

interface Holder {
  inside: number;
  /** Of those inside. */
  counted: number;
  waiting: (() => void)[];
}

/** One that is inside. */
interface Visit {
  holder: Holder;
  since: number;
}

/**
 * Places that are shared among keys: one that comes alone takes many of them, one of several leaves room, so that whoever comes with little
 * finds little before it. Those who wait are let in by turns, one of each key.
 */
export class SharedPlaces {
  readonly #options: SharedPlacesOptions;
  readonly #now: () => number;
  readonly #holders = new Map<string, Holder>();
  /** Keys of which somebody waits, in the order of their turns. */
  #row: string[] = [];
  /** Those that count, the first to come first. */
  readonly #counted = new Set<Visit>();
  #timer: NodeJS.Timeout | undefined;
  /** Who came in this span of time, and in the one before it. */
  #came = { since: 0, now: new Set<string>(), before: new Set<string>() };

  /** @param now milliseconds of a clock that never goes back */
  constructor(options: SharedPlacesOptions, now: () => number) {
    this.#options = options;
    this.#now = now;
  }

  /** Resolves when it is one's turn, to what ends it. */
  async enter(key: string): Promise<() => void> {
    this.#came = this.#cameByNow();
    this.#came.now.add(key);
    const holder = this.#holders.get(key) ?? { inside: 0, counted: 0, waiting: [] };
    this.#holders.set(key, holder);
    const isFirst = holder.waiting.length === 0;
    let visit: Visit;
    if (isFirst && this.#hasPlaceFor(holder)) {
      visit = this.#letIn(holder);
    } else {
      if (isFirst) this.#row.push(key);
      // The place is given before whoever waits goes on, so that nobody who comes later is let in first.
      visit = await new Promise<Visit>((resolve) => {
        holder.waiting.push(() => resolve(this.#letIn(holder)));
        this.#watch();
      });
    }
    return () => {
      holder.inside--;
      this.#stopCounting(visit);
      if (holder.inside === 0 && holder.waiting.length === 0) this.#holders.delete(key);
      this.#callIn();
    };
  }

  #letIn(holder: Holder): Visit {
    const visit = { holder, since: this.#now() };
    holder.inside++;
    holder.counted++;
    this.#counted.add(visit);
    return visit;
  }

  #stopCounting(visit: Visit): void {
    if (this.#counted.delete(visit)) visit.holder.counted--;
  }

  #hasPlaceFor({ inside, counted }: Holder): boolean {
    const { atMost, together, always } = this.#options;
    if (inside >= atMost) return false;
    return counted < always || this.#counted.size < together || !this.#isShared();
  }

  #callIn(): void {
    for (let looked = 0; looked < this.#row.length; ) {
      const key = this.#row[looked] as string;
      const holder = this.#holders.get(key) as Holder;
      if (!this.#hasPlaceFor(holder)) {
        looked++;
        continue;
      }
      this.#row.splice(looked, 1);
      holder.waiting.shift()?.();
      if (holder.waiting.length > 0) this.#row.push(key);
    }
    this.#watch();
  }

  /** While somebody waits: looks again when the first of those inside has been there for so long that it counts no longer. */
  #watch(): void {
    const [first] = this.#counted;
    if (this.#row.length === 0 || !first) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      return;
    }
    if (this.#timer) return;
    const lookAgain = () => {
      this.#timer = undefined;
      this.#stopCountingLongOnes();
      this.#callIn();
    };
    const waitMs = first.since + this.#options.countedMs - this.#now();
    this.#timer = setTimeout(lookAgain, Math.max(0, waitMs)).unref();
  }

  #stopCountingLongOnes(): void {
    const since = this.#now() - this.#options.countedMs;
    for (const visit of this.#counted) {
      if (visit.since > since) return;
      this.#stopCounting(visit);
    }
  }

  #isShared(): boolean {
    const { now, before } = this.#cameByNow();
    if (now.size > 1 || before.size > 1) return true;
    const [one] = now;
    return one !== undefined && before.size === 1 && !before.has(one);
  }

  #cameByNow(): { since: number; now: Set<string>; before: Set<string> } {
    const { rememberedMs } = this.#options;
    const now = this.#now();
    const passed = now - this.#came.since;
    if (passed < rememberedMs) return this.#came;
    return { since: now, now: new Set(), before: passed < 2 * rememberedMs ? this.#came.now : new Set() };
  }
}
