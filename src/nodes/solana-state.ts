import { base58 } from "@scure/base";
import type { SolanaChain } from "../chains/solana/networks.ts";
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "../chains/solana/transfers.ts";
import { fail } from "../kernel/errors.ts";
import { MAX_TOKEN_ACCOUNTS_ANSWER_BYTES } from "../kernel/limits.ts";
import { isList, membersOf } from "./hex-values.ts";
import { AnswerTooLarge } from "./json-rpc.ts";
import type { SolanaNodes } from "./pool.ts";
import { valueIn } from "./solana-calls.ts";

/** Reads accounts from nodes of Solana. */

const CONFIRMED = { commitment: "confirmed" } as const;

/** Layout of a token account: mint, owner and amount come first, whatever Token-2022 appends. */
const MINT_LENGTH = 32;
const AMOUNT_AT = 64;
const LENGTH = AMOUNT_AT + 8;

/**
 * Lamports (null) and tokens (by mint) in the requested order, as of the newest confirmed block. All token accounts of an address count, of
 * both token programs.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE, also if there are more token accounts than are read
 */
export async function solanaBalancesOf(
  nodes: SolanaNodes,
  chain: SolanaChain,
  address: string,
  tokens: readonly (string | null)[],
): Promise<bigint[]> {
  const [lamports, ...held] = await Promise.all([
    lamportsOf(nodes, chain, address),
    tokenAmountsOf(nodes, chain, address, TOKEN_PROGRAM),
    tokenAmountsOf(nodes, chain, address, TOKEN_2022_PROGRAM),
  ]);
  return tokens.map((mint) =>
    mint === null ? lamports : held.reduce((sum, amounts) => sum + (amounts.get(mint) ?? 0n), 0n),
  );
}

const lamportsOf = (nodes: SolanaNodes, chain: SolanaChain, address: string): Promise<bigint> =>
  nodes.call(chain, {
    method: "getBalance",
    params: [address, CONFIRMED],
    read: (answer) => {
      const value = valueIn(answer);
      return Number.isSafeInteger(value) && (value as number) >= 0 ? BigInt(value as number) : undefined;
    },
  });

/** By mint. */
async function tokenAmountsOf(
  nodes: SolanaNodes,
  chain: SolanaChain,
  address: string,
  programId: string,
): Promise<Map<string, bigint>> {
  const options = { ...CONFIRMED, encoding: "base64", dataSlice: { offset: 0, length: LENGTH } };
  try {
    return await nodes.call(chain, {
      method: "getTokenAccountsByOwner",
      params: [address, { programId }, options],
      maxAnswerBytes: MAX_TOKEN_ACCOUNTS_ANSWER_BYTES,
      read: (answer) => amountsIn(valueIn(answer)),
    });
  } catch (error) {
    if (!(error instanceof AnswerTooLarge)) throw error;
    return fail("CHAIN_UNAVAILABLE", { chain, reason: `${address} owns more token accounts than are looked at` });
  }
}

function amountsIn(accounts: unknown): Map<string, bigint> | undefined {
  if (!isList(accounts)) return undefined;
  const amounts = new Map<string, bigint>();
  for (const account of accounts) {
    const { data } = membersOf(membersOf(account).account);
    const bytes = isList(data) && typeof data[0] === "string" ? Buffer.from(data[0], "base64") : undefined;
    if (bytes?.length !== LENGTH) return undefined;
    const mint = base58.encode(bytes.subarray(0, MINT_LENGTH));
    amounts.set(mint, (amounts.get(mint) ?? 0n) + bytes.readBigUInt64LE(AMOUNT_AT));
  }
  return amounts;
}
