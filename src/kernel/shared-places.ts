/** How many visits a key may have inside at one time. */
export interface SharedPlacesOptions {
  /** The maximum of one key, even if there are no others. */
  atMost: number;
  /** The maximum of all keys together, while more than one key is active. */
  together: number;
  /** So many of each key enter regardless of `together`. */
  always: number;
  /**
   * A visit that has been inside this many milliseconds no longer counts toward `together`, if at least `together` visits have left since
   * it entered: it waits for something that others do not wait for. If too few leave, ten times this.
   */
  countedMs: number;
  /**
   * A key counts as active for this many milliseconds after it entered, if `rememberedVisits` visits have left since, and for up to twice
   * that. If fewer leave, ten times this.
   */
  rememberedMs: number;
  rememberedVisits: number;
}

/**
 * Time alone is not a good measure: on a machine that is slow for everybody, each request would count as waiting, and each pause as the end
 * of a key's activity. So the number of visits that have left counts too. Without any, this many times as much time is enough, so that
 * nobody waits forever behind a request that is stuck.
 */
const TIMES_IF_NOBODY_LEAVES = 10;

interface Holder {
  inside: number;
  /** Those inside that still count. */
  counted: number;
  waiting: (() => void)[];
}

/** A visit that has entered. */
interface Visit {
  holder: Holder;
  since: number;
  /** The value of `#left` when it entered. */
  leftBefore: number;
}

/**
 * Slots that are shared among keys. A key that is the only active one may use many of them. If several keys are active, each leaves room
 * for the others, so that a key with few visits hardly waits. Waiting keys take turns, one visit each.
 */
export class SharedPlaces {
  readonly #options: SharedPlacesOptions;
  readonly #now: () => number;
  readonly #holders = new Map<string, Holder>();
  /** Keys with waiting visits, in the order of their turns. */
  #row: string[] = [];
  /** Visits that count, in the order in which they entered. */
  readonly #counted = new Set<Visit>();
  /** The number of keys with visits that count. */
  #keysInside = 0;
  #timer: NodeJS.Timeout | undefined;
  /** The number of visits that have left so far. */
  #left = 0;
  /** The keys that entered in the current period, and in the one before. */
  #came = { since: 0, leftBefore: 0, now: new Set<string>(), before: new Set<string>() };

  /** @param now milliseconds of a clock that never goes back */
  constructor(options: SharedPlacesOptions, now: () => number) {
    this.#options = options;
    this.#now = now;
    this.#came.since = now();
  }

  /** Waits for a slot. Resolves to a function that releases it. */
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
      // The slot is assigned before the waiting call resumes, so that a later call cannot take it first.
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

  /** While visits wait, checks again when the oldest visit inside may no longer count. */
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
    // Each visit that leaves also triggers a check.
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

  /** Whether a period is over, by its milliseconds and by the visits that have left since. */
  #isOver({ since, leftBefore }: { since: number; leftBefore: number }, ms: number, visits: number): boolean {
    const passed = this.#now() - since;
    return passed >= ms * TIMES_IF_NOBODY_LEAVES || (passed >= ms && this.#left - leftBefore >= visits);
  }
}
