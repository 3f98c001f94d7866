import { fail } from "../../kernel/errors.ts";

/** Rejects a transaction. `reason` follows the name of the request field in the error. */
export type Refuse = (reason: string) => never;

/** A function that rejects the request's `field` with TRANSACTION_INVALID. */
export function refusalOf(field: string): Refuse {
  return (reason) => fail("TRANSACTION_INVALID", { field, reason });
}

/** Reads Bitcoin's serialization from front to back. The returned buffers are views of the same bytes. */
export interface ByteReader {
  /** The whole input. */
  readonly bytes: Buffer;
  readonly offset: () => number;
  readonly isAtEnd: () => boolean;
  readonly take: (length: number) => Buffer;
  readonly skip: (length: number) => void;
  readonly byte: () => number;
  readonly uint32: () => number;
  readonly uint64: () => bigint;
  /** An integer of 1, 3, 5 or 9 bytes in its shortest form, at most 2^53 - 1. */
  readonly compactSize: () => number;
  /** A CompactSize, and as many bytes as it says. */
  readonly sized: () => Buffer;
}

const FIRST_WIDE_SIZE = 0xfd;
/** The widths of the integers that follow these first bytes of a CompactSize, and the smallest value that needs them. */
const WIDE_SIZES = new Map([
  [0xfd, { width: 2, least: 0xfdn }],
  [0xfe, { width: 4, least: 0x1_0000n }],
  [0xff, { width: 8, least: 0x1_0000_0000n }],
]);

export function byteReader(bytes: Uint8Array, refuse: Refuse): ByteReader {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  // Creating a view is more expensive than reading, so numbers and skipped bytes are handled without views.
  const skip = (length: number): void => {
    if (length > buffer.length - at) refuse("ends in the middle of a value");
    at += length;
  };
  const take = (length: number): Buffer => {
    skip(length);
    return buffer.subarray(at - length, at);
  };
  const compactSize = (): number => {
    skip(1);
    const first = buffer[at - 1] as number;
    if (first < FIRST_WIDE_SIZE) return first;
    const { width, least } = WIDE_SIZES.get(first) as { width: number; least: bigint };
    const value = littleEndian(take(width));
    if (value < least) refuse("has a length that is not in its shortest form");
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) refuse("has a length beyond its end");
    return Number(value);
  };
  return {
    bytes: buffer,
    offset: () => at,
    isAtEnd: () => at === buffer.length,
    take,
    skip,
    byte: () => take(1).readUInt8(),
    uint32: () => {
      skip(4);
      return buffer.readUInt32LE(at - 4);
    },
    uint64: () => take(8).readBigUInt64LE(),
    compactSize,
    sized: () => take(compactSize()),
  };
}

const littleEndian = (bytes: Buffer): bigint => BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);

/** A CompactSize in its shortest form. */
export function compactSize(value: number): Buffer {
  if (value < 0xfd) return Buffer.of(value);
  if (value <= 0xffff) return Buffer.of(0xfd, value & 0xff, value >> 8);
  const bytes = Buffer.alloc(5, 0xfe);
  bytes.writeUInt32LE(value, 1);
  return bytes;
}

/** Bytes preceded by their length as a CompactSize. */
export function sized(bytes: Uint8Array): Buffer {
  return Buffer.concat([compactSize(bytes.length), bytes]);
}
