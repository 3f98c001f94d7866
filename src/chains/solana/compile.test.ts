import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  AccountRole,
  type Address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransactionMessage,
  compressTransactionMessageUsingAddressLookupTables,
  createTransactionMessage,
  decompileTransactionMessage,
  getAddressDecoder,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from "@solana/kit";
import fc from "fast-check";
import { compileMessage, type LookupTable, type NamedInstruction } from "./compile.ts";

const ACCOUNTS = 24;
/** The number of accounts that may sign; the library creates no message with more than twelve. */
const SIGNERS = 8;
const PROGRAMS = 4;
const TABLES = 3;

const keyOf = (number: number): string => getAddressDecoder().decode(Buffer.alloc(32, number + 1));
const payer = keyOf(200);
const blockhash = keyOf(201);
const programs = Array.from({ length: PROGRAMS }, (_, at) => keyOf(100 + at));

const account = fc
  .record({ at: fc.nat(ACCOUNTS), signer: fc.boolean(), writable: fc.boolean() })
  // Instructions name the payer as well.
  .map(({ at, signer, writable }) => ({
    key: at === ACCOUNTS ? payer : keyOf(at),
    signer: signer && at < SIGNERS,
    writable,
  }));
const ofProgram = fc.constantFrom(...programs).map((key) => ({ key, signer: false, writable: false }));
const instruction: fc.Arbitrary<NamedInstruction> = fc.record({
  program: fc.constantFrom(...programs),
  accounts: fc.array(fc.oneof({ weight: 9, arbitrary: account }, { weight: 1, arbitrary: ofProgram }), {
    maxLength: 12,
  }),
  data: fc.uint8Array({ maxLength: 40 }),
});
/** Each account is in at most one table, because compilers may choose freely between two. */
const tables: fc.Arbitrary<LookupTable[]> = fc
  .array(fc.nat(TABLES), { minLength: ACCOUNTS + PROGRAMS, maxLength: ACCOUNTS + PROGRAMS })
  .map((places) => {
    const all = [...Array.from({ length: ACCOUNTS }, (_, at) => keyOf(at)), ...programs];
    return Array.from({ length: TABLES }, (_, table) => ({
      key: keyOf(150 + table),
      addresses: all.filter((_key, at) => places[at] === table),
    }));
  });

const roles = [AccountRole.READONLY, AccountRole.WRITABLE, AccountRole.READONLY_SIGNER, AccountRole.WRITABLE_SIGNER];

/** The same, compiled by `@solana/kit`. */
function compiledByKit(instructions: readonly NamedInstruction[], byTable: Record<Address, Address[]>): Uint8Array {
  const named = instructions.map(({ program, accounts, data }) => ({
    programAddress: program as Address,
    accounts: accounts.map(({ key, signer, writable }) => ({
      address: key as Address,
      role: roles[Number(signer) * 2 + Number(writable)] as AccountRole,
    })),
    data,
  }));
  const message = pipe(
    createTransactionMessage({ version: 0 }),
    (empty) => setTransactionMessageFeePayer(payer as Address, empty),
    (paid) =>
      setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: blockhash as Blockhash, lastValidBlockHeight: 0n },
        paid,
      ),
    (dated) => appendTransactionMessageInstructions(named, dated),
    (full) => compressTransactionMessageUsingAddressLookupTables(full, byTable),
  );
  return getCompiledTransactionMessageEncoder().encode(compileTransactionMessage(message)) as Uint8Array;
}

describe("messages made of instructions", () => {
  it("say the same as those that the published library compiles, and are of the same size", () => {
    fc.assert(
      fc.property(fc.array(instruction, { minLength: 1, maxLength: 6 }), tables, (instructions, lookupTables) => {
        const byTable = Object.fromEntries(lookupTables.map(({ key, addresses }) => [key, addresses])) as Record<
          Address,
          Address[]
        >;
        const meaning = (message: Uint8Array) =>
          decompileTransactionMessage(getCompiledTransactionMessageDecoder().decode(message), {
            addressesByLookupTableAddress: byTable,
          });
        const ours = Uint8Array.from(compileMessage(payer, instructions, lookupTables, blockhash));
        const theirs = compiledByKit(instructions, byTable);
        assert.deepEqual(meaning(ours), meaning(theirs));
        assert.equal(ours.length, theirs.length);
      }),
      { seed: 2026, numRuns: 300 },
    );
  });
});
