import { fail } from "../../kernel/errors.ts";
import { MAX_PSBT_BYTES, MAX_PSBT_INPUTS, MAX_PSBT_RECORDS, MAX_UNSIGNED_BITCOIN_BYTES } from "../../kernel/limits.ts";
import { type ByteReader, byteReader, compactSize, type Refuse, refusalOf } from "./byte-reader.ts";
import { parseUnsignedTransaction, type RawTransaction } from "./raw-transaction.ts";

/** One record of a map. */
export interface PsbtRecord {
  readonly type: number;
  /** The whole key: the type and the key data. */
  readonly key: Buffer;
  /** The part of the key after the type. */
  readonly keyData: Buffer;
  readonly value: Buffer;
}

/** The records of one map in their original order. */
export type PsbtMap = readonly PsbtRecord[];

/** A PSBT as its maps; unknown records are kept unchanged. */
export interface PsbtMaps {
  readonly unsigned: RawTransaction;
  readonly global: PsbtMap;
  readonly inputs: readonly PsbtMap[];
  readonly outputs: readonly PsbtMap[];
}

/** Types from here on are longer than a byte. Nobody uses them, so all are accepted. */
const FIRST_LONG_TYPE = 0xfd;
const MAGIC = Buffer.from("70736274ff", "hex");
const END_OF_MAP = Buffer.of(0);

export const GLOBAL_UNSIGNED_TX = 0x00;
const GLOBAL_VERSION = 0xfb;

export const IN_NON_WITNESS_UTXO = 0x00;
export const IN_WITNESS_UTXO = 0x01;
export const IN_PARTIAL_SIG = 0x02;
export const IN_SIGHASH_TYPE = 0x03;
export const IN_REDEEM_SCRIPT = 0x04;
export const IN_WITNESS_SCRIPT = 0x05;
export const IN_FINAL_SCRIPTSIG = 0x07;
export const IN_FINAL_SCRIPTWITNESS = 0x08;
export const IN_TAP_KEY_SIG = 0x13;
export const IN_TAP_SCRIPT_SIG = 0x14;
export const IN_TAP_LEAF_SCRIPT = 0x15;

/** The permitted forms of the key data and lengths of the value; if undefined, the value is not checked. */
type Shape = { readonly key: (data: Buffer) => boolean; readonly value?: (length: number) => boolean };

type Shapes = ReadonlyMap<number, Shape>;

const none = (data: Buffer): boolean => data.length === 0;
const bytes =
  (...lengths: number[]) =>
  (data: Buffer): boolean =>
    lengths.includes(data.length);
const of =
  (...lengths: number[]) =>
  (length: number): boolean =>
    lengths.includes(length);
const derivation = (length: number): boolean => length >= 4 && length % 4 === 0;
const publicKey = (key: Buffer): boolean =>
  (key.length === 33 && (key[0] === 2 || key[0] === 3)) || (key.length === 65 && key[0] === 4);
const compressedKey = (key: Buffer): boolean => key.length === 33 && publicKey(key);
/** A control block: one byte, a key of 32 bytes, and up to 128 nodes of 32 bytes (BIP-341). */
const controlBlock = (data: Buffer): boolean =>
  data.length >= 33 && data.length <= 33 + 32 * 128 && (data.length - 33) % 32 === 0;

/** The types of version 0 and their shapes (BIP-174, BIP-371, BIP-373). */
const globalShapes = new Map<number, Shape>([
  [GLOBAL_UNSIGNED_TX, { key: none }],
  [0x01, { key: bytes(78), value: derivation }],
  [GLOBAL_VERSION, { key: none, value: of(4) }],
]);

const inputShapes = new Map<number, Shape>([
  [IN_NON_WITNESS_UTXO, { key: none }],
  [IN_WITNESS_UTXO, { key: none }],
  [IN_PARTIAL_SIG, { key: publicKey }],
  [IN_SIGHASH_TYPE, { key: none, value: of(4) }],
  [IN_REDEEM_SCRIPT, { key: none }],
  [IN_WITNESS_SCRIPT, { key: none }],
  [0x06, { key: publicKey, value: derivation }],
  [IN_FINAL_SCRIPTSIG, { key: none }],
  [IN_FINAL_SCRIPTWITNESS, { key: none }],
  [0x09, { key: none }],
  [0x0a, { key: bytes(20) }],
  [0x0b, { key: bytes(32) }],
  [0x0c, { key: bytes(20) }],
  [0x0d, { key: bytes(32) }],
  [IN_TAP_KEY_SIG, { key: none, value: of(64, 65) }],
  [IN_TAP_SCRIPT_SIG, { key: bytes(64), value: of(64, 65) }],
  [IN_TAP_LEAF_SCRIPT, { key: controlBlock }],
  [0x16, { key: bytes(32) }],
  [0x17, { key: none, value: of(32) }],
  [0x18, { key: none, value: of(32) }],
  [0x19, { key: compressedKey, value: of(32) }],
  [0x1a, { key: compressedKey, value: (length) => length % 33 === 0 }],
  [0x1b, { key: bytes(66, 98), value: of(66) }],
  [0x1c, { key: bytes(66, 98), value: of(32) }],
]);

const outputShapes = new Map<number, Shape>([
  [0x00, { key: none }],
  [0x01, { key: none }],
  [0x02, { key: publicKey, value: derivation }],
  [0x05, { key: none, value: of(32) }],
  [0x06, { key: none }],
  [0x07, { key: bytes(32) }],
  [0x08, { key: compressedKey, value: (length) => length % 33 === 0 }],
]);

/**
 * Types that only version 2 has, and that could contradict the unsigned transaction (BIP-370). They have no key data; with key data they
 * are unknown records, as in a test vector of BIP-174.
 */
const globalOfVersion2 = [0x02, 0x03, 0x04, 0x05, 0x06];
const inputOfVersion2 = [0x0e, 0x0f, 0x10, 0x11, 0x12];
const outputOfVersion2 = [0x03, 0x04];

/**
 * Parses a PSBT of version 0 (BIP-174) into its maps. The shape of every known record is checked; unknown ones are kept.
 *
 * @throws KeysteadError TRANSACTION_INVALID, TRANSACTION_UNSUPPORTED for another version
 */
export function parsePsbtMaps(psbt: Uint8Array, field: string): PsbtMaps {
  const refuse: Refuse = (reason) => refusalOf(field)(`is not a valid PSBT: it ${reason}`);
  if (psbt.length > MAX_PSBT_BYTES) refuse(`has more than ${MAX_PSBT_BYTES} bytes`);
  const reader = byteReader(psbt, refuse);
  if (psbt.length < MAGIC.length || !reader.take(MAGIC.length).equals(MAGIC))
    refuse("does not begin with `psbt` and ff");
  let records = 0;
  const readMap = (place: string): PsbtMap => {
    const map = readRecords(reader, MAX_PSBT_RECORDS - records, place, refuse);
    records += map.length;
    return map;
  };
  const global = readMap("the global map");
  refuseVersion(global, field);
  checkShapes(global, globalShapes, globalOfVersion2, "the global map", refuse);
  const unsigned = unsignedTransactionOf(global, refuse);
  const readMaps = (kind: string, count: number, shapes: Shapes, ofVersion2: readonly number[]): PsbtMap[] =>
    Array.from({ length: count }, (_, i) => {
      const place = `the map of ${kind} ${i}`;
      const map = readMap(place);
      checkShapes(map, shapes, ofVersion2, place, refuse);
      return map;
    });
  const inputs = readMaps("input", unsigned.inputs.length, inputShapes, inputOfVersion2);
  const outputs = readMaps("output", unsigned.outputs.length, outputShapes, outputOfVersion2);
  if (!reader.isAtEnd()) refuse("goes on after the map of the last output");
  return { unsigned, global, inputs, outputs };
}

function readRecords(reader: ByteReader, limit: number, place: string, refuse: Refuse): PsbtMap {
  const records: PsbtRecord[] = [];
  const seen = new Set<string>();
  for (let key = reader.sized(); key.length > 0; key = reader.sized()) {
    if (records.length === limit) refuse(`has more than ${MAX_PSBT_RECORDS} records`);
    const { type, keyData } = partsOfKey(key, refuse);
    const name = key.toString("latin1");
    if (seen.has(name)) refuse(`has a key twice in ${place}`);
    seen.add(name);
    records.push({ type, key, keyData, value: reader.sized() });
  }
  return records;
}

function partsOfKey(key: Buffer, refuse: Refuse): { type: number; keyData: Buffer } {
  const [type = 0] = key;
  if (type < FIRST_LONG_TYPE) return { type, keyData: key.subarray(1) };
  const reader = byteReader(key, refuse);
  return { type: reader.compactSize(), keyData: key.subarray(reader.offset()) };
}

function refuseVersion(global: PsbtMap, field: string): void {
  const version = recordOf(global, GLOBAL_VERSION)?.value;
  if (version === undefined || version.length !== 4 || version.readUInt32LE() === 0) return;
  const reason = `is a PSBT of version ${version.readUInt32LE()}; send version 0 (BIP-174)`;
  fail("TRANSACTION_UNSUPPORTED", { field, reason });
}

function checkShapes(map: PsbtMap, shapes: Shapes, ofVersion2: readonly number[], place: string, refuse: Refuse): void {
  for (const { type, keyData, value } of map) {
    const name = `a record of type ${type} in ${place}`;
    if (ofVersion2.includes(type) && keyData.length === 0) refuse(`has ${name} that only version 2 has`);
    const shape = shapes.get(type);
    if (shape === undefined) continue;
    if (!shape.key(keyData)) refuse(`has ${name} whose key has a wrong length or form`);
    if (shape.value?.(value.length) === false) refuse(`has ${name} whose value has a wrong length`);
  }
}

function unsignedTransactionOf(global: PsbtMap, refuse: Refuse): RawTransaction {
  const record = recordOf(global, GLOBAL_UNSIGNED_TX) ?? refuse("has no unsigned transaction");
  if (record.value.length > MAX_UNSIGNED_BITCOIN_BYTES) {
    refuse(`has an unsigned transaction of more than ${MAX_UNSIGNED_BITCOIN_BYTES} bytes`);
  }
  const unsigned = parseUnsignedTransaction(record.value, (reason) =>
    refuse(`has an unsigned transaction that ${reason}`),
  );
  if (unsigned.inputs.length > MAX_PSBT_INPUTS) refuse(`has more than ${MAX_PSBT_INPUTS} inputs`);
  if (unsigned.inputs.some(({ scriptSig }) => scriptSig.length > 0)) {
    refuse("has an unsigned transaction with a signature script");
  }
  return unsigned;
}

/** The first record of a type in a map. */
export const recordOf = (map: PsbtMap, type: number): PsbtRecord | undefined => map.find((each) => each.type === type);

/** A map with one more record, inserted where its key belongs in ascending order; all others keep their positions. */
export function withRecord(map: PsbtMap, record: PsbtRecord): PsbtMap {
  const at = map.findIndex(({ key }) => Buffer.compare(key, record.key) > 0);
  return at === -1 ? [...map, record] : map.toSpliced(at, 0, record);
}

/** The record of a one-byte type. */
export function psbtRecord(type: number, keyData: Uint8Array, value: Buffer): PsbtRecord {
  const key = Buffer.concat([Buffer.of(type), keyData]);
  return { type, key, keyData: key.subarray(1), value };
}

/** The PSBT of these maps; parsed maps serialize to the same bytes. */
export function serializePsbt({ global, inputs, outputs }: PsbtMaps): Buffer {
  const parts: Uint8Array[] = [MAGIC];
  for (const map of [global, ...inputs, ...outputs]) {
    for (const { key, value } of map) parts.push(compactSize(key.length), key, compactSize(value.length), value);
    parts.push(END_OF_MAP);
  }
  return Buffer.concat(parts);
}
