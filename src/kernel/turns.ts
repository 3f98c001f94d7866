/**
 * Long work in small pieces. The event loop is one for all requests: whoever has more than a few milliseconds of work takes a
 * turn for each piece, and there is one such turn in each round of the event loop, however many requests have long work.
 */

/** A piece may take this long before it asks for another turn. */
const PIECE_MS = 5;

const waiting: (() => void)[] = [];

/** Resolves when it is the caller's turn for one piece. Turns are given in the order in which they are asked for. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(giveTurn);
  });
}

function giveTurn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(giveTurn);
}

/** What `map` makes of each item, in their order, in as many turns as it takes. */
export async function mapInTurns<Item, Result>(items: readonly Item[], map: (item: Item) => Result): Promise<Result[]> {
  const results: Result[] = [];
  let end = 0;
  for (const item of items) {
    if (performance.now() >= end) {
      await turn();
      end = performance.now() + PIECE_MS;
    }
    results.push(map(item));
  }
  return results;
}
