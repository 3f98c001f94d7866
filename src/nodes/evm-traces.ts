import { addressIn, hashIn, integerIn, isList, type Members, membersOf } from "./hex-values.ts";

/** A transfer of a token or of the native asset. */
export interface Transfer {
  /** The token's contract. Null for the chain's native asset. */
  token: string | null;
  from: string;
  to: string;
  /** In atomic units, never 0. */
  amount: bigint;
}

/** All other call types transfer no value. */
const PAYING = ["CALL", "CREATE", "CREATE2", "SELFDESTRUCT"];

/**
 * Transfers of the native asset inside transactions, by transaction hash, from a block's trace by `callTracer`. The outermost call, which
 * is the transaction itself, is not included, nor are the effects of failed calls. Undefined for an invalid trace, and for one with more
 * than `maxCalls` calls.
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

/** The transfers of the native asset in one transaction, including its own value. Otherwise as `internalTransfers`. */
export function nativeTransfers(outermost: unknown, maxCalls: number): Transfer[] | undefined {
  const call = membersOf(outermost);
  return typeof call.type === "string" ? transfersIn([call], maxCalls)?.transfers : undefined;
}

/** @param calls in reverse order */
function transfersIn(
  calls: readonly Members[],
  maxCalls: number,
): { calls: number; transfers: Transfer[] } | undefined {
  const transfers: Transfer[] = [];
  // A stack instead of recursion: calls may be nested a thousand levels deep.
  const waiting = [...calls];
  let count = 0;
  for (let call = waiting.pop(); call !== undefined; call = waiting.pop()) {
    if (++count > maxCalls) return undefined;
    if (call.error !== undefined) continue;
    const transfer = transferOf(call);
    if (transfer) transfers.push(transfer);
    const called = inside(call);
    if (count + waiting.length + called.length > maxCalls) return undefined;
    // One by one, because a function call may have fewer arguments than a block has calls.
    for (const one of called) waiting.push(one);
  }
  return { calls: count, transfers };
}

/** In reverse order, so that the first is taken next. */
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
