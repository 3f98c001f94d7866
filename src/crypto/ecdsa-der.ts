const SEQUENCE = 0x30;
const INTEGER = 0x02;
const SCALAR_BYTES = 32;
const ZERO = Buffer.alloc(SCALAR_BYTES);
const SHORTEST = 8;
const LONGEST = 2 + 2 * (2 + SCALAR_BYTES + 1);

/** Order n of the P-256 group, 32 bytes big-endian (SEC 2 section 2.4.2). */
export const P256_ORDER = Buffer.from("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", "hex");
/** Order n of the secp256k1 group, 32 bytes big-endian (SEC 2 section 2.4.1). */
export const SECP256K1_ORDER = Buffer.from("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", "hex");

/**
 * Reads an ECDSA-Sig-Value (RFC 3279 section 2.2.3) of a 256-bit curve in strict DER: short minimal lengths, minimal positive INTEGERs,
 * nothing after them, r and s in [1, n-1]. A high s is accepted, because clients do not normalize s.
 *
 * @param order n of the curve; a Buffer contains 32 bytes big-endian
 * @returns 64 bytes r || s, or undefined
 */
export function parseEcdsaDer(bytes: Uint8Array, order: bigint | Buffer): Buffer | undefined {
  return parseSignature(bytes, order, false);
}

/**
 * Also accepts INTEGERs of 32 bytes with redundant leading zeros. `toDerSignature` of `@turnkey/crypto`, with which wallets stamp, writes
 * scalars at their full width, so one signature in 256 has one.
 */
export function parseFixedWidthEcdsaDer(bytes: Uint8Array, order: Buffer): Buffer | undefined {
  return parseSignature(bytes, order, true);
}

function parseSignature(bytes: Uint8Array, order: bigint | Buffer, mayBeWide: boolean): Buffer | undefined {
  if (bytes.length < SHORTEST || bytes.length > LONGEST) return undefined;
  if (bytes[0] !== SEQUENCE || bytes[1] !== bytes.length - 2) return undefined;
  const n = typeof order === "bigint" ? scalarBytes(order) : order;
  const rs = Buffer.alloc(2 * SCALAR_BYTES);
  const endOfR = readScalar(bytes, 2, n, rs, SCALAR_BYTES, mayBeWide);
  if (endOfR === undefined) return undefined;
  return readScalar(bytes, endOfR, n, rs, rs.length, mayBeWide) === bytes.length ? rs : undefined;
}

/** Copies the INTEGER at `start` into the 32 bytes of `target` before `targetEnd`. Returns the offset after it, or undefined. */
function readScalar(
  bytes: Uint8Array,
  start: number,
  order: Buffer,
  target: Buffer,
  targetEnd: number,
  mayBeWide: boolean,
): number | undefined {
  const length = bytes[start + 1] ?? 0;
  const first = start + 2;
  const end = first + length;
  if (bytes[start] !== INTEGER || length === 0 || length > SCALAR_BYTES + 1 || end > bytes.length) return undefined;
  const head = bytes[first] ?? 0;
  if (head >= 0x80) return undefined;
  const isPadded = head === 0;
  const isWide = mayBeWide && length === SCALAR_BYTES;
  // Otherwise a leading zero is allowed only before a set high bit. That also rejects zero itself.
  if (isPadded && !isWide && (length === 1 || (bytes[first + 1] ?? 0) < 0x80)) return undefined;
  const digits = bytes.subarray(isPadded ? first + 1 : first, end);
  if (digits.length > SCALAR_BYTES) return undefined;
  target.set(digits, targetEnd - digits.length);
  const comparedTo = (other: Buffer) => target.compare(other, 0, SCALAR_BYTES, targetEnd - SCALAR_BYTES, targetEnd);
  return comparedTo(ZERO) > 0 && comparedTo(order) < 0 ? end : undefined;
}

/**
 * DER of a signature given as 64 bytes r || s.
 *
 * @throws RangeError when it is not 64 bytes
 */
export function encodeEcdsaDer(rs: Uint8Array): Buffer {
  if (rs.length !== 2 * SCALAR_BYTES) throw new RangeError("an r || s signature has 64 bytes");
  const content = [encodeScalar(rs.subarray(0, SCALAR_BYTES)), encodeScalar(rs.subarray(SCALAR_BYTES))];
  const length = content.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Buffer.of(SEQUENCE, length), ...content]);
}

function encodeScalar(scalar: Uint8Array): Buffer {
  let first = 0;
  while (first < scalar.length - 1 && scalar[first] === 0) first++;
  const digits = scalar.subarray(first);
  const sign = (digits[0] ?? 0) >= 0x80 ? [0] : [];
  return Buffer.concat([Buffer.of(INTEGER, digits.length + sign.length, ...sign), digits]);
}

function scalarBytes(scalar: bigint): Buffer {
  return Buffer.from(scalar.toString(16).padStart(2 * SCALAR_BYTES, "0"), "hex");
}
