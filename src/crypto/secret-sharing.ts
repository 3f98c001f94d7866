import { randomBytes } from "node:crypto";
import { wipe } from "../kernel/bytes.ts";

/**
 * Shamir's secret sharing, byte by byte over GF(2^8) with the polynomial x^8 + x^4 + x^3 + x + 1 (FIPS 197, section 4). A share is its
 * index, one byte starting at 1, followed by as many bytes as the secret has. Any `threshold` shares reconstruct the secret; fewer reveal
 * nothing about it.
 */

const MAX_SHARES = 255;
const REDUCTION = 0x1b;

/** The size of a share for a secret of this many bytes. */
export const shareBytes = (secretBytes: number): number => 1 + secretBytes;

/** The caller wipes the shares. */
export function splitSecret(
  secret: Uint8Array,
  { threshold, shares: count }: { threshold: number; shares: number },
): Buffer[] {
  if (threshold < 2 || threshold > count || count > MAX_SHARES) throw new Error("no such sharing");
  const shares = Array.from({ length: count }, (_, index) => {
    const share = Buffer.alloc(shareBytes(secret.length));
    share[0] = index + 1;
    return share;
  });
  // All coefficients except that of x^0, which is the secret.
  const others = randomBytes((threshold - 1) * secret.length);
  for (const share of shares) {
    const x = share[0] as number;
    for (let at = 0; at < secret.length; at++) {
      let y = 0;
      for (let power = threshold - 2; power >= 0; power--) {
        y = multiply(y ^ (others[power * secret.length + at] as number), x);
      }
      share[1 + at] = y ^ (secret[at] as number);
    }
  }
  wipe(others);
  return shares;
}

/**
 * The secret that these shares were made from, if they are enough and correct, which cannot be detected. Undefined if the shares differ in
 * length or two have the same index. The caller wipes it.
 */
export function combineShares(shares: readonly Uint8Array[]): Buffer | undefined {
  const [first] = shares;
  if (!first || first.length < 2 || shares.some(({ length }) => length !== first.length)) return undefined;
  const indexes = shares.map((share) => share[0] as number);
  if (indexes.includes(0) || new Set(indexes).size < indexes.length) return undefined;
  const secret = Buffer.alloc(first.length - 1);
  for (const share of shares) {
    // Lagrange's polynomial of this share at 0; subtraction equals addition.
    const x = share[0] as number;
    const others = indexes.filter((each) => each !== x);
    const weight = others.reduce((product, each) => multiply(product, multiply(each, inverse(each ^ x))), 1);
    for (let at = 0; at < secret.length; at++) {
      secret[at] = (secret[at] as number) ^ multiply(share[1 + at] as number, weight);
    }
  }
  return secret;
}

/** Without branches and tables, so that the time reveals nothing about the factors. */
function multiply(a: number, b: number): number {
  let product = 0;
  let shifted = a;
  for (let bit = 0; bit < 8; bit++) {
    product ^= shifted & -((b >> bit) & 1);
    shifted = ((shifted << 1) & 0xff) ^ (REDUCTION & -(shifted >> 7));
  }
  return product;
}

/** The inverse of an index, which is not secret: its 254th power. */
function inverse(a: number): number {
  let power = a;
  for (let times = 0; times < 6; times++) power = multiply(multiply(power, power), a);
  return multiply(power, power);
}
