import { LOOKUP_TABLE_LENGTH, lookupTableAddresses } from "../../../chains/solana/account-data.ts";
import { compileMessage, type LookupTable } from "../../../chains/solana/compile.ts";
import { COMPUTE_BUDGET_PROGRAM, feeOf } from "../../../chains/solana/compute-budget.ts";
import type { SolanaChain } from "../../../chains/solana/networks.ts";
import {
  type CompiledInstruction,
  type MessageAccount,
  NO_BLOCKHASH,
  requiredSigners,
  type SolanaTransaction,
  transactionOfMessage,
} from "../../../chains/solana/transaction.ts";
import { SYSTEM_PROGRAM, TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "../../../chains/solana/transfers.ts";
import { KeysteadError } from "../../../kernel/errors.ts";
import { MAX_SWAP_LAMPORTS_OF_FEES, MAX_SWAP_WRITABLE_ACCOUNTS } from "../../../kernel/limits.ts";
import type { SolanaNodes } from "../../../nodes/pool.ts";
import { accountsNow } from "../../../nodes/solana-accounts.ts";
import type { SolanaOffer } from "../../../providers/swaps/provider.ts";

/** The message that a wallet signs for a swap on Solana. It is compiled from the provider's offer, and each instruction is checked. */

/** Throws the error for an offer of the provider that must not be signed. */
export type Refuse = (reason: string) => never;

/**
 * Refuses an offer that names the sponsor's account in any role. Without that, no instruction, and no program that it calls, can use the
 * account's funds.
 */
export function requireNotNamed({ instructions }: SolanaOffer, sponsor: string, refuse: Refuse): void {
  const isNamed = instructions.some(
    ({ program, accounts }) => program === sponsor || accounts.some(({ key }) => key === sponsor),
  );
  if (isNamed) refuse(`it names the sponsor ${sponsor}, which can only be the fee payer`);
}

/**
 * The message of an offer, with zeros as the blockhash.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE, and whatever `refuse` throws
 */
export async function messageOfOffer(
  nodes: SolanaNodes,
  chain: SolanaChain,
  wallet: string,
  { instructions, lookupTables }: SolanaOffer,
  refuse: Refuse,
): Promise<Buffer> {
  const found =
    lookupTables.length === 0 ? [] : await accountsNow(nodes, chain, [...lookupTables], LOOKUP_TABLE_LENGTH);
  const tables = lookupTables.map((key, index): LookupTable => {
    const account = found[index];
    const addresses = account ? lookupTableAddresses(account.program, account.data) : undefined;
    return addresses ? { key, addresses } : refuse(`${key} is not a lookup table in use`);
  });
  const named = instructions.map(({ data, ...rest }) => ({ ...rest, data: Buffer.from(data, "hex") }));
  try {
    return compileMessage(wallet, named, tables, NO_BLOCKHASH);
  } catch (error) {
    // A number does not fit into its field, because there are more accounts than a message can name.
    return error instanceof RangeError || error instanceof TypeError
      ? refuse("no message can be made from it")
      : Promise.reject(error);
  }
}

const ASSOCIATED_TOKEN_PROGRAM = "ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL";

/** The allowed instructions of common programs, by the first bytes of their data. None of them grants anybody a lasting right. */
const COMMON: Readonly<Record<string, (data: Buffer) => boolean>> = {
  [COMPUTE_BUDGET_PROGRAM]: () => true,
  // Creates a token account of the owner, or does nothing or fails if it exists.
  [ASSOCIATED_TOKEN_PROGRAM]: (data) => data.length === 0 || data[0] === 0 || data[0] === 1,
  // Transfers lamports, or creates an account with a seed, as for temporarily wrapped SOL.
  [SYSTEM_PROGRAM]: (data) => data.length >= 4 && [2, 3].includes(data.readUInt32LE()),
  [TOKEN_PROGRAM]: isTokenStep,
  [TOKEN_2022_PROGRAM]: isTokenStep,
};

/** The instructions of token programs that transfer tokens or close an account. */
const TAKING = [3, 12, 9];

/** Whether an instruction initializes an account, transfers tokens, closes an account, or syncs wrapped SOL. */
function isTokenStep(data: Buffer): boolean {
  return [1, 16, 18, ...TAKING, 17].includes(data[0] ?? -1);
}

/** The token account that an instruction takes from or closes, if it is a direct instruction of a token program. */
export function takenFrom({ program, accounts, data }: CompiledInstruction): MessageAccount | undefined {
  const isOfTokens = program.key === TOKEN_PROGRAM || program.key === TOKEN_2022_PROGRAM;
  return isOfTokens && TAKING.includes(data[0] ?? -1) ? accounts[0] : undefined;
}

/**
 * Parses a message into its unsigned transaction and checks its form: the wallet is the only signer and pays, each instruction is of a
 * program that the operator names or of a common one, and the fees are within the limit.
 */
export function requireForm(
  message: Uint8Array,
  wallet: string,
  programs: readonly string[],
  refuse: Refuse,
): SolanaTransaction {
  const transaction = parsed(message, refuse);
  const { accounts, instructions } = transaction;
  const [payer, ...others] = requiredSigners(transaction);
  if (payer !== wallet || others.length > 0) refuse("it requires a signature other than the wallet's");
  for (const instruction of instructions) requireProgram(instruction, programs, refuse);
  if (!instructions.some(({ program }) => programs.includes(program.key))) {
    refuse("it has no instruction of a program that the operator of this server has listed in `swaps.contracts`");
  }
  if (accounts.filter(({ writable }) => writable).length > MAX_SWAP_WRITABLE_ACCOUNTS) {
    refuse(`it writes to more than ${MAX_SWAP_WRITABLE_ACCOUNTS} accounts`);
  }
  if (orRefuse(() => feeOf(transaction), refuse) > MAX_SWAP_LAMPORTS_OF_FEES) {
    refuse(`it would pay more than ${MAX_SWAP_LAMPORTS_OF_FEES} lamports of fees`);
  }
  return transaction;
}

function requireProgram({ program, data }: CompiledInstruction, programs: readonly string[], refuse: Refuse): void {
  if (programs.includes(program.key)) return;
  const isStep = COMMON[program.key];
  if (!isStep) {
    refuse(
      `${program.key} is not among the programs on Solana that the operator of this server has listed in \`swaps.contracts\``,
    );
  }
  if (!isStep(data)) refuse(`an instruction of ${program.key} does something that no swap needs`);
}

const parsed = (message: Uint8Array, refuse: Refuse): SolanaTransaction =>
  orRefuse(() => transactionOfMessage(message, "message"), refuse);

function orRefuse<T>(read: () => T, refuse: Refuse): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof KeysteadError)
      return refuse(`it is not a transaction that a block could include: ${error.message}`);
    throw error;
  }
}
