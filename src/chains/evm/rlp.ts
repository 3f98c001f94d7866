/** What RLP encodes: byte strings, and lists of them to any depth. */
export type RlpItem = Uint8Array | readonly RlpItem[];

const STRING_OFFSET = 0x80;
const LIST_OFFSET = 0xc0;
/** Longest content whose length stands in the first byte. */
const MAX_SHORT_LENGTH = 55;

/** Recursive Length Prefix serialisation (Ethereum Yellow Paper, appendix B). */
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

/** An integer not below zero as RLP wants it: big-endian without leading zero bytes, zero being the empty string. */
export function rlpInteger(value: bigint): Buffer {
  if (value < 0n) throw new RangeError("RLP has no negative integers");
  if (value === 0n) return Buffer.alloc(0);
  const digits = value.toString(16);
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, "hex");
}
