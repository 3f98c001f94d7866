/** How many a key may have inside at a time. */
export interface SharedPlacesOptions {
  /** However few others there are. */
  atMost: number;
  /** Of all keys, while more than one comes: whoever has some inside already gets more within this alone ... */
  together: number;
  /** ... but for so many of each, which come in however many are inside. */
  always: number;
  /**
   * Milliseconds after which one that is inside no longer counts among those, if as many as there are `together` have left since it came in: it waits for
   * something else than its neighbours do. Where nobody leaves, ten times that.
   */
  countedMs: number;
  /** Milliseconds for which a key that came counts as one that comes, if so many have left meanwhile, and up to twice that. Where fewer leave, ten times that. */
  rememberedMs: number;
  rememberedVisits: number;
}

/**
 * By time alone, a machine that is slow for everybody would take each request for one that waits, and each pause for an end. Whether others got on
 * in that time tells; but whoever waits for somebody that gets nowhere waits no longer than so many times as long.
 */
const TIMES_IF_NOBODY_LEAVES = 10;

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
  /** How many had left when it came in. */
  leftBefore: number;
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
  /** Of how many keys they are. */
  #keysInside = 0;
  #timer: NodeJS.Timeout | undefined;
  /** How many have left in all. */
  #left = 0;
  /** Who came in this span of time, and in the one before it. */
  #came = { since: 0, leftBefore: 0, now: new Set<string>(), before: new Set<string>() };

  /** @param now milliseconds of a clock that never goes back */
  constructor(options: SharedPlacesOptions, now: () => number) {
    this.#options = options;
    this.#now = now;
    this.#came.since = now();
  }

  /** Resolves when it is one's turn, to what ends it. */
  async enter(key: string): Promise<() => void> {
    this.#came = this.#cameByNow();
    this.#came.now.add(key);
    this.#stopCountingLongOnes();
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
      this.#left++;
      this.#stopCounting(visit);
      if (holder.inside === 0 && holder.waiting.length === 0) this.#holders.delete(key);
      this.#callIn();
    };
  }

  #letIn(holder: Holder): Visit {
    const visit = { holder, since: this.#now(), leftBefore: this.#left };
    holder.inside++;
    if (holder.counted++ === 0) this.#keysInside++;
    this.#counted.add(visit);
    return visit;
  }

  #stopCounting(visit: Visit): void {
    if (this.#counted.delete(visit) && --visit.holder.counted === 0) this.#keysInside--;
  }

  #hasPlaceFor({ inside, counted }: Holder): boolean {
    const { atMost, together, always } = this.#options;
    if (inside >= atMost) return false;
    return counted < always || this.#counted.size < together || !this.#isShared();
  }

  #callIn(): void {
    this.#stopCountingLongOnes();
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

  /** While somebody waits: looks again when the first of those inside may have been there for so long that it counts no longer. */
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
      this.#callIn();
    };
    const { countedMs } = this.#options;
    const inside = this.#now() - first.since;
    // Whoever leaves looks as well.
    const until = inside < countedMs ? countedMs : countedMs * TIMES_IF_NOBODY_LEAVES;
    this.#timer = setTimeout(lookAgain, Math.max(0, until - inside)).unref();
  }

  #stopCountingLongOnes(): void {
    const { countedMs, together } = this.#options;
    for (const visit of this.#counted) {
      if (!this.#isOver(visit, countedMs, together)) return;
      this.#stopCounting(visit);
    }
  }

  #isShared(): boolean {
    if (this.#keysInside > 1) return true;
    const { now, before } = this.#cameByNow();
    if (now.size > 1 || before.size > 1) return true;
    const [one] = now;
    return one !== undefined && before.size === 1 && !before.has(one);
  }

  #cameByNow(): { since: number; leftBefore: number; now: Set<string>; before: Set<string> } {
    const { rememberedMs, rememberedVisits } = this.#options;
    const came = this.#came;
    if (!this.#isOver(came, rememberedMs, rememberedVisits)) return came;
    const now = this.#now();
    const isNext = !this.#isOver(came, 2 * rememberedMs, 2 * rememberedVisits);
    return { since: now, leftBefore: this.#left, now: new Set(), before: isNext ? came.now : new Set() };
  }

  /** Whether something that began then is so long ago, in milliseconds and in those who have left since. */
  #isOver({ since, leftBefore }: { since: number; leftBefore: number }, ms: number, visits: number): boolean {
    const passed = this.#now() - since;
    return passed >= ms * TIMES_IF_NOBODY_LEAVES || (passed >= ms && this.#left - leftBefore >= visits);
  }
}
