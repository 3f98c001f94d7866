/** Runs work in bounded numbers. */
export interface Gate {
  /**
   * Runs `fn` as soon as fewer than `perKey` calls of this key and fewer than `total` calls of all keys are running. Settles as `fn` does.
   * Waiting calls of one key start in order. Waiting keys take turns, so that a long queue of one key delays another key by at most one
   * call. The caller must bound how many may wait.
   */
  run<T>(key: string, fn: () => Promise<T> | T): Promise<T>;
}

interface Line {
  key: string;
  running: number;
  waiting: Queue<() => void>;
  /** Whether this queue is among those that take turns. */
  inTurn: boolean;
}

/** A gate for at most `perKey` running calls of one key and `total` of all keys. Both are integers of at least 1. */
export function createGate({ perKey, total }: { perKey: number; total: number }): Gate {
  for (const [name, bound] of Object.entries({ perKey, total })) {
    if (!Number.isInteger(bound) || bound < 1) throw new RangeError(`${name} must be an integer of at least 1`);
  }
  const lines = new Map<string, Line>();
  const turns = createQueue<Line>();
  let running = 0;

  function lineOf(key: string): Line {
    const line = lines.get(key) ?? { key, running: 0, waiting: createQueue(), inTurn: false };
    lines.set(key, line);
    return line;
  }

  function takeTurn(line: Line): void {
    if (line.inTurn || line.running >= perKey || line.waiting.size() === 0) return;
    line.inTurn = true;
    turns.add(line);
  }

  function admit(): void {
    while (running < total) {
      const line = turns.take();
      if (line === undefined) return;
      line.inTurn = false;
      const start = line.waiting.take();
      if (start === undefined) continue;
      running++;
      line.running++;
      takeTurn(line);
      start();
    }
  }

  function leave(line: Line): void {
    running--;
    line.running--;
    if (line.running === 0 && line.waiting.size() === 0) lines.delete(line.key);
    takeTurn(line);
    admit();
  }

  return {
    async run(key, fn) {
      const line = lineOf(key);
      await new Promise<void>((start) => {
        line.waiting.add(start);
        takeTurn(line);
        admit();
      });
      try {
        return await fn();
      } finally {
        leave(line);
      }
    },
  };
}

interface Queue<T> {
  add(item: T): void;
  take(): T | undefined;
  size(): number;
}

interface Node<T> {
  item: T;
  next: Node<T> | undefined;
}

/** A first-in, first-out queue in constant time. `Array.prototype.shift` moves all other entries once an array is long. */
function createQueue<T>(): Queue<T> {
  let first: Node<T> | undefined;
  let last: Node<T> | undefined;
  let size = 0;
  return {
    add(item) {
      const node: Node<T> = { item, next: undefined };
      if (last === undefined) first = node;
      else last.next = node;
      last = node;
      size++;
    },
    take() {
      if (first === undefined) return undefined;
      const { item } = first;
      first = first.next;
      if (first === undefined) last = undefined;
      size--;
      return item;
    },
    size: () => size,
  };
}
