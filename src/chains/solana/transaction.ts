import { base58 } from "@scure/base";
import { bytesFromHex, toHex } from "../../kernel/bytes.ts";
import { fail } from "../../kernel/errors.ts";
import { printable } from "../../kernel/json.ts";
import { MAX_SOLANA_TRANSACTION_BYTES } from "../../kernel/limits.ts";
import { type ByteReader, byteReader } from "./byte-reader.ts";

/** An account of a message, at the index by which instructions refer to it: static accounts first, then looked-up ones. */
export type MessageAccount = {
  /** Its address in base58, or `ADDRESS_TABLE_LOOKUP` if a lookup table supplies it. */
  readonly key: string;
  readonly signer: boolean;
  /** Requested as writable. The runtime still makes programs and system accounts read-only. */
  readonly writable: boolean;
  /** Present if a lookup table supplies it. */
  readonly lookup?: { readonly tableKey: string; readonly index: number };
};

export type CompiledInstruction = {
  readonly program: MessageAccount;
  readonly accounts: readonly MessageAccount[];
  readonly data: Buffer;
};

export type AddressTableLookup = {
  readonly tableKey: string;
  readonly writableIndexes: readonly number[];
  readonly readonlyIndexes: readonly number[];
};

export type SolanaTransaction = {
  /** The request's field that contained it, for errors. */
  readonly field: string;
  readonly version: "legacy" | 0;
  /** As received, 64 bytes each, in the order of the signers; placeholders are usually zero. */
  readonly signatures: readonly Buffer[];
  /** The signed bytes. */
  readonly message: Buffer;
  readonly accounts: readonly MessageAccount[];
  readonly recentBlockhash: string;
  readonly instructions: readonly CompiledInstruction[];
  readonly lookups: readonly AddressTableLookup[];
};

/** The key of an account from a lookup table: its address is on the chain, not in the transaction. */
export const ADDRESS_TABLE_LOOKUP = "ADDRESS_TABLE_LOOKUP";

const SIGNATURE_LENGTH = 64;
const KEY_LENGTH = 32;
/** The placeholder for a blockhash that is not known yet. In base58. */
export const NO_BLOCKHASH = base58.encode(new Uint8Array(KEY_LENGTH));
/** Set in the first byte of a message with a version; the first count in a legacy header is always smaller. */
const VERSION_FLAG = 0x80;
/** Account indexes are single bytes. */
const MAX_ACCOUNTS = 256;

type Refuse = (place: string, reason: string) => never;

/**
 * Parses a whole wire transaction, including its signatures or their placeholders, legacy or version 0. Everything that fails the runtime's
 * own formal checks is rejected (`sanitize` of messages and transactions, and duplicate accounts), so every node reads a parsed transaction
 * in the same way. `field` names the request's field in errors.
 *
 * @throws KeysteadError TRANSACTION_INVALID, TRANSACTION_UNSUPPORTED for other versions
 */
export function parseTransaction(bytes: Uint8Array, field: string): SolanaTransaction {
  const refuse: Refuse = (place, reason) =>
    fail("TRANSACTION_INVALID", { field, reason: `is not a valid Solana transaction: ${place} ${reason}` });
  checkBeginning(bytes, field, refuse);
  // A copy: what was checked must be what is signed, even if the caller changes its bytes.
  const wire = Buffer.from(bytes);
  const reader = byteReader(wire, () => refuse("it", "ends too early"));
  const signatures = readList(reader, "signatures", refuse, () => reader.take(SIGNATURE_LENGTH));
  const message = wire.subarray(wire.length - reader.left());
  const parsed = parseMessage(reader, field, refuse);
  if (reader.left() > 0) refuse("it", `has ${reader.left()} bytes after its end`);
  const required = parsed.accounts.filter(({ signer }) => signer).length;
  if (signatures.length !== required) {
    refuse("signatures", `has ${signatures.length} entries, and the header requires ${required} with placeholders`);
  }
  return { field, signatures, message, ...parsed };
}

/** Checks that need no parsing: versions from 1 on begin with their version, and may be larger. */
function checkBeginning(bytes: Uint8Array, field: string, refuse: Refuse): void {
  const first = bytes[0] ?? refuse("it", "is empty");
  if (first === VERSION_FLAG) refuse("it", "begins with its message; signatures or placeholders must come first");
  if (first > VERSION_FLAG) refuseVersion(first, field);
  if (bytes.length > MAX_SOLANA_TRANSACTION_BYTES) {
    refuse("it", `has ${bytes.length} bytes; the network takes at most ${MAX_SOLANA_TRANSACTION_BYTES}`);
  }
}

function refuseVersion(prefix: number, field: string): never {
  const version = prefix - VERSION_FLAG;
  return fail("TRANSACTION_UNSUPPORTED", {
    field,
    reason: `has version ${version}; legacy and version 0 are supported`,
  });
}

type Message = Pick<SolanaTransaction, "version" | "accounts" | "recentBlockhash" | "instructions" | "lookups">;

function parseMessage(reader: ByteReader, field: string, refuse: Refuse): Message {
  const { version, header } = readVersion(reader, field);
  const readKey = () => base58.encode(reader.take(KEY_LENGTH));
  const keys = readList(reader, "message.accountKeys", refuse, readKey);
  const statics = staticAccounts(header, keys, refuse);
  const recentBlockhash = readKey();
  const compiled = readList(reader, "message.instructions", refuse, (place) => ({
    place,
    program: readByte(reader),
    accounts: readBytes(reader, `${place}.accounts`, refuse),
    data: readBytes(reader, `${place}.data`, refuse),
  }));
  const lookups = version === "legacy" ? [] : readLookups(reader, readKey, refuse);
  const accounts = [...statics, ...lookedUpAccounts(lookups)];
  if (accounts.length > MAX_ACCOUNTS) refuse("message", `has ${accounts.length} accounts; at most ${MAX_ACCOUNTS} fit`);
  const instructions = compiled.map((instruction) => ({
    program: programAt(instruction.program, statics, accounts.length, `${instruction.place}.program`, refuse),
    accounts: [...instruction.accounts].map((index, position) =>
      accountAt(index, accounts, `${instruction.place}.accounts[${position}]`, refuse),
    ),
    data: instruction.data,
  }));
  return { version, accounts, recentBlockhash, instructions, lookups };
}

function readVersion(reader: ByteReader, field: string): { version: "legacy" | 0; header: Buffer } {
  const first = readByte(reader);
  if (first > VERSION_FLAG) refuseVersion(first, field);
  if (first === VERSION_FLAG) return { version: 0, header: reader.take(3) };
  return { version: "legacy", header: Buffer.concat([Buffer.of(first), reader.take(2)]) };
}

/** Signers come first. Among signers, and among the others, writable accounts come first. */
function staticAccounts(header: Buffer, keys: readonly string[], refuse: Refuse): MessageAccount[] {
  const [required = 0, readonlySigned = 0, readonlyUnsigned = 0] = header;
  if (readonlySigned >= required) refuse("message.header", "has no writable signer, who would pay the fee");
  if (required + readonlyUnsigned > keys.length) {
    refuse("message.header", `counts ${required + readonlyUnsigned} accounts, and there are ${keys.length}`);
  }
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) refuse("message.accountKeys", `has ${twice} twice`);
  return keys.map((key, index) => {
    const signer = index < required;
    return { key, signer, writable: index < (signer ? required - readonlySigned : keys.length - readonlyUnsigned) };
  });
}

function readLookups(reader: ByteReader, readKey: () => string, refuse: Refuse): readonly AddressTableLookup[] {
  return readList(reader, "message.addressTableLookups", refuse, (place) => {
    const tableKey = readKey();
    const writableIndexes = [...readBytes(reader, `${place}.writableIndexes`, refuse)];
    const readonlyIndexes = [...readBytes(reader, `${place}.readonlyIndexes`, refuse)];
    if (writableIndexes.length + readonlyIndexes.length === 0) refuse(place, "looks nothing up");
    return { tableKey, writableIndexes, readonlyIndexes };
  });
}

/** First the accounts that all tables supply as writable, then those that they supply as read-only. */
function lookedUpAccounts(lookups: readonly AddressTableLookup[]): MessageAccount[] {
  const accountsOf = (tableKey: string, indexes: readonly number[], writable: boolean): MessageAccount[] =>
    indexes.map((index) => ({ key: ADDRESS_TABLE_LOOKUP, signer: false, writable, lookup: { tableKey, index } }));
  return [
    ...lookups.flatMap(({ tableKey, writableIndexes }) => accountsOf(tableKey, writableIndexes, true)),
    ...lookups.flatMap(({ tableKey, readonlyIndexes }) => accountsOf(tableKey, readonlyIndexes, false)),
  ];
}

function programAt(
  index: number,
  statics: readonly MessageAccount[],
  accountCount: number,
  place: string,
  refuse: Refuse,
): MessageAccount {
  if (index === 0) refuse(place, "is the fee payer");
  if (index >= statics.length && index < accountCount) refuse(place, "comes from a lookup table");
  return accountAt(index, statics, place, refuse);
}

function accountAt(index: number, accounts: readonly MessageAccount[], place: string, refuse: Refuse): MessageAccount {
  return accounts[index] ?? refuse(place, `is account ${index}, and there are ${accounts.length}`);
}

const readByte = (reader: ByteReader): number => reader.take(1).readUInt8();

const readBytes = (reader: ByteReader, place: string, refuse: Refuse): Buffer =>
  reader.take(readCompactU16(reader, place, refuse));

function readList<Item>(
  reader: ByteReader,
  place: string,
  refuse: Refuse,
  read: (place: string) => Item,
): readonly Item[] {
  const length = readCompactU16(reader, place, refuse);
  const items: Item[] = [];
  // Every item has at least one byte, so an excessive length fails at the end of the input.
  for (let index = 0; index < length; index++) items.push(read(`${place}[${index}]`));
  return items;
}

/** One to three bytes of seven bits each, least significant first; only the shortest form is accepted. */
function readCompactU16(reader: ByteReader, place: string, refuse: Refuse): number {
  let value = 0;
  for (let position = 0; position < 3; position++) {
    const byte = readByte(reader);
    value |= (byte & 0x7f) << (7 * position);
    if (byte === 0 && position > 0) break;
    if (byte < 0x80) return value <= 0xffff ? value : refuse(place, "has a length beyond 16 bits");
  }
  return refuse(place, "has a malformed length (compact-u16 in its shortest form is needed)");
}

/** The parts of a message. Accounts are referred to by index: static ones first, then looked-up ones. */
export interface MessageParts {
  version: "legacy" | 0;
  /** The number of signers, the number of read-only ones among them, and the number of read-only ones among the other static accounts. */
  header: readonly [number, number, number];
  /** In base58, like the blockhash. */
  keys: readonly string[];
  blockhash: string;
  instructions: readonly { program: number; accounts: readonly number[]; data: Uint8Array }[];
  /** Empty for a legacy message. */
  lookups: readonly AddressTableLookup[];
}

/** The bytes of a message, not validated: parsing them finds problems. */
export function serializeMessage(parts: MessageParts): Buffer {
  const { version, header, keys, blockhash, instructions, lookups } = parts;
  const counted = (bytes: ArrayLike<number>): Buffer =>
    Buffer.concat([compactU16(bytes.length), Uint8Array.from(bytes)]);
  const listed = (items: readonly Uint8Array[]): Buffer => Buffer.concat([compactU16(items.length), ...items]);
  return Buffer.concat([
    ...(version === 0 ? [Buffer.of(VERSION_FLAG)] : []),
    Buffer.from(header),
    listed(keys.map((key) => base58.decode(key))),
    base58.decode(blockhash),
    listed(
      instructions.map(({ program, accounts, data }) =>
        Buffer.concat([Buffer.of(program), counted(accounts), counted(data)]),
      ),
    ),
    ...(version === 0
      ? [
          listed(
            lookups.map(({ tableKey, writableIndexes, readonlyIndexes }) =>
              Buffer.concat([base58.decode(tableKey), counted(writableIndexes), counted(readonlyIndexes)]),
            ),
          ),
        ]
      : []),
  ]);
}

/** The shortest form, which `readCompactU16` requires. */
function compactU16(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest & 0x7f) | 0x80);
    rest >>>= 7;
  }
  return Buffer.from([...bytes, rest]);
}

/**
 * The transaction of a message, with empty signatures.
 *
 * @throws KeysteadError like `parseTransaction`
 */
export function transactionOfMessage(message: Uint8Array, field: string): SolanaTransaction {
  const required = (message[0] === VERSION_FLAG ? message[1] : message[0]) ?? 0;
  const signatures = Array.from({ length: required }, () => Buffer.alloc(SIGNATURE_LENGTH));
  return parseTransaction(wireOf({ signatures, message }), field);
}

/** The same transaction with another blockhash of 32 bytes. Signatures stay unchanged and become invalid. */
export function withBlockhash(transaction: SolanaTransaction, blockhash: Uint8Array): SolanaTransaction {
  const { field, version, accounts, signatures, message } = transaction;
  if (blockhash.length !== KEY_LENGTH) throw new RangeError(`a blockhash has ${KEY_LENGTH} bytes`);
  const statics = accounts.filter(({ lookup }) => lookup === undefined).length;
  const place = keysAt(version) + KEY_LENGTH * statics;
  const changed = Buffer.from(message);
  changed.set(blockhash, place);
  return parseTransaction(wireOf({ signatures, message: changed }), field);
}

/** Whether two messages differ only in their blockhashes. The second one must have been parsed before. */
export function isSameButBlockhash(message: Uint8Array, parsed: Uint8Array): boolean {
  const place = keysAt(parsed[0] === VERSION_FLAG ? 0 : "legacy");
  const start = place + KEY_LENGTH * (parsed[place - 1] ?? 0);
  const [end, one, other] = [start + KEY_LENGTH, Buffer.from(message), Buffer.from(parsed)];
  if (one.length !== other.length) return false;
  return one.subarray(0, start).equals(other.subarray(0, start)) && one.subarray(end).equals(other.subarray(end));
}

/** The wire transaction. So few signatures fit into one that their number is a single byte. */
export const wireOf = ({ signatures, message }: { signatures: readonly Uint8Array[]; message: Uint8Array }): Buffer =>
  Buffer.concat([Buffer.of(signatures.length), ...signatures, message]);

/** The payer of a message that was parsed before: its first account. */
export function feePayerOf(message: Uint8Array): string {
  const at = keysAt(message[0] === VERSION_FLAG ? 0 : "legacy");
  return base58.encode(message.subarray(at, at + KEY_LENGTH));
}

/** The keys follow the version, the header of three bytes and the number of keys, which fits into one byte. */
const keysAt = (version: "legacy" | 0): number => (version === "legacy" ? 0 : 1) + 3 + 1;

/** The addresses whose signatures the message requires, in the order of the signatures; the first one pays the fee. */
export const requiredSigners = ({ accounts }: SolanaTransaction): string[] =>
  accounts.filter(({ signer }) => signer).map(({ key }) => key);

/** The bytes that every signer signs. */
export function messageOf(transaction: SolanaTransaction): Uint8Array {
  return transaction.message;
}

/** The index of an address among the signers, and of its signature; undefined if its signature is not required. */
export function signerIndex(transaction: SolanaTransaction, address: string): number | undefined {
  const index = transaction.accounts.findIndex(({ key, signer }) => signer && key === address);
  return index === -1 ? undefined : index;
}

/**
 * The wire transaction with the 64-byte signature of `address` inserted; the others stay unchanged.
 *
 * @throws KeysteadError TRANSACTION_INVALID if the transaction does not require a signature of the address
 */
export function insertSignature(transaction: SolanaTransaction, address: string, signature: Uint8Array): Buffer {
  if (signature.length !== SIGNATURE_LENGTH) throw new RangeError(`a signature has ${SIGNATURE_LENGTH} bytes`);
  const place = signerIndex(transaction, address);
  if (place === undefined) refuseSigner(transaction, address);
  const signatures = transaction.signatures.map((given, index) => (index === place ? signature : given));
  return wireOf({ signatures, message: transaction.message });
}

function refuseSigner(transaction: SolanaTransaction, address: string): never {
  const { field } = transaction;
  const reason = `is to be signed by ${requiredSigners(transaction).join(", ")}, not by ${printable(address)}`;
  return fail("TRANSACTION_INVALID", { field, reason });
}

export type TransactionEncoding = "hex" | "base64";

/**
 * Parses a wire transaction in hex, with or without `0x`, or in padded canonical base64.
 *
 * @throws KeysteadError like `parseTransaction`
 */
export function decodeWireTransaction(text: string, encoding: TransactionEncoding, field: string): SolanaTransaction {
  const bytes = encoding === "hex" ? bytesFromHex(text.replace(/^0x/i, "")) : bytesFromBase64(text);
  const remedy = encoding === "hex" ? "must be an even number of hex digits" : "must be base64";
  return parseTransaction(bytes ?? fail("TRANSACTION_INVALID", { field, reason: remedy }), field);
}

/**
 * Converts a wire transaction in hex or base64 to hex. Text that is both is treated as hex, because the base64 of a transaction never
 * consists of hex digits only.
 *
 * @throws KeysteadError TRANSACTION_INVALID
 */
export function hexOfEither(text: string, field: string): string {
  if (bytesFromHex(text.replace(/^0x/i, ""))) return text;
  const bytes = bytesFromBase64(text);
  if (bytes) return toHex(bytes);
  return fail("TRANSACTION_INVALID", { field, reason: "must be base64, or an even number of hex digits" });
}

function bytesFromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.toString("base64") === text ? bytes : undefined;
}
