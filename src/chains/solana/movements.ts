import type { CompiledInstruction } from "./transaction.ts";
import { splTransfer, systemTransfer } from "./transfers.ts";

/** Who sent what to whom in a transaction: derived from its instructions and reconciled with the changes of the balances. */

/** A transfer of an amount between two wallets. */
export interface Movement {
  /** The token's mint; null for SOL. */
  token: string | null;
  /** Wallets, not token accounts; the mint itself if tokens were minted or burned. */
  from: string;
  to: string;
  /** Lamports, or atomic units of the token. */
  amount: bigint;
}

export interface BalanceChange {
  address: string;
  amount: bigint;
}

/** A token account before or after a transaction. */
export interface TokenAccount {
  address: string;
  mint: string;
  owner: string;
  amount: bigint;
}

export interface Outcome {
  /** The change of each account's balance, not counting the fee. */
  lamports: readonly BalanceChange[];
  tokensBefore: readonly TokenAccount[];
  tokensAfter: readonly TokenAccount[];
  /** In the order in which they ran. If there are none, movements are derived from the balances alone. */
  instructions: readonly CompiledInstruction[];
}

/**
 * The movements of a successful transaction. For every wallet their sum is the change of its balances. Instructions determine who sent to
 * whom. Changes that they do not explain (accounts that were closed, created or emptied by programs; tokens that were minted, burned or
 * withheld) become movements from those who lost to those who gained, in the order of the transaction's accounts.
 */
export function movementsOf(outcome: Outcome): Movement[] {
  const tokens = new Map([...outcome.tokensBefore, ...outcome.tokensAfter].map((each) => [each.address, each]));
  const said: Movement[] = [];
  for (const instruction of outcome.instructions) {
    const native = systemTransfer(instruction);
    if (native) said.push({ token: null, from: native.from, to: native.to, amount: native.amount });
    const moved = splTransfer(instruction);
    const mint = moved && (tokens.get(moved.from)?.mint ?? tokens.get(moved.to)?.mint);
    if (moved && mint !== undefined) {
      const ownerOf = (account: string) => tokens.get(account)?.owner ?? account;
      said.push({ token: mint, from: ownerOf(moved.from), to: ownerOf(moved.to), amount: moved.amount });
    }
  }
  const changes = changesOf(outcome);
  return [...said.filter(({ amount }) => amount > 0n), ...unexplained(said, changes)];
}

/** The change of each wallet's balances, by mint. */
function changesOf({ lamports, tokensBefore, tokensAfter }: Outcome): Map<string | null, Map<string, bigint>> {
  const changes = new Map<string | null, Map<string, bigint>>();
  for (const { address, amount } of lamports) add(changes, null, address, amount);
  for (const { mint, owner, amount } of tokensBefore) add(changes, mint, owner, -amount);
  for (const { mint, owner, amount } of tokensAfter) add(changes, mint, owner, amount);
  return changes;
}

function add(changes: Map<string | null, Map<string, bigint>>, mint: string | null, who: string, amount: bigint): void {
  const ofMint = changes.get(mint) ?? new Map<string, bigint>();
  changes.set(mint, ofMint);
  ofMint.set(who, (ofMint.get(who) ?? 0n) + amount);
}

function unexplained(
  said: readonly Movement[],
  changes: ReadonlyMap<string | null, ReadonlyMap<string, bigint>>,
): Movement[] {
  const rest = new Map([...changes].map(([mint, ofMint]) => [mint, new Map(ofMint)]));
  for (const { token, from, to, amount } of said) {
    add(rest, token, from, amount);
    add(rest, token, to, -amount);
  }
  return [...rest].flatMap(([mint, ofMint]) => settled(mint, ofMint));
}

/** Matches those who lost with those who gained, one after the other. */
function settled(token: string | null, rest: ReadonlyMap<string, bigint>): Movement[] {
  const givers = [...rest].filter(([, amount]) => amount < 0n).map(([from, amount]) => ({ from, left: -amount }));
  const takers = [...rest].filter(([, amount]) => amount > 0n).map(([to, amount]) => ({ to, left: amount }));
  const movements: Movement[] = [];
  for (let [giver, taker] = [givers[0], takers[0]]; giver && taker; [giver, taker] = [givers[0], takers[0]]) {
    const amount = giver.left < taker.left ? giver.left : taker.left;
    movements.push({ token, from: giver.from, to: taker.to, amount });
    giver.left -= amount;
    taker.left -= amount;
    if (giver.left === 0n) givers.shift();
    if (taker.left === 0n) takers.shift();
  }
  // The rest was burned or minted, which does not happen to lamports.
  if (token === null) return movements;
  for (const { from, left } of givers) movements.push({ token, from, to: token, amount: left });
  for (const { to, left } of takers) movements.push({ token, from: token, to, amount: left });
  return movements;
}
