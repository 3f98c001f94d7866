import { randomBytes } from "node:crypto";
import { toHex, wipe } from "../../kernel/bytes.ts";
import { add, isScalar, pointOf, pointSum, pointTimes, publicScalar, smallScalar, times } from "./group.ts";

/** Feldman's verifiable sharing of a scalar: any `threshold` shares reconstruct it, fewer reveal nothing. */

export interface SharedSecret {
  /** f(1), f(2), …; of 32 bytes each. */
  shares: Uint8Array[];
  /** The coefficients of f times the generator, compressed; the first is that of the secret. */
  proofs: Uint8Array[];
  /** Each share times the generator. */
  points: Uint8Array[];
}

/** Passes the shares of a secret to `use` and wipes them afterwards. Before that, the shares are checked against the proofs. */
export function withShares<T>(
  secret: Uint8Array,
  { threshold, count }: { threshold: number; count: number },
  use: (shared: SharedSecret) => T,
): T {
  const coefficients = [Uint8Array.from(secret), ...Array.from({ length: threshold - 1 }, randomScalar)];
  const shares = Array.from({ length: count }, (_, at) => valueAt(coefficients, at + 1));
  try {
    const shared = { shares, proofs: coefficients.map(pointOf), points: shares.map(pointOf) };
    if (!areShares(shared)) throw new Error("shares of a secret did not verify and were withheld");
    return use(shared);
  } finally {
    wipe(...coefficients, ...shares);
  }
}

/** 32 bytes, uniformly distributed over the nonzero scalars. The caller wipes them. */
export function randomScalar(): Buffer {
  for (;;) {
    const scalar = randomBytes(32);
    if (isScalar(scalar)) return scalar;
  }
}

/** Horner's rule. */
function valueAt(coefficients: readonly Uint8Array[], x: number): Uint8Array {
  const factor = smallScalar(x);
  let value: Uint8Array = Uint8Array.from(coefficients.at(-1) as Uint8Array);
  for (const coefficient of coefficients.slice(0, -1).reverse()) {
    const product = times(value, factor);
    wipe(value);
    value = add(product, coefficient);
  }
  return value;
}

/** Checks all shares at once: a random combination of them must equal the same combination of the values that the proofs stand for. */
function areShares({ shares, proofs }: SharedSecret): boolean {
  const weights = shares.map(() => BigInt(`0x${toHex(randomBytes(16))}`) + 1n);
  const sum = combined(shares, weights);
  const factors = proofs.map((_, power) =>
    weights.reduce((total, weight, at) => total + weight * BigInt(at + 1) ** BigInt(power), 0n),
  );
  const expected = pointSum(proofs.map((proof, at) => pointTimes(proof, publicScalar(factors[at] as bigint))));
  const isSame = Buffer.compare(pointOf(sum), expected) === 0;
  wipe(sum);
  return isSame;
}

/** The caller wipes the sum. */
function combined(shares: readonly Uint8Array[], weights: readonly bigint[]): Uint8Array {
  const products = shares.map((share, at) => times(share, publicScalar(weights[at] as bigint)));
  const [sum = new Uint8Array(32), ...others] = products;
  for (const other of others) add(sum, other);
  wipe(...others);
  return sum;
}
