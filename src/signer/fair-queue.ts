/** What waits: whose work it is, and what it costs. */
export interface Queued {
  readonly organizationId: string;
  readonly cost: number;
}

export interface FairQueueOptions<Item extends Queued> {
  /** What may wait of one organization, by number and by cost. */
  waiting: { count: number; cost: number };
  /** What may wait of all by cost; beyond it each may have one item waiting. */
  waitingCostInAll: number;
  /** What may be out of one organization at once by cost, be it one item that costs more; and of all by number. */
  out: { cost: number; countInAll: number };
  /** Whether an item is still asked for; one that is not is dropped when the queue comes upon it. */
  isWanted: (item: Item) => boolean;
  onDropped: (item: Item) => void;
}

/** What waits and what is out of one organization. */
interface Lane<Item> {
  waiting: Item[];
  waitingCost: number;
  outCount: number;
  outCost: number;
  /** Whether the lane stands in the row of those that may send. */
  isReady: boolean;
}

/**
 * A queue that is fair among organizations: each sends in its turn, and none has more out at once than its window, so that
 * whoever comes next finds the worker with a bounded amount of everybody's work, however much of it waits here.
 */
export class FairQueue<Item extends Queued> {
  readonly #options: FairQueueOptions<Item>;
  readonly #lanes = new Map<string, Lane<Item>>();
  /** Lanes whose first item fits into their window, in the order of their turns. */
  #ready: Lane<Item>[] = [];
  #waitingCount = 0;
  #waitingCost = 0;
  #outCount = 0;

  constructor(options: FairQueueOptions<Item>) {
    this.#options = options;
  }

  /** How many items wait. */
  get length(): number {
    return this.#waitingCount;
  }

  /** How many are out. */
  get out(): number {
    return this.#outCount;
  }

  /** What waits of one organization. */
  waitingCostOf(organizationId: string): number {
    return this.#lanes.get(organizationId)?.waitingCost ?? 0;
  }

  /** @returns false where the organization has too much waiting already; the item is then not in the queue */
  add(item: Item): boolean {
    const lane = this.#laneOf(item.organizationId);
    if (!this.#hasRoom(lane, item)) {
      this.#dropUnwanted(lane);
      if (!this.#hasRoom(lane, item)) return false;
    }
    lane.waiting.push(item);
    this.#count(lane, item, 1);
    this.#makeReady(lane);
    return true;
  }

  /** The next item that may go out; undefined while none may. `returned` is to be told when it is done. */
  next(): Item | undefined {
    while (this.#outCount < this.#options.out.countInAll) {
      const lane = this.#ready.shift();
      if (!lane) return undefined;
      lane.isReady = false;
      const item = lane.waiting.shift();
      if (item === undefined) continue;
      this.#count(lane, item, -1);
      const isWanted = this.#options.isWanted(item);
      if (isWanted) {
        lane.outCount++;
        lane.outCost += item.cost;
        this.#outCount++;
      }
      this.#makeReady(lane);
      if (isWanted) return item;
      this.#forgetIfIdle(item.organizationId, lane);
      this.#options.onDropped(item);
    }
    return undefined;
  }

  /** An item that went out is done. */
  returned({ organizationId, cost }: Item): void {
    const lane = this.#laneOf(organizationId);
    lane.outCount--;
    lane.outCost -= cost;
    this.#outCount--;
    this.#makeReady(lane);
    this.#forgetIfIdle(organizationId, lane);
  }

  /** Takes out all that waits. */
  drain(): Item[] {
    const items = [...this.#lanes.values()].flatMap(({ waiting }) => waiting);
    for (const [organizationId, lane] of this.#lanes) {
      lane.waiting = [];
      lane.waitingCost = 0;
      lane.isReady = false;
      this.#forgetIfIdle(organizationId, lane);
    }
    this.#ready = [];
    this.#waitingCount = 0;
    this.#waitingCost = 0;
    return items;
  }

  #laneOf(organizationId: string): Lane<Item> {
    let lane = this.#lanes.get(organizationId);
    if (!lane) {
      lane = { waiting: [], waitingCost: 0, outCount: 0, outCost: 0, isReady: false };
      this.#lanes.set(organizationId, lane);
    }
    return lane;
  }

  #hasRoom({ waiting, waitingCost }: Lane<Item>, { cost }: Item): boolean {
    if (waiting.length === 0) return true;
    const { waiting: bounds, waitingCostInAll } = this.#options;
    if (this.#waitingCost + cost > waitingCostInAll) return false;
    return waiting.length < bounds.count && waitingCost + cost <= bounds.cost;
  }

  #dropUnwanted(lane: Lane<Item>): void {
    const { isWanted, onDropped } = this.#options;
    const items = lane.waiting;
    lane.waiting = [];
    for (const item of items) {
      if (isWanted(item)) {
        lane.waiting.push(item);
      } else {
        this.#count(lane, item, -1);
        onDropped(item);
      }
    }
  }

  #count(lane: Lane<Item>, { cost }: Item, one: 1 | -1): void {
    lane.waitingCost += one * cost;
    this.#waitingCost += one * cost;
    this.#waitingCount += one;
  }

  #makeReady(lane: Lane<Item>): void {
    const [first] = lane.waiting;
    if (lane.isReady || first === undefined) return;
    if (lane.outCount > 0 && lane.outCost + first.cost > this.#options.out.cost) return;
    lane.isReady = true;
    this.#ready.push(lane);
  }

  #forgetIfIdle(organizationId: string, lane: Lane<Item>): void {
    if (lane.waiting.length === 0 && lane.outCount === 0) this.#lanes.delete(organizationId);
  }
}
