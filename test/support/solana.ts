import { base58 } from "@scure/base";
import {
  type AccountLookupMeta,
  type AccountMeta,
  type AccountRole,
  type Address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransaction,
  createTransactionMessage,
  decompileTransactionMessage,
  getAddressDecoder,
  getCompiledTransactionMessageDecoder,
  getShortU16Encoder,
  getTransactionDecoder,
  getTransactionEncoder,
  type Instruction,
  isSignerRole,
  isWritableRole,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from "@solana/kit";
import type { MessageAccount, SolanaTransaction } from "../../src/chains/solana/transaction.ts";

export const SYSTEM_PROGRAM = "11111111111111111111111111111111" as Address;
export const TOKEN_PROGRAM = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA" as Address;
export const TOKEN_2022_PROGRAM = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb" as Address;

/** An address that nobody has a key of: 32 times the byte. */
export const addressOf = (byte: number): Address => getAddressDecoder().decode(new Uint8Array(32).fill(byte));

export type Built = { version: "legacy" | 0; payer: Address; blockhash: string; instructions: readonly Instruction[] };

/** The wire transaction of instructions with placeholders for signatures, as Solana's own library compiles it. */
export function compiled({ version, payer, blockhash, instructions }: Built): Buffer {
  const message = pipe(
    createTransactionMessage({ version }),
    (each) => setTransactionMessageFeePayer(payer, each),
    (each) =>
      setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: blockhash as Blockhash, lastValidBlockHeight: 0n },
        each,
      ),
    (each) => appendTransactionMessageInstructions(instructions, each),
  );
  return Buffer.from(getTransactionEncoder().encode(compileTransaction(message)));
}

/** Addresses that a lookup table is taken to hold, for the library, which knows them. */
export const lookedUp = (table: number, index: number): Address =>
  getAddressDecoder().decode(new Uint8Array(32).fill(0xee).with(0, table).with(1, index));

export const TABLES = [addressOf(0xd0), addressOf(0xd1)] as const;

export const lookup = (table: 0 | 1, index: number, role: AccountRole.READONLY | AccountRole.WRITABLE) =>
  ({
    address: lookedUp(table, index),
    addressIndex: index,
    lookupTableAddress: TABLES[table],
    role,
  }) satisfies AccountLookupMeta;

const addressesByLookupTableAddress = Object.fromEntries(
  TABLES.map((key, table) => [key, Array.from({ length: 256 }, (_, index) => lookedUp(table, index))]),
);

/** What Solana's own library reads in a wire transaction, in the words of policies; transfers are left out. */
export function factsByLibrary(wire: Uint8Array) {
  const { messageBytes, signatures } = getTransactionDecoder().decode(wire);
  const compiledMessage = getCompiledTransactionMessageDecoder().decode(messageBytes);
  if (compiledMessage.version === 1) throw new Error("version 1 is not built here");
  const { instructions = [] } = decompileTransactionMessage(compiledMessage, { addressesByLookupTableAddress });
  const lookups = ("addressTableLookups" in compiledMessage && compiledMessage.addressTableLookups) || [];
  const programs = new Set(instructions.map(({ programAddress }) => programAddress));
  return {
    signers: Object.keys(signatures),
    account_keys: [...compiledMessage.staticAccounts],
    program_keys: compiledMessage.staticAccounts.filter((key) => programs.has(key)),
    recent_blockhash: compiledMessage.lifetimeToken,
    instructions: instructions.map(({ programAddress, accounts = [], data = new Uint8Array() }) => ({
      program_key: programAddress,
      accounts: accounts.map((account) => ({
        account_key: "lookupTableAddress" in account ? "ADDRESS_TABLE_LOOKUP" : account.address,
        signer: isSignerRole(account.role),
        writable: isWritableRole(account.role),
      })),
      instruction_data_hex: Buffer.from(data).toString("hex"),
      address_table_lookups: accounts.flatMap(referenceOf),
    })),
    address_table_lookups: lookups.map(({ lookupTableAddress, writableIndexes, readonlyIndexes }) => ({
      address_table_key: lookupTableAddress,
      writable_indexes: [...writableIndexes],
      readonly_indexes: [...readonlyIndexes],
    })),
    address_table_lookup_references: [true, false].flatMap((writable) =>
      lookups.flatMap(({ lookupTableAddress, writableIndexes, readonlyIndexes }) =>
        (writable ? writableIndexes : readonlyIndexes).map((index) => ({
          address_table_key: lookupTableAddress as string,
          index,
          writable,
        })),
      ),
    ),
  };
}

const referenceOf = (account: AccountMeta | AccountLookupMeta) =>
  "lookupTableAddress" in account
    ? [
        {
          address_table_key: account.lookupTableAddress as string,
          index: account.addressIndex,
          writable: isWritableRole(account.role),
        },
      ]
    : [];

/** The parts of a wire transaction, with nothing checked. */
export type WireParts = {
  signatures: readonly Uint8Array[];
  /** The byte before the header, where there is one. */
  version?: number;
  header: readonly [number, number, number];
  keys: readonly string[];
  blockhash: string;
  instructions: readonly { program: number; accounts: readonly number[]; data: Uint8Array }[];
  lookups?: readonly { key: string; writable: readonly number[]; readonly: readonly number[] }[];
};

const length = getShortU16Encoder();
const counted = (items: readonly Uint8Array[]): Buffer =>
  Buffer.concat([length.encode(items.length) as Uint8Array, ...items]);
const countedBytes = (bytes: ArrayLike<number>): Buffer =>
  Buffer.concat([length.encode(bytes.length) as Uint8Array, Uint8Array.from(bytes)]);
const keyBytes = (key: string): Uint8Array => base58.decode(key);

export function encodeWire({ signatures, version, header, keys, blockhash, instructions, lookups }: WireParts): Buffer {
  return Buffer.concat([
    counted(signatures),
    ...(version === undefined ? [] : [Buffer.of(version)]),
    Buffer.from(header),
    counted(keys.map(keyBytes)),
    keyBytes(blockhash),
    counted(
      instructions.map(({ program, accounts, data }) =>
        Buffer.concat([Buffer.of(program), countedBytes(accounts), countedBytes(data)]),
      ),
    ),
    ...(lookups === undefined
      ? []
      : [
          counted(
            lookups.map(({ key, writable, readonly }) =>
              Buffer.concat([keyBytes(key), countedBytes(writable), countedBytes(readonly)]),
            ),
          ),
        ]),
  ]);
}

/** What was read of a transaction written again, from everything but the message's own bytes. */
export function encodeAgain(transaction: SolanaTransaction): Buffer {
  const { version, accounts, signatures, recentBlockhash, instructions, lookups } = transaction;
  const statics = accounts.filter((account) => account.lookup === undefined);
  const count = (signer: boolean, writable: boolean) =>
    statics.filter((account) => account.signer === signer && account.writable === writable).length;
  const indexOf = (account: MessageAccount) => accounts.indexOf(account);
  return encodeWire({
    signatures,
    ...(version === "legacy" ? {} : { version: 0x80 }),
    header: [count(true, true) + count(true, false), count(true, false), count(false, false)],
    keys: statics.map(({ key }) => key),
    blockhash: recentBlockhash,
    instructions: instructions.map(({ program, accounts: used, data }) => ({
      program: indexOf(program),
      accounts: used.map(indexOf),
      data,
    })),
    ...(version === "legacy"
      ? {}
      : {
          lookups: lookups.map(({ tableKey, writableIndexes, readonlyIndexes }) => ({
            key: tableKey,
            writable: writableIndexes,
            readonly: readonlyIndexes,
          })),
        }),
  });
}
