import { createHash } from "node:crypto";
import { type ByteReader, byteReader, type Refuse } from "./byte-reader.ts";

export interface RawInput {
  /** The 36 serialized bytes: the id of the spent transaction in the byte order of its hash, and the index. */
  readonly outpoint: Buffer;
  readonly scriptSig: Buffer;
  readonly sequence: number;
}

export interface RawOutput {
  /** Satoshis. */
  readonly value: bigint;
  readonly script: Buffer;
  /** The serialized output. */
  readonly bytes: Buffer;
}

export interface RawTransaction {
  readonly version: number;
  readonly inputs: readonly RawInput[];
  readonly outputs: readonly RawOutput[];
  readonly locktime: number;
  /** Double SHA-256 without witnesses, in the byte order of the hash; usually displayed reversed. */
  readonly id: Buffer;
}

/** All bitcoin that will ever exist, in satoshis. */
const MAX_MONEY = 2_100_000_000_000_000;
const SEGWIT_MARKER = 0;
const SEGWIT_FLAG = 1;

export function sha256(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

export const doubleSha256 = (...parts: readonly Uint8Array[]): Buffer => sha256(sha256(...parts));

/** Parses the transaction in a PSBT's global map, which always has the form without witnesses (BIP-174). */
export function parseUnsignedTransaction(bytes: Uint8Array, refuse: Refuse): RawTransaction {
  return parseTransaction(bytes, false, refuse);
}

/** Parses a signed transaction, with witnesses (BIP-144) or without. */
export function parseSignedTransaction(bytes: Uint8Array, refuse: Refuse): RawTransaction {
  return parseTransaction(bytes, bytes[4] === SEGWIT_MARKER && bytes[5] === SEGWIT_FLAG, refuse);
}

function parseTransaction(bytes: Uint8Array, hasWitnesses: boolean, refuse: Refuse): RawTransaction {
  const reader = byteReader(bytes, refuse);
  const version = reader.take(4);
  if (hasWitnesses) reader.take(2);
  const start = reader.offset();
  const inputs = readList(reader, () => readInput(reader));
  const outputs = readList(reader, () => readOutput(reader, refuse));
  const body = bytes.subarray(start, reader.offset());
  if (hasWitnesses) skipWitnesses(reader, inputs.length, refuse);
  const locktime = reader.take(4);
  if (!reader.isAtEnd()) refuse("goes on after its end");
  return {
    version: version.readInt32LE(),
    inputs,
    outputs,
    locktime: locktime.readUInt32LE(),
    id: doubleSha256(version, body, locktime),
  };
}

/** Each element has at least one byte, so an excessive count fails at the end of the input, and memory is proportional to the input. */
function readList<Element>(reader: ByteReader, readElement: () => Element): Element[] {
  const count = reader.compactSize();
  const elements: Element[] = [];
  for (let i = 0; i < count; i++) elements.push(readElement());
  return elements;
}

function readInput(reader: ByteReader): RawInput {
  return { outpoint: reader.take(36), scriptSig: reader.sized(), sequence: reader.uint32() };
}

/** Reads a transaction output. */
export function readOutput(reader: ByteReader, refuse: Refuse): RawOutput {
  const start = reader.offset();
  const [low, high] = [reader.uint32(), reader.uint32()];
  if (high * 2 ** 32 + low > MAX_MONEY) refuse("has an output of more than 21 million bitcoin");
  const scriptLength = reader.compactSize();
  const scriptStart = reader.offset();
  reader.skip(scriptLength);
  return new OutputView(reader.bytes, start, scriptStart, reader.offset());
}

/** A lazily read output: a transaction may have many, and few are used. */
class OutputView implements RawOutput {
  readonly #buffer: Buffer;
  readonly #start: number;
  readonly #scriptStart: number;
  readonly #end: number;

  constructor(buffer: Buffer, start: number, scriptStart: number, end: number) {
    this.#buffer = buffer;
    this.#start = start;
    this.#scriptStart = scriptStart;
    this.#end = end;
  }

  get value(): bigint {
    return this.#buffer.readBigUInt64LE(this.#start);
  }

  get script(): Buffer {
    return this.#buffer.subarray(this.#scriptStart, this.#end);
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(this.#start, this.#end);
  }
}

function skipWitnesses(reader: ByteReader, count: number, refuse: Refuse): void {
  let isEmpty = true;
  for (let i = 0; i < count; i++) {
    const items = reader.compactSize();
    if (items > 0) isEmpty = false;
    for (let j = 0; j < items; j++) reader.skip(reader.compactSize());
  }
  // BIP-144: without any witness, the other form must be used.
  if (isEmpty) refuse("is marked as having witnesses and has none");
}
