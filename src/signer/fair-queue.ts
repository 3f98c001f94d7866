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
interface Flow<Item> {
  waiting: Item[];
  waitingCost: number;
  outCount: number;
  outCost: number;
  /** Whether the flow stands in the row of those that may send. */
  isReady: boolean;
}

/**
 * A queue that is fair among organizations: each sends in its turn, and none has more out at once than its window, so that
 * whoever comes next finds the worker with a bounded amount of everybody's work, however much of it waits here.
 */
export class FairQueue<Item extends Queued> {
  readonly #options: FairQueueOptions<Item>;
  readonly #flows = new Map<string, Flow<Item>>();
  /** Flows whose first item fits into their window, in the order of their turns. */
  #ready: Flow<Item>[] = [];
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
    return this.#flows.get(organizationId)?.waitingCost ?? 0;
  }

  /** @returns false where the organization has too much waiting already; the item is then not in the queue */
  add(item: Item): boolean {
    const flow = this.#flowOf(item.organizationId);
    if (!this.#hasRoom(flow, item)) {
      this.#dropUnwanted(flow);
      if (!this.#hasRoom(flow, item)) return false;
    }
    flow.waiting.push(item);
    this.#count(flow, item, 1);
    this.#makeReady(flow);
    return true;
  }

  /** The next item that may go out; undefined while none may. `returned` is to be told when it is done. */
  next(): Item | undefined {
    while (this.#outCount < this.#options.out.countInAll) {
      const flow = this.#ready.shift();
      if (!flow) return undefined;
      flow.isReady = false;
      const item = flow.waiting.shift();
      if (item === undefined) continue;
      this.#count(flow, item, -1);
      const isWanted = this.#options.isWanted(item);
      if (isWanted) {
        flow.outCount++;
        flow.outCost += item.cost;
        this.#outCount++;
      }
      this.#makeReady(flow);
      if (isWanted) return item;
      this.#forgetIfIdle(item.organizationId, flow);
      this.#options.onDropped(item);
    }
    return undefined;
  }

  /** An item that went out is done. */
  returned({ organizationId, cost }: Item): void {
    const flow = this.#flowOf(organizationId);
    flow.outCount--;
    flow.outCost -= cost;
    this.#outCount--;
    this.#makeReady(flow);
    this.#forgetIfIdle(organizationId, flow);
  }

  /** Takes out all that waits. */
  drain(): Item[] {
    const items = [...this.#flows.values()].flatMap(({ waiting }) => waiting);
    for (const [organizationId, flow] of this.#flows) {
      flow.waiting = [];
      flow.waitingCost = 0;
      flow.isReady = false;
      this.#forgetIfIdle(organizationId, flow);
    }
    this.#ready = [];
    this.#waitingCount = 0;
    this.#waitingCost = 0;
    return items;
  }

  #flowOf(organizationId: string): Flow<Item> {
    let flow = this.#flows.get(organizationId);
    if (!flow) {
      flow = { waiting: [], waitingCost: 0, outCount: 0, outCost: 0, isReady: false };
      this.#flows.set(organizationId, flow);
    }
    return flow;
  }

  #hasRoom({ waiting, waitingCost }: Flow<Item>, { cost }: Item): boolean {
    if (waiting.length === 0) return true;
    const { waiting: bounds, waitingCostInAll } = this.#options;
    if (this.#waitingCost + cost > waitingCostInAll) return false;
    return waiting.length < bounds.count && waitingCost + cost <= bounds.cost;
  }

  #dropUnwanted(flow: Flow<Item>): void {
    const { isWanted, onDropped } = this.#options;
    const items = flow.waiting;
    flow.waiting = [];
    for (const item of items) {
      if (isWanted(item)) {
        flow.waiting.push(item);
      } else {
        this.#count(flow, item, -1);
        onDropped(item);
      }
    }
  }

  #count(flow: Flow<Item>, { cost }: Item, one: 1 | -1): void {
    flow.waitingCost += one * cost;
    this.#waitingCost += one * cost;
    this.#waitingCount += one;
  }

  #makeReady(flow: Flow<Item>): void {
    const [first] = flow.waiting;
    if (flow.isReady || first === undefined) return;
    if (flow.outCount > 0 && flow.outCost + first.cost > this.#options.out.cost) return;
    flow.isReady = true;
    this.#ready.push(flow);
  }

  #forgetIfIdle(organizationId: string, flow: Flow<Item>): void {
    if (flow.waiting.length === 0 && flow.outCount === 0) this.#flows.delete(organizationId);
  }
}
