import { base58 } from "@scure/base";
import {
  LOOKUP_TABLE_LENGTH,
  lookupTableAddresses,
  type TokenHolding,
  tokenHolding,
} from "../../../chains/solana/account-data.ts";
import type { SolanaChain } from "../../../chains/solana/networks.ts";
import { costOfSponsored } from "../../../chains/solana/sponsored.ts";
import {
  ADDRESS_TABLE_LOOKUP,
  type MessageAccount,
  requiredSigners,
  type SolanaTransaction,
  wireOf,
} from "../../../chains/solana/transaction.ts";
import { SYSTEM_PROGRAM } from "../../../chains/solana/transfers.ts";
import { fail } from "../../../kernel/errors.ts";
import { MAX_SWAP_ACCOUNT_BYTES } from "../../../kernel/limits.ts";
import type { SolanaNodes } from "../../../nodes/pool.ts";
import { type Account, accountsNow, rehearse } from "../../../nodes/solana-accounts.ts";
import type { TxError } from "../../sending/model.ts";
import { WRAPPED_SOL } from "../model.ts";
import { takenFrom } from "./message.ts";

/** Simulates what a swap on Solana would do to the wallet's assets, on the chain's current state. */

/** The agreed swap. */
export interface SolanaSwap {
  chain: SolanaChain;
  wallet: string;
  /** Mints; null for SOL. */
  input: { token: string | null; amount: bigint };
  output: { token: string | null; least: bigint };
  /** Programs that the operator names. They may change their own accounts that belong to the wallet. */
  programs: readonly string[];
}

/**
 * Returns why a transaction is not the agreed swap; undefined if it is. It must succeed, yield at least the minimum output, take nothing but
 * the input, the fee and the rent of the wallet's own token accounts, and grant nobody else any right. If somebody else pays, the wallet
 * pays no fee, and lamports granted for rent do not count as output.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export async function faultOnSolana(
  nodes: SolanaNodes,
  swap: SolanaSwap,
  transaction: SolanaTransaction,
): Promise<TxError | undefined> {
  const { chain, wallet } = swap;
  const addressOf = await addressesIn(nodes, chain, transaction);
  const written = [...new Set(transaction.accounts.filter(({ writable }) => writable).map(addressOf))];
  const now = await accountsNow(nodes, chain, written, MAX_SWAP_ACCOUNT_BYTES);
  const before = new Map(written.map((key, index) => [key, now[index] ?? null]));
  const watched = written.filter((key) => isWatched(swap, key, before.get(key) ?? null));
  const outcome = await rehearse(nodes, chain, wireOf(transaction), watched);
  const failed = (message: string, more: Partial<TxError> = {}): TxError => ({
    message: `the swap was not sent: ${message}`,
    ...more,
  });
  if ("failure" in outcome) {
    const { failure } = outcome;
    return failed(`it would fail${failure.transactionErrorJson ? `: ${failure.transactionErrorJson}` : ""}`, {
      solana: failure,
    });
  }
  const pairs = watched.map(
    (key, index): Change => ({
      key,
      was: before.get(key) ?? null,
      is: outcome.accounts[index] ?? null,
    }),
  );
  const sources = transaction.instructions.flatMap((one) => takenFrom(one) ?? []).map(addressOf);
  const problem = [
    ...pairs.map((one) => rightGiven(wallet, one)),
    ...sources.map((key) => rightUsed(wallet, key, before.get(key) ?? null)),
  ].find((one) => one !== undefined);
  const fault = problem ?? balanceProblem(swap, pairs, givenAside(wallet, transaction));
  return fault === undefined ? undefined : failed(fault);
}

interface Change {
  key: string;
  was: Account | null;
  is: Account | null;
}

/** Resolves the addresses of a message's accounts, including those in lookup tables. */
async function addressesIn(
  nodes: SolanaNodes,
  chain: SolanaChain,
  { lookups }: SolanaTransaction,
): Promise<(account: MessageAccount) => string> {
  const keys = lookups.map(({ tableKey }) => tableKey);
  const found = keys.length === 0 ? [] : await accountsNow(nodes, chain, keys, LOOKUP_TABLE_LENGTH);
  const tables = new Map(
    keys.map((key, index) => {
      const table = found[index];
      return [key, (table && lookupTableAddresses(table.program, table.data)) ?? []] as const;
    }),
  );
  return ({ key, lookup }) => {
    const address = key === ADDRESS_TABLE_LOOKUP ? tables.get(lookup?.tableKey ?? "")?.[lookup?.index ?? 0] : key;
    return (
      address ?? fail("CHAIN_UNAVAILABLE", { chain, reason: `no node returns the lookup table ${lookup?.tableKey}` })
    );
  };
}

/**
 * Whether an account is checked: the wallet, its token accounts, accounts that do not exist yet, and other accounts whose data contain the
 * wallet's address, except those of programs that the operator names.
 */
function isWatched({ wallet, programs }: SolanaSwap, key: string, account: Account | null): boolean {
  if (key === wallet || account === null) return true;
  const holding = tokenHolding(account.program, account.data);
  // The wallet's signature also permits transfers from accounts that others delegated to it.
  if (holding) return [holding.owner, holding.delegate, holding.closeAuthority].includes(wallet);
  return !programs.includes(account.program) && account.data.includes(Buffer.from(base58.decode(wallet)));
}

const holdingIn = (account: Account | null): TokenHolding | undefined =>
  account ? tokenHolding(account.program, account.data) : undefined;

/** Describes a right to the wallet's assets that somebody else would gain. */
function rightGiven(wallet: string, { key, was, is }: Change): string | undefined {
  if (key === wallet) {
    // An account without lamports is deleted. `balanceProblem` decides whether the lamports may leave.
    const isPlain = is === null || (is.program === SYSTEM_PROGRAM && is.data.length === 0);
    return isPlain ? undefined : "it would give the wallet's account itself to a program";
  }
  const [before, after] = [holdingIn(was), holdingIn(is)];
  if (before?.owner === wallet && after && after.owner !== wallet) return `it would give the token account ${key} away`;
  if (after?.owner === wallet) {
    const isWider =
      after.delegate !== null && (after.delegate !== before?.delegate || after.delegated > before.delegated);
    if (isWider) return `it would allow ${after.delegate} to spend from the token account ${key}`;
    if (after.closeAuthority !== null && after.closeAuthority !== before?.closeAuthority) {
      return `it would allow ${after.closeAuthority} to close the token account ${key}`;
    }
  }
  if (was === null || before?.owner === wallet) return undefined;
  const isSame = is !== null && is.program === was.program && is.lamports === was.lamports;
  return isSame && is.data.subarray(0, was.data.length).equals(was.data)
    ? undefined
    : `it would change ${key}, which refers to the wallet`;
}

/** The wallet's signature may also be valid for accounts of others: for one with several owners, or as a mint's permanent delegate. */
function rightUsed(wallet: string, key: string, was: Account | null): string | undefined {
  const before = holdingIn(was);
  return before && before.owner !== wallet ? `it would spend from ${key}, which is not the wallet's` : undefined;
}

/** The lamports that the wallet gains or loses apart from the swap itself: grants of rent, or minus the fee. */
function givenAside(wallet: string, transaction: SolanaTransaction): bigint {
  const [payer] = requiredSigners(transaction);
  const { fee, grants } = costOfSponsored(transaction);
  return payer === wallet ? -fee : grants;
}

/** Rent and wrapped SOL count as the wallet's lamports, because they are in accounts that it can close. */
function balanceProblem(swap: SolanaSwap, pairs: readonly Change[], aside: bigint): string | undefined {
  const { wallet, input, output } = swap;
  const gains = new Map<string | null, bigint>();
  const add = (token: string | null, amount: bigint): void => void gains.set(token, (gains.get(token) ?? 0n) + amount);
  const count = (key: string, account: Account | null, sign: bigint): void => {
    if (!account) return;
    const holding = holdingIn(account);
    if (key !== wallet && holding?.owner !== wallet) return;
    add(null, sign * account.lamports);
    if (holding) add(holding.mint, sign * holding.amount);
  };
  for (const { key, was, is } of pairs) {
    count(key, was, -1n);
    count(key, is, 1n);
  }
  const gainOf = (token: string | null): bigint => gains.get(token) ?? 0n;
  // A simulation deducts the fee, as a block does.
  const lamports = gainOf(null) - aside;
  const spent = input.token === null ? -lamports : -gainOf(input.token);
  if (spent > input.amount) return "it would take more than the amount that is swapped";
  if (input.token !== null && lamports < 0n) return "it would take SOL along";
  const gain = output.token === null ? lamports : gainOf(output.token);
  if (gain < output.least) {
    return `it would bring ${gain} of the output token, but at least ${output.least} were agreed`;
  }
  if (gainOf(WRAPPED_SOL) > 0n) return "it would leave wrapped SOL, which nobody asked for";
  for (const [token, amount] of gains) {
    const isOther = token !== null && token !== input.token && token !== WRAPPED_SOL;
    if (isOther && amount < 0n) return `it would also spend ${token}`;
  }
  return undefined;
}
