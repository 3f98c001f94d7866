/**
 * Long work in small pieces. The event loop is one for all requests: whoever has more than a few milliseconds of work takes a
 * turn for each piece, and there is one such turn in each round of the event loop, however many requests have long work.
 */

/** A piece may take this long before it asks for another turn. */
export const PIECE_MS = 5;
let pieceMs = PIECE_MS;

/** Whether a piece has lasted for as long as it may after so many milliseconds. */
export const isWholePiece = (ms: number): boolean => ms >= pieceMs;

/**
 * Makes pieces as short as they can be, so that every look finds one over: what is then done in one turn is what nothing parts, on
 * however fast a machine. For tests that count it.
 *
 * @returns what makes them as long as before
 */
export function shortestPieces(): () => void {
  pieceMs = 0;
  return () => {
    pieceMs = PIECE_MS;
  };
}

/** Who waits, by queue; the queue that is next comes first. */
const queues = new Map<string, (() => void)[]>();

/**
 * Resolves when it is the caller's turn for one piece. Queues have their turns one after the other, and in a queue whoever asked
 * first: many requests of one organization do not keep those of another waiting.
 */
export function turn(queue = ""): Promise<void> {
  return new Promise((resolve) => {
    if (queues.size === 0) setImmediate(giveTurn);
    const waiting = queues.get(queue);
    if (waiting) waiting.push(resolve);
    else queues.set(queue, [resolve]);
  });
}

function giveTurn(): void {
  const [next] = queues;
  if (!next) return;
  const [queue, waiting] = next;
  queues.delete(queue);
  // It is worth a piece, whatever went before in this round; or whoever comes after one that worked would give every turn back.
  firstLook = undefined;
  waiting.shift()?.();
  if (waiting.length > 0) queues.set(queue, waiting);
  if (queues.size > 0) setImmediate(giveTurn);
}

/** When it was first looked at the time in this round of the event loop. */
let firstLook: number | undefined;

/**
 * To be awaited before each piece of work: takes a turn where the round of the event loop has lasted for as long as a piece may,
 * whoever worked in it.
 */
export async function pause(queue?: string): Promise<void> {
  if (isRoundLong()) await turn(queue);
}

/** Whether the event loop should go round. The first look in a round begins the time. */
export function isRoundLong(): boolean {
  const now = performance.now();
  if (firstLook === undefined) {
    firstLook = now;
    setImmediate(() => {
      // A turn that was given in between has a time of its own.
      if (firstLook === now) firstLook = undefined;
    });
  }
  return isWholePiece(now - firstLook);
}

/** What `map` makes of each item, in their order, in as many turns as it takes. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result | Promise<Result>,
  queue?: string,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    await pause(queue);
    results.push(await map(item));
  }
  return results;
}
