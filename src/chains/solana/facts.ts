import { toHex } from "../../kernel/bytes.ts";
import { type DecodedInstruction, decodeInstruction, type ProgramInterface } from "./program-interface.ts";
import type { AddressTableLookup, CompiledInstruction, MessageAccount, SolanaTransaction } from "./transaction.ts";
import { type SplTransfer, type SystemTransfer, splTransfer, systemTransfer } from "./transfers.ts";

type LookupReference = { address_table_key: string; index: number; writable: boolean };

type InstructionFacts = {
  program_key: string;
  accounts: { account_key: string; signer: boolean; writable: boolean }[];
  instruction_data_hex: string;
  address_table_lookups: LookupReference[];
  parsed_instruction_data?: DecodedInstruction;
};

/** The content of `solana.tx` in policies. */
export type SolanaFacts = {
  account_keys: string[];
  program_keys: string[];
  instructions: InstructionFacts[];
  transfers: SystemTransfer[];
  recent_blockhash: string;
  spl_transfers: SplTransfer[];
  address_table_lookups: { address_table_key: string; writable_indexes: number[]; readonly_indexes: number[] }[];
  address_table_lookup_references: LookupReference[];
};

/**
 * The facts of a transaction for policies. `interfaces` are the stored ones, by program address. An instruction of such a program has
 * `parsed_instruction_data` if its data matches the interface.
 */
export function solanaFacts(
  { accounts, instructions, recentBlockhash, lookups }: SolanaTransaction,
  interfaces?: ReadonlyMap<string, ProgramInterface>,
): SolanaFacts {
  const statics = accounts.filter(({ lookup }) => lookup === undefined);
  const programs = new Set(instructions.map(({ program }) => program));
  return {
    account_keys: statics.map(({ key }) => key),
    program_keys: statics.filter((account) => programs.has(account)).map(({ key }) => key),
    instructions: instructions.map((instruction) =>
      instructionFacts(instruction, interfaces?.get(instruction.program.key)),
    ),
    transfers: instructions.map(systemTransfer).filter((transfer) => transfer !== undefined),
    recent_blockhash: recentBlockhash,
    spl_transfers: instructions.map(splTransfer).filter((transfer) => transfer !== undefined),
    address_table_lookups: lookups.map(lookupFacts),
    address_table_lookup_references: lookupReferences(accounts),
  };
}

function instructionFacts(
  { program, accounts, data }: CompiledInstruction,
  programInterface: ProgramInterface | undefined,
): InstructionFacts {
  const keys = accounts.map(({ key }) => key);
  const decoded = programInterface === undefined ? undefined : decodeInstruction(programInterface, data, keys);
  return {
    program_key: program.key,
    accounts: accounts.map(({ key, signer, writable }) => ({ account_key: key, signer, writable })),
    instruction_data_hex: toHex(data),
    address_table_lookups: lookupReferences(accounts),
    ...(decoded === undefined ? {} : { parsed_instruction_data: decoded }),
  };
}

const lookupReferences = (accounts: readonly MessageAccount[]): LookupReference[] =>
  accounts.flatMap(({ lookup, writable }) =>
    lookup === undefined ? [] : [{ address_table_key: lookup.tableKey, index: lookup.index, writable }],
  );

const lookupFacts = ({ tableKey, writableIndexes, readonlyIndexes }: AddressTableLookup) => ({
  address_table_key: tableKey,
  writable_indexes: [...writableIndexes],
  readonly_indexes: [...readonlyIndexes],
});
