import { base58 } from "@scure/base";
import { MAX_SOLANA_TRANSACTION_BYTES } from "../../../src/kernel/limits.ts";
import { bytesOfHex, hexOf } from "../bytes.ts";

/** Unsigned Solana transactions: read before somebody approves them, and made to send SOL. Nothing is decided by what is read here. */

export interface SolanaInstruction {
  /** The program's address, in base58. */
  program: string;
  /** Addresses in base58; undefined of one that a lookup table supplies. */
  accounts: (string | undefined)[];
  data: Uint8Array;
}

export interface SolanaMessage {
  feePayer: string;
  recentBlockhash: string;
  instructions: SolanaInstruction[];
}

const SIGNATURE_BYTES = 64;
const KEY_BYTES = 32;
const VERSION_FLAG = 0x80;

/** Thrown inside alone: the bytes are no transaction. */
class NotATransaction extends Error {}

/** Takes a transaction apart, and refuses to go beyond its end. */
class Reader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(length: number): Uint8Array {
    const end = this.#at + length;
    if (end > this.#bytes.length) throw new NotATransaction();
    const taken = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return taken;
  }

  byte(): number {
    return this.take(1)[0] as number;
  }

  key(): string {
    return base58.encode(this.take(KEY_BYTES));
  }

  /** The "compact-u16" that lists begin with; longer than any packet is none. */
  count(): number {
    const first = this.byte();
    if (first < 0x80) return first;
    const second = this.byte();
    if (second === 0 || second >= 0x80) throw new NotATransaction();
    return (first & 0x7f) | (second << 7);
  }

  list<Item>(read: () => Item): Item[] {
    return Array.from({ length: this.count() }, read);
  }
}

/** Undefined of whatever is not a transaction, legacy or version 0, from its first byte to its last. */
export function readSolanaTransaction(hex: string): SolanaMessage | undefined {
  if (hex.length > 2 * MAX_SOLANA_TRANSACTION_BYTES) return undefined;
  const bytes = bytesOfHex(hex);
  if (!bytes) return undefined;
  try {
    return messageOf(new Reader(bytes));
  } catch (error) {
    if (error instanceof NotATransaction) return undefined;
    throw error;
  }
}

function messageOf(reader: Reader): SolanaMessage {
  const signatures = reader.list(() => reader.take(SIGNATURE_BYTES)).length;
  const first = reader.byte();
  if (first > VERSION_FLAG) throw new NotATransaction();
  const isVersioned = first === VERSION_FLAG;
  const signers = isVersioned ? reader.byte() : first;
  reader.take(2);
  const keys = reader.list(() => reader.key());
  const recentBlockhash = reader.key();
  const compiled = reader.list(() => ({
    program: reader.byte(),
    accounts: [...reader.take(reader.count())],
    data: reader.take(reader.count()),
  }));
  const lookedUp = isVersioned ? lookups(reader) : 0;
  const feePayer = keys[0];
  if (!reader.isAtEnd || feePayer === undefined || signers !== signatures || signers > keys.length)
    throw new NotATransaction();
  const accountAt = (index: number): string | undefined => {
    if (index >= keys.length + lookedUp) throw new NotATransaction();
    return keys[index];
  };
  const instructions = compiled.map(({ program, accounts, data }) => {
    const address = keys[program];
    if (address === undefined) throw new NotATransaction();
    return { program: address, accounts: accounts.map(accountAt), data };
  });
  return { feePayer, recentBlockhash, instructions };
}

/** How many accounts tables supply. */
function lookups(reader: Reader): number {
  const tables = reader.list(() => {
    reader.key();
    return reader.take(reader.count()).length + reader.take(reader.count()).length;
  });
  return tables.reduce((sum, count) => sum + count, 0);
}

export const SYSTEM_PROGRAM = "11111111111111111111111111111111";
const TOKEN_PROGRAMS: readonly string[] = [
  "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
  "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb",
];

const PROGRAM_NAMES: Record<string, string> = {
  [SYSTEM_PROGRAM]: "System",
  TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA: "Token",
  TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb: "Token-2022",
  ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL: "Associated Token Account",
  ComputeBudget111111111111111111111111111111: "Compute Budget",
  MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr: "Memo",
  Stake11111111111111111111111111111111111111: "Stake",
  Vote111111111111111111111111111111111111111: "Vote",
};

/** Undefined of a program that is not known here. */
export const programName = (address: string): string | undefined =>
  Object.hasOwn(PROGRAM_NAMES, address) ? PROGRAM_NAMES[address] : undefined;

/** A payment, of SOL or of a token. */
export interface SolanaTransfer {
  /** Of the smallest unit, in decimals. */
  amount: string;
  to: string | undefined;
  /** Where a token is moved: which, if the instruction says it. */
  token?: { mint: string | undefined };
}

const SYSTEM_TRANSFER = "02000000";
const AMOUNT_BYTES = 8;
const TOKEN_TRANSFER = 3;
const TOKEN_TRANSFER_CHECKED = 12;

const littleEndian = (bytes: Uint8Array): string => BigInt(`0x${hexOf(bytes.toReversed())}`).toString();

/** What an instruction of the System and Token programs moves; undefined of every other one. */
export function transferOf({ program, accounts, data }: SolanaInstruction): SolanaTransfer | undefined {
  if (
    program === SYSTEM_PROGRAM &&
    data.length === 4 + AMOUNT_BYTES &&
    hexOf(data.subarray(0, 4)) === SYSTEM_TRANSFER
  ) {
    return accounts.length < 2 ? undefined : { amount: littleEndian(data.subarray(4)), to: accounts[1] };
  }
  if (!TOKEN_PROGRAMS.includes(program)) return undefined;
  const amount = data.subarray(1, 1 + AMOUNT_BYTES);
  if (data[0] === TOKEN_TRANSFER && data.length === 1 + AMOUNT_BYTES && accounts.length >= 3)
    return { amount: littleEndian(amount), to: accounts[1], token: { mint: undefined } };
  if (data[0] === TOKEN_TRANSFER_CHECKED && data.length === 2 + AMOUNT_BYTES && accounts.length >= 4)
    return { amount: littleEndian(amount), to: accounts[2], token: { mint: accounts[1] } };
  return undefined;
}

/** Whether it is 32 bytes in base58. */
export const isSolanaAddress = (text: string): boolean => keyOf(text) !== undefined;

/** The longest that 32 bytes come to. */
const MAX_ADDRESS_LENGTH = 44;

function keyOf(address: string): Uint8Array | undefined {
  if (address.length > MAX_ADDRESS_LENGTH) return undefined;
  try {
    const key = base58.decode(address);
    return key.length === KEY_BYTES ? key : undefined;
  } catch {
    return undefined;
  }
}

/**
 * An unsigned legacy transaction that moves SOL, as hex: the payer's signature and the blockhash are zeros that the server puts the real
 * ones in place of. @throws Error where an address is none
 */
export function solTransfer({ from, to, lamports }: { from: string; to: string; lamports: bigint }): string {
  const [payer, payee, system] = [from, to, SYSTEM_PROGRAM].map((address) => {
    const key = keyOf(address);
    if (!key) throw new Error(`${address} is no Solana address`);
    return key;
  }) as [Uint8Array, Uint8Array, Uint8Array];
  const isSelf = from === to;
  const keys = isSelf ? [payer, system] : [payer, payee, system];
  const amount = new Uint8Array(AMOUNT_BYTES);
  new DataView(amount.buffer).setBigUint64(0, lamports, true);
  const wire = [
    [1],
    new Uint8Array(SIGNATURE_BYTES),
    // One signature, no account that is read only among the signers, and one among the others: the program.
    [1, 0, 1],
    [keys.length],
    ...keys,
    new Uint8Array(KEY_BYTES),
    [1],
    [keys.length - 1],
    [2, 0, isSelf ? 0 : 1],
    [4 + AMOUNT_BYTES],
    [2, 0, 0, 0],
    amount,
  ];
  return wire.map((part) => hexOf(Uint8Array.from(part))).join("");
}

/** What 64 bits hold: no account has more. */
export const MAX_LAMPORTS = 2n ** 64n - 1n;
