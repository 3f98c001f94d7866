import { fail } from "../../kernel/errors.ts";
import type { CompiledInstruction, SolanaTransaction } from "./transaction.ts";

/** What a transaction asks of a block, and what its payer pays for that. */

export const COMPUTE_BUDGET_PROGRAM = "ComputeBudget111111111111111111111111111111";
/** The most that one transaction gets, whatever it asks for. */
export const MAX_COMPUTE_UNITS = 1_400_000;
/** What each instruction counts with where a transaction does not say. */
export const UNITS_PER_INSTRUCTION = 200_000;

const SET_UNIT_LIMIT = 2;
const SET_UNIT_PRICE = 3;
const LAMPORTS_PER_SIGNATURE = 5000n;
const MICRO_LAMPORTS = 1_000_000n;

/** Programs that verify signatures in place of the runtime; the first byte of their data is how many, and each is paid for. */
const VERIFYING_PROGRAMS: readonly string[] = [
  "Ed25519SigVerify111111111111111111111111111",
  "KeccakSecp256k11111111111111111111111111111",
  "Secp256r1SigVerify1111111111111111111111111",
];

export interface ComputeBudget {
  unitLimit?: number;
  /** Millionths of a lamport for each unit of the limit. */
  unitPrice?: bigint;
}

/**
 * What a transaction says of it itself.
 *
 * @throws KeysteadError TRANSACTION_INVALID where it says something twice or without a number, which no block takes
 */
export function computeBudgetOf({ field, instructions }: SolanaTransaction): ComputeBudget {
  const said = (tag: number, name: string, length: number): Buffer | undefined => {
    const [first, second] = instructions.filter((each) => isOfBudget(each, tag));
    if (second) fail("TRANSACTION_INVALID", { field, reason: `sets its compute unit ${name} twice` });
    if (first && first.data.length <= length) {
      fail("TRANSACTION_INVALID", { field, reason: `sets a compute unit ${name} without a number` });
    }
    return first?.data;
  };
  const limit = said(SET_UNIT_LIMIT, "limit", 4);
  const price = said(SET_UNIT_PRICE, "price", 8);
  return {
    ...(limit ? { unitLimit: limit.readUInt32LE(1) } : {}),
    ...(price ? { unitPrice: price.readBigUInt64LE(1) } : {}),
  };
}

const isOfBudget = ({ program, data }: CompiledInstruction, tag: number): boolean =>
  program.key === COMPUTE_BUDGET_PROGRAM && data[0] === tag;

export function unitLimitData(units: number): Buffer {
  const data = Buffer.alloc(5);
  data.writeUInt8(SET_UNIT_LIMIT);
  data.writeUInt32LE(units, 1);
  return data;
}

export function unitPriceData(microLamports: bigint): Buffer {
  const data = Buffer.alloc(9);
  data.writeUInt8(SET_UNIT_PRICE);
  data.writeBigUInt64LE(microLamports, 1);
  return data;
}

/**
 * Lamports that the first signer pays for a transaction in a block, whatever becomes of it there: for each signature, and for the units
 * that it asks for, however many it uses.
 *
 * @throws KeysteadError TRANSACTION_INVALID as `computeBudgetOf` does
 */
export function feeOf(transaction: SolanaTransaction): bigint {
  const { instructions, signatures } = transaction;
  const verified = instructions
    .filter(({ program }) => VERIFYING_PROGRAMS.includes(program.key))
    .reduce((sum, { data }) => sum + (data[0] ?? 0), 0);
  const { unitLimit = UNITS_PER_INSTRUCTION * instructions.length, unitPrice = 0n } = computeBudgetOf(transaction);
  const forUnits = BigInt(Math.min(unitLimit, MAX_COMPUTE_UNITS)) * unitPrice;
  const forSignatures = BigInt(signatures.length + verified) * LAMPORTS_PER_SIGNATURE;
  return forSignatures + (forUnits + MICRO_LAMPORTS - 1n) / MICRO_LAMPORTS;
}
