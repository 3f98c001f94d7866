import { isHash, type SolanaChain } from "../chains/solana/networks.ts";
import { fail } from "../kernel/errors.ts";
import { MAX_TRIAL_ANSWER_BYTES } from "../kernel/limits.ts";
import { isList, membersOf } from "./hex-values.ts";
import { AnswerTooLarge } from "./json-rpc.ts";
import type { SolanaNodes } from "./pool.ts";
import { cannotTell, failureOf, type SolanaFailure, valueIn } from "./solana-calls.ts";

/** Accounts with their data, as they are and as a transaction would leave them. */

export interface Account {
  lamports: bigint;
  /** The program that owns the account, in base58. */
  program: string;
  data: Buffer;
}

const COMMITMENT = { commitment: "processed" } as const;

/**
 * The current state of accounts, at most 100. Null for one that does not exist.
 *
 * @param length how many bytes of their data to return
 * @throws KeysteadError CHAIN_UNAVAILABLE, as do all functions here
 */
export const accountsNow = (
  nodes: SolanaNodes,
  chain: SolanaChain,
  addresses: readonly string[],
  length: number,
): Promise<(Account | null)[]> =>
  nodes.call(chain, {
    method: "getMultipleAccounts",
    params: [addresses, { encoding: "base64", dataSlice: { offset: 0, length }, ...COMMITMENT }],
    maxAnswerBytes: MAX_TRIAL_ANSWER_BYTES,
    read: (answer) => accountsIn(valueIn(answer), addresses.length),
  });

/** The simulation of an unsigned transaction: it fails, or leaves the accounts in this state. */
export type Rehearsed = { failure: SolanaFailure } | { accounts: (Account | null)[] };

/** Simulates a transaction with a blockhash that the node chooses. @param shown accounts to return */
export async function rehearse(
  nodes: SolanaNodes,
  chain: SolanaChain,
  wire: Uint8Array,
  shown: readonly string[],
): Promise<Rehearsed> {
  const options = {
    encoding: "base64",
    sigVerify: false,
    replaceRecentBlockhash: true,
    innerInstructions: true,
    accounts: { encoding: "base64", addresses: shown },
    ...COMMITMENT,
  };
  try {
    return await nodes.call<Rehearsed>(chain, {
      method: "simulateTransaction",
      params: [Buffer.from(wire).toString("base64"), options],
      maxAnswerBytes: MAX_TRIAL_ANSWER_BYTES,
      read: (answer) => {
        const value = membersOf(valueIn(answer));
        // The problem is the node's, not the transaction's. Another node may give a result.
        if (!("err" in value) || cannotTell(value.err)) return undefined;
        if (value.err !== null) return { failure: failureOf(value) };
        const accounts = accountsIn(value.accounts, shown.length);
        return accounts && { accounts };
      },
    });
  } catch (error) {
    if (!(error instanceof AnswerTooLarge)) throw error;
    return fail("CHAIN_UNAVAILABLE", { chain, reason: "what a trial of the transaction leaves is more than is read" });
  }
}

function accountsIn(value: unknown, count: number): (Account | null)[] | undefined {
  if (!isList(value) || value.length !== count) return undefined;
  const accounts = value.map(accountIn);
  return accounts.every((account) => account !== undefined) ? accounts : undefined;
}

/** The simulation returns a closed account as one without lamports. */
function accountIn(value: unknown): Account | null | undefined {
  if (value === null) return null;
  const { lamports, owner, data } = membersOf(value);
  const [text, encoding] = isList(data) ? data : [];
  if (!Number.isSafeInteger(lamports) || (lamports as number) < 0) return undefined;
  if (lamports === 0) return null;
  if (typeof owner !== "string" || !isHash(owner) || typeof text !== "string" || encoding !== "base64")
    return undefined;
  return { lamports: BigInt(lamports as number), program: owner, data: Buffer.from(text, "base64") };
}
