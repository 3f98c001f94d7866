import { sha256 } from "@noble/hashes/sha2.js";
import { bech32, bech32m, createBase58check } from "@scure/base";
import { MAX_PSBT_BYTES, MAX_PSBT_INPUTS, MAX_PSBT_RECORDS } from "../../../src/kernel/limits.ts";
import { bytesOfHex, hexOf } from "../bytes.ts";

/** Bitcoin transactions to be signed, as PSBTs, read before somebody approves them. Nothing is decided by what stands here. */

export type BitcoinNetwork = "MAINNET" | "TESTNET" | "REGTEST";

export interface BitcoinOutput {
  /** In satoshis. */
  amount: bigint;
  /** As hex. */
  script: string;
}

export interface BitcoinTransaction {
  /** How many outputs of others it spends. */
  inputs: number;
  outputs: BitcoinOutput[];
  /** Satoshis that the inputs have together and no output gets; undefined where not every input's amount is there. */
  fee: bigint | undefined;
  /** Whether the amounts of all inputs come with the transactions that have them, and are not only claimed. */
  isProved: boolean;
}

/** All bitcoin there will ever be, in satoshis. */
const MAX_MONEY = 2_100_000_000_000_000n;

const MAGIC = "70736274ff";
/** Keys of records (BIP-174). */
const UNSIGNED_TRANSACTION = "00";
const VERSION = "fb";
const NON_WITNESS_UTXO = "00";
const WITNESS_UTXO = "01";

/** Thrown inside alone: the bytes are no PSBT. */
class NotAPsbt extends Error {}

class Reader {
  readonly bytes: Uint8Array;
  at = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }

  take(length: number): Uint8Array {
    const end = this.at + length;
    if (end > this.bytes.length) throw new NotAPsbt();
    const taken = this.bytes.subarray(this.at, end);
    this.at = end;
    return taken;
  }

  /** Little-endian. */
  integer(length: number): bigint {
    return BigInt(`0x${hexOf(this.take(length).toReversed())}`);
  }

  /** A CompactSize in its shortest form; one that is longer than any PSBT is none. */
  count(): number {
    const [first = 0] = this.take(1);
    if (first < 0xfd) return first;
    if (first === 0xff) throw new NotAPsbt();
    const [width, least] = first === 0xfd ? [2, 0xfdn] : [4, 0x1_0000n];
    const value = this.integer(width as number);
    if (value < (least as bigint)) throw new NotAPsbt();
    return Number(value);
  }

  sized(): Uint8Array {
    return this.take(this.count());
  }

  /** Each item takes bytes, so that a count beyond what is there comes to an end. */
  list<Item>(read: () => Item): Item[] {
    const items: Item[] = [];
    for (let left = this.count(); left > 0; left--) items.push(read());
    return items;
  }
}

/** Undefined of whatever is not a PSBT of version 0 (BIP-174) from its first byte to its last. */
export function readPsbt(hex: string): BitcoinTransaction | undefined {
  const digits = hex.replace(/^0x/i, "");
  if (digits.length > 2 * MAX_PSBT_BYTES) return undefined;
  const bytes = bytesOfHex(digits);
  if (!bytes) return undefined;
  try {
    return psbtOf(new Reader(bytes));
  } catch (error) {
    if (error instanceof NotAPsbt) return undefined;
    throw error;
  }
}

function psbtOf(reader: Reader): BitcoinTransaction {
  if (hexOf(reader.take(MAGIC.length / 2)) !== MAGIC) throw new NotAPsbt();
  const left = { records: MAX_PSBT_RECORDS };
  const global = mapOf(reader, left);
  const unsigned = global.get(UNSIGNED_TRANSACTION);
  const version = global.get(VERSION);
  if (!unsigned || version?.some((byte) => byte !== 0)) throw new NotAPsbt();
  const { outpoints, outputs } = transactionOf(unsigned, false);
  if (outpoints.length > MAX_PSBT_INPUTS) throw new NotAPsbt();
  const spent = outpoints.map((outpoint) => spentOf(outpoint, mapOf(reader, left)));
  for (const _ of outputs) mapOf(reader, left);
  if (!reader.isAtEnd) throw new NotAPsbt();
  const isKnown = spent.every(({ output }) => output !== undefined);
  const sum = (parts: (BitcoinOutput | undefined)[]) => parts.reduce((all, part) => all + (part?.amount ?? 0n), 0n);
  const fee = sum(spent.map(({ output }) => output)) - sum(outputs);
  if (isKnown && fee < 0n) throw new NotAPsbt();
  return {
    inputs: spent.length,
    outputs,
    fee: isKnown ? fee : undefined,
    isProved: spent.every(({ isProved }) => isProved),
  };
}

/** The records of one map, by their keys in hex. */
function mapOf(reader: Reader, left: { records: number }): Map<string, Uint8Array> {
  const map = new Map<string, Uint8Array>();
  for (let key = reader.sized(); key.length > 0; key = reader.sized()) {
    const name = hexOf(key);
    if (map.has(name) || left.records-- <= 0) throw new NotAPsbt();
    map.set(name, reader.sized());
  }
  return map;
}

/** The output that an input spends; undefined where the PSBT does not have it. */
function spentOf(
  outpoint: Uint8Array,
  map: ReadonlyMap<string, Uint8Array>,
): { output: BitcoinOutput | undefined; isProved: boolean } {
  const whole = map.get(NON_WITNESS_UTXO);
  const part = map.get(WITNESS_UTXO);
  const claimed = part && outputOf(part);
  if (!whole) return { output: claimed, isProved: false };
  const { id, outputs } = transactionOf(whole, true);
  const place = Number(new Reader(outpoint.subarray(id.length)).integer(4));
  const output = outputs[place];
  const isOther = id.some((byte, at) => outpoint[at] !== byte);
  if (isOther || !output || (claimed && !isSame(claimed, output))) throw new NotAPsbt();
  return { output, isProved: true };
}

const isSame = (a: BitcoinOutput, b: BitcoinOutput): boolean => a.amount === b.amount && a.script === b.script;

function outputOf(bytes: Uint8Array): BitcoinOutput {
  const reader = new Reader(bytes);
  const output = readOutput(reader);
  if (!reader.isAtEnd) throw new NotAPsbt();
  return output;
}

function readOutput(reader: Reader): BitcoinOutput {
  const amount = reader.integer(8);
  if (amount > MAX_MONEY) throw new NotAPsbt();
  return { amount, script: hexOf(reader.sized()) };
}

const OUTPOINT_BYTES = 36;

interface RawTransaction {
  /** Double SHA-256 without witnesses, in the order in which outpoints have it. */
  id: Uint8Array;
  outpoints: Uint8Array[];
  outputs: BitcoinOutput[];
}

/** With witnesses (BIP-144) where that is what the bytes say, and may be; an unsigned one has none. */
function transactionOf(bytes: Uint8Array, mayHaveWitnesses: boolean): RawTransaction {
  const reader = new Reader(bytes);
  const version = reader.take(4);
  const hasWitnesses = mayHaveWitnesses && bytes[4] === 0 && bytes[5] === 1;
  if (hasWitnesses) reader.take(2);
  const start = reader.at;
  const outpoints = reader.list(() => {
    const outpoint = reader.take(OUTPOINT_BYTES);
    reader.sized();
    reader.take(4);
    return outpoint;
  });
  const outputs = reader.list(() => readOutput(reader));
  const body = bytes.subarray(start, reader.at);
  if (hasWitnesses) for (const _ of outpoints) reader.list(() => reader.sized());
  const locktime = reader.take(4);
  if (!reader.isAtEnd) throw new NotAPsbt();
  const hash = sha256.create().update(version).update(body).update(locktime).digest();
  return { id: sha256(hash), outpoints, outputs };
}

/** The kinds of script that have an address, around a hash or a key. */
const SCRIPTS = {
  P2PKH: /^76a914([0-9a-f]{40})88ac$/,
  P2SH: /^a914([0-9a-f]{40})87$/,
  P2WPKH: /^0014([0-9a-f]{40})$/,
  P2WSH: /^0020([0-9a-f]{64})$/,
  P2TR: /^5120([0-9a-f]{64})$/,
};

const base58check = createBase58check(sha256);
const TEST_VERSIONS = { P2PKH: 0x6f, P2SH: 0xc4 };
const NETWORKS = {
  MAINNET: { versions: { P2PKH: 0x00, P2SH: 0x05 }, prefix: "bc" },
  TESTNET: { versions: TEST_VERSIONS, prefix: "tb" },
  REGTEST: { versions: TEST_VERSIONS, prefix: "bcrt" },
};

/** Whom an output pays (BIP-13, BIP-173, BIP-350); undefined where its script has no address. */
export function addressOf({ script }: BitcoinOutput, network: BitcoinNetwork): string | undefined {
  const { versions, prefix } = NETWORKS[network];
  for (const [kind, form] of Object.entries(SCRIPTS) as [keyof typeof SCRIPTS, RegExp][]) {
    const program = bytesOfHex(form.exec(script)?.[1] ?? "");
    if (!program?.length) continue;
    if (kind === "P2PKH" || kind === "P2SH") return base58check.encode(Uint8Array.of(versions[kind], ...program));
    return kind === "P2TR"
      ? bech32m.encode(prefix, [1, ...bech32m.toWords(program)])
      : bech32.encode(prefix, [0, ...bech32.toWords(program)]);
  }
  return undefined;
}

/** The network of an address by how it begins; undefined of what is none, as an identifier of a key. */
export function networkOf(address: string): BitcoinNetwork | undefined {
  if (/^(bc1|[13])[0-9a-zA-Z]{24,}$/.test(address)) return "MAINNET";
  if (/^(tb1|[mn2])[0-9a-zA-Z]{24,}$/.test(address)) return "TESTNET";
  return /^bcrt1[0-9a-z]{24,}$/.test(address) ? "REGTEST" : undefined;
}
