/**
 * Splits long work into short pieces. All requests share one event loop. Work that takes more than a few milliseconds waits for a turn
 * before each piece. Each round of the event loop has one turn, however many requests have long work.
 */

/** How long a piece may run before it must wait for another turn. */
export const PIECE_MS = 5;
let pieceMs = PIECE_MS;

/** Whether a piece that has run for this many milliseconds must end. */
export const isWholePiece = (ms: number): boolean => ms >= pieceMs;

/**
 * For tests: makes each piece as short as possible, so that every check ends one. A turn then contains only work that nothing can split,
 * however fast the machine is.
 *
 * @returns a function that restores the length
 */
export const shortestPieces = (): (() => void) => piecesOf(0);

/**
 * For tests: no piece ends because of its length, however busy the machine is.
 *
 * @returns a function that restores the length
 */
export const endlessPieces = (): (() => void) => piecesOf(Number.POSITIVE_INFINITY);

function piecesOf(ms: number): () => void {
  pieceMs = ms;
  return () => {
    pieceMs = PIECE_MS;
  };
}

/** Waiting callers by queue, in the order of the queues' turns. */
const queues = new Map<string, (() => void)[]>();

/**
 * Resolves when the caller may run one piece. Queues take turns, and each queue is first in, first out, so that many requests of one
 * organization do not delay those of another.
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
  // A turn is worth a full piece, regardless of earlier work in this round. Otherwise a caller whose turn follows other work would give it
  // up immediately, every time.
  firstLook = undefined;
  waiting.shift()?.();
  if (waiting.length > 0) queues.set(queue, waiting);
  if (queues.size > 0) setImmediate(giveTurn);
}

/** When the time was first checked in this round of the event loop. */
let firstLook: number | undefined;

/**
 * Await this before each piece of work. It waits for a turn if the current round of the event loop has lasted as long as a piece may, no
 * matter which work took the time.
 */
export async function pause(queue?: string): Promise<void> {
  if (isRoundLong()) await turn(queue);
}

/** Whether the current round of the event loop has lasted long enough. The first check in a round starts the measurement. */
export function isRoundLong(): boolean {
  const now = performance.now();
  if (firstLook === undefined) {
    firstLook = now;
    setImmediate(() => {
      // A turn in between started its own measurement.
      if (firstLook === now) firstLook = undefined;
    });
  }
  return isWholePiece(now - firstLook);
}

/** Maps the items in order, in as many turns as it takes. */
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
