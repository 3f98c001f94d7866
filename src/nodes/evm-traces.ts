import { addressIn, hashIn, integerIn, isList, type Members, membersOf } from "./hex-values.ts";

/** Something of worth that changed hands. */
export interface Transfer {
  /** The token's contract; null for the chain's native asset. */
  token: string | null;
  from: string;
  to: string;
  /** Atomic units, never 0. */
  amount: bigint;
}

/** The other types of call take no value along, or leave it where it is. */
const PAYING = ["CALL", "CREATE", "CREATE2", "SELFDESTRUCT"];

/**
 * The native asset that moved inside transactions, by their hashes, in what the tracer `callTracer` says of a block. The outermost
 * call is the transaction itself and is left out; what a failed call did has not happened. Undefined for what is no such trace, and
 * for one of more than `maxCalls` calls.
 */
export function internalTransfers(result: unknown, maxCalls: number): Map<string, Transfer[]> | undefined {
  if (!isList(result)) return undefined;
  const found = new Map<string, Transfer[]>();
  let left = maxCalls;
  for (const one of result) {
    const { txHash, result: outermost } = membersOf(one);
    const hash = hashIn(txHash);
    const moved = hash === undefined ? undefined : transfersIn(inside(membersOf(outermost)), left);
    if (!hash || !moved) return undefined;
    left -= moved.calls;
    if (moved.transfers.length > 0) found.set(hash, moved.transfers);
  }
  return found;
}

/** The native asset that one transaction moved, with what it took along itself; otherwise as above. */
export function nativeTransfers(outermost: unknown, maxCalls: number): Transfer[] | undefined {
  const call = membersOf(outermost);
  return typeof call.type === "string" ? transfersIn([call], maxCalls)?.transfers : undefined;
}

/** @param calls the last first */
function transfersIn(
  calls: readonly Members[],
  maxCalls: number,
): { calls: number; transfers: Transfer[] } | undefined {
  const transfers: Transfer[] = [];
  // A list of its own instead of a recursion: calls may stand a thousand deep in one another.
  const waiting = [...calls];
  let count = 0;
  for (let call = waiting.pop(); call !== undefined; call = waiting.pop()) {
    if (++count > maxCalls) return undefined;
    if (call.error !== undefined) continue;
    const transfer = transferOf(call);
    if (transfer) transfers.push(transfer);
    const called = inside(call);
    if (count + waiting.length + called.length > maxCalls) return undefined;
    // One by one: not as many arguments as a call may have, which are fewer than calls in a block.
    for (const one of called) waiting.push(one);
  }
  return { calls: count, transfers };
}

/** The last first, so that the first is taken next. */
function inside({ error, calls }: Members): Members[] {
  if (error !== undefined || !isList(calls)) return [];
  return calls.map(membersOf).reverse();
}

function transferOf({ type, from: fromText, to: toText, value }: Members): Transfer | undefined {
  const amount = integerIn(value);
  const from = addressIn(fromText);
  const to = addressIn(toText);
  if (!PAYING.includes(type as string) || !amount || !from || !to) return undefined;
  return { token: null, from, to, amount };
}
