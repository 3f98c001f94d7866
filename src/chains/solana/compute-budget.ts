import { fail } from "../../kernel/errors.ts";
import type { CompiledInstruction, SolanaTransaction } from "./transaction.ts";

/** The compute budget that a transaction requests, and what its payer pays for it. */

export const COMPUTE_BUDGET_PROGRAM = "ComputeBudget111111111111111111111111111111";
/** The maximum for one transaction, whatever it requests. */
export const MAX_COMPUTE_UNITS = 1_400_000;
/** The default per instruction, if the transaction sets no limit. */
export const UNITS_PER_INSTRUCTION = 200_000;

const SET_UNIT_LIMIT = 2;
const SET_UNIT_PRICE = 3;
const LAMPORTS_PER_SIGNATURE = 5000n;
const MICRO_LAMPORTS = 1_000_000n;

/** Programs that verify signatures instead of the runtime. The first byte of their data is the number of signatures, each of which costs a fee. */
const VERIFYING_PROGRAMS: readonly string[] = [
  "Ed25519SigVerify111111111111111111111111111",
  "KeccakSecp256k11111111111111111111111111111",
  "Secp256r1SigVerify1111111111111111111111111",
];

export interface ComputeBudget {
  unitLimit?: number;
  /** Millionths of a lamport per unit of the limit. */
  unitPrice?: bigint;
}

/**
 * The compute budget that a transaction sets.
 *
 * @throws KeysteadError TRANSACTION_INVALID if it sets a value twice or without a number, which validators reject
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
 * Lamports that the first signer pays for a transaction in a block, whether or not it succeeds: for each signature, and for the requested
 * units, regardless of how many it uses.
 *
 * @throws KeysteadError TRANSACTION_INVALID like `computeBudgetOf`
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
