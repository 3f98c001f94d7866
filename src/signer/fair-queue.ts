/** An item of work: its organization and its cost. */
export interface Queued {
  readonly organizationId: string;
  readonly cost: number;
}

export interface FairQueueOptions<Item extends Queued> {
  /** The limits for waiting items of one organization. */
  waiting: { count: number; cost: number };
  /** The limit on the cost of all waiting items. Beyond it, each organization may have one item waiting. */
  waitingCostInAll: number;
  /** The limits for items being worked on: `cost` per organization (a single item may exceed it), and the number of all items. */
  out: { cost: number; countInAll: number };
  /** Whether an item is still wanted. If not, it is dropped when its turn comes. */
  isWanted: (item: Item) => boolean;
  onDropped: (item: Item) => void;
}

/** The items of one organization that are waiting or being worked on. */
interface Flow<Item> {
  waiting: Item[];
  waitingCost: number;
  outCount: number;
  outCost: number;
  /** Whether the flow is in the list of those that may send. */
  isReady: boolean;
}

/**
 * A queue that is fair among organizations: they take turns, and each has a limited amount of work in progress. However much is waiting
 * here, a new item finds a bounded amount of work ahead of it at the worker.
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

  /** The number of waiting items. */
  get length(): number {
    return this.#waitingCount;
  }

  /** The number of items being worked on. */
  get out(): number {
    return this.#outCount;
  }

  /** The cost of one organization's waiting items. */
  waitingCostOf(organizationId: string): number {
    return this.#flows.get(organizationId)?.waitingCost ?? 0;
  }

  /** @returns false if the organization already has too much waiting; the item is then not queued */
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

  /** The next item to work on; undefined if none may be sent now. Call `returned` when it is done. */
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

  /** Call it when an item is done. */
  returned({ organizationId, cost }: Item): void {
    const flow = this.#flowOf(organizationId);
    flow.outCount--;
    flow.outCost -= cost;
    this.#outCount--;
    this.#makeReady(flow);
    this.#forgetIfIdle(organizationId, flow);
  }

  /** Removes and returns all waiting items. */
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
