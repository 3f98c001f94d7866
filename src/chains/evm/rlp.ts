import { MAX_RLP_DEPTH, MAX_RLP_ITEMS } from "../../kernel/limits.ts";

/** An RLP item: a byte string, or a list of items, nested to any depth. */
export type RlpItem = Uint8Array | readonly RlpItem[];

const STRING_OFFSET = 0x80;
const LIST_OFFSET = 0xc0;
/** The longest content whose length is in the first byte. */
const MAX_SHORT_LENGTH = 55;

/** Recursive Length Prefix serialization (Ethereum Yellow Paper, appendix B). */
export function encodeRlp(item: RlpItem): Buffer {
  if (!(item instanceof Uint8Array)) return withLength(LIST_OFFSET, Buffer.concat(item.map(encodeRlp)));
  const [first] = item;
  // A single byte below 0x80 is its own encoding.
  if (item.length === 1 && first !== undefined && first < STRING_OFFSET) return Buffer.from(item);
  return withLength(STRING_OFFSET, item);
}

function withLength(offset: number, content: Uint8Array): Buffer {
  if (content.length <= MAX_SHORT_LENGTH) return Buffer.concat([Buffer.of(offset + content.length), content]);
  const length = rlpInteger(BigInt(content.length));
  return Buffer.concat([Buffer.of(offset + MAX_SHORT_LENGTH + length.length), length, content]);
}

/** A nonnegative integer in RLP's form: big-endian without leading zero bytes; zero is the empty string. */
export function rlpInteger(value: bigint): Buffer {
  if (value < 0n) throw new RangeError("RLP has no negative integers");
  if (value === 0n) return Buffer.alloc(0);
  const digits = value.toString(16);
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, "hex");
}

/** Why bytes are not RLP, as the end of a sentence about them. */
export class RlpError extends Error {}

/**
 * Decodes the single item in `bytes`. Items that are not in their shortest form are rejected, so the item encodes to the same bytes again.
 * Byte strings are views into `bytes`.
 *
 * @throws RlpError, also beyond `MAX_RLP_DEPTH` or `MAX_RLP_ITEMS`
 */
export function decodeRlp(bytes: Uint8Array): RlpItem {
  let items = 0;

  function itemAt(start: number, limit: number, depth: number): { item: RlpItem; end: number } {
    if (++items > MAX_RLP_ITEMS) throw new RlpError(`has more than ${MAX_RLP_ITEMS} items`);
    const { isList, from, end } = spanAt(bytes, start, limit);
    if (!isList) return { item: bytes.subarray(from, end), end };
    if (depth === MAX_RLP_DEPTH) throw new RlpError(`is nested deeper than ${MAX_RLP_DEPTH} lists`);
    const list: RlpItem[] = [];
    for (let at = from; at < end; ) {
      const next = itemAt(at, end, depth + 1);
      list.push(next.item);
      at = next.end;
    }
    return { item: list, end };
  }

  const { item, end } = itemAt(0, bytes.length, 0);
  if (end !== bytes.length) throw new RlpError("has bytes after its end");
  return item;
}

/** The position of the content of the item at `start`, which must end at `limit` or before. */
function spanAt(bytes: Uint8Array, start: number, limit: number): { isList: boolean; from: number; end: number } {
  const first = start < limit ? bytes[start] : undefined;
  if (first === undefined) throw new RlpError("ends too early");
  if (first < STRING_OFFSET) return { isList: false, from: start, end: start + 1 };
  const isList = first >= LIST_OFFSET;
  const short = first - (isList ? LIST_OFFSET : STRING_OFFSET);
  const sizeOfLength = Math.max(0, short - MAX_SHORT_LENGTH);
  const from = start + 1 + sizeOfLength;
  const length =
    sizeOfLength === 0 ? short : longLength(bytes.subarray(start + 1, Math.min(from, limit)), sizeOfLength);
  const end = from + length;
  if (end > limit) throw new RlpError("ends too early");
  if (!isList && length === 1 && (bytes[from] as number) < STRING_OFFSET) {
    throw new RlpError("has a byte below 0x80 with a length before it");
  }
  return { isList, from, end };
}

/** A length that does not fit into the first byte. With eight bytes it may exceed the safe numbers, but then it also exceeds any input. */
function longLength(digits: Uint8Array, size: number): number {
  if (digits.length < size) throw new RlpError("ends too early");
  const length = digits.reduce((sum, digit) => sum * 256 + digit, 0);
  if (digits[0] === 0 || length <= MAX_SHORT_LENGTH)
    throw new RlpError("has a length in a longer spelling than needed");
  return length;
}
