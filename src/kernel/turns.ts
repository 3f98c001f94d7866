/**
 * Long work in small pieces. The event loop is one for all requests: whoever has more than a few milliseconds of work takes a
 * turn for each piece, and there is one such turn in each round of the event loop, however many requests have long work.
 */

/** A piece may take this long before it asks for another turn. */
export const PIECE_MS = 5;

/** Who waits, by lane; the lane that is next comes first. */
const lanes = new Map<string, (() => void)[]>();

/**
 * Resolves when it is the caller's turn for one piece. Lanes have their turns one after the other, and in a lane whoever asked
 * first: many requests of one organization do not keep those of another waiting.
 */
export function turn(lane = ""): Promise<void> {
  return new Promise((resolve) => {
    if (lanes.size === 0) setImmediate(giveTurn);
    const waiting = lanes.get(lane);
    if (waiting) waiting.push(resolve);
    else lanes.set(lane, [resolve]);
  });
}

function giveTurn(): void {
  const [next] = lanes;
  if (!next) return;
  const [lane, waiting] = next;
  lanes.delete(lane);
  waiting.shift()?.();
  if (waiting.length > 0) lanes.set(lane, waiting);
  if (lanes.size > 0) setImmediate(giveTurn);
}

/** When it was first looked at the time in this round of the event loop. */
let firstLook: number | undefined;

/**
 * To be awaited before each piece of work: takes a turn where the round of the event loop has lasted for as long as a piece may,
 * whoever worked in it.
 */
export async function pause(lane?: string): Promise<void> {
  if (isHeld()) await turn(lane);
}

/** Whether the event loop should go round. The first look in a round begins the time. */
export function isHeld(): boolean {
  const now = performance.now();
  if (firstLook === undefined) {
    firstLook = now;
    setImmediate(() => {
      firstLook = undefined;
    });
  }
  return now - firstLook >= PIECE_MS;
}

/** What `map` makes of each item, in their order, in as many turns as it takes. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Result | Promise<Result>,
  lane?: string,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const item of items) {
    await pause(lane);
    results.push(await map(item));
  }
  return results;
}
