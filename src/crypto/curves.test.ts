import assert from "node:assert/strict";
import { test } from "node:test";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import fc from "fast-check";
import { toHex } from "../kernel/bytes.ts";
import { decompressPublicKey } from "./curves.ts";

const oracles = [
  ["CURVE_SECP256K1", secp256k1],
  ["CURVE_P256", p256],
] as const;

for (const [curve, oracle] of oracles) {
  test(`${curve}: decompression agrees with noble-curves`, () => {
    const scalar = fc.bigInt({ min: 1n, max: oracle.Point.Fn.ORDER - 1n });
    fc.assert(
      fc.property(scalar, (secret) => {
        const point = oracle.Point.BASE.multiply(secret);
        assert.equal(toHex(decompressPublicKey(curve, point.toBytes(true))), point.toHex(false));
      }),
      { numRuns: 30 },
    );
  });

  test(`${curve}: what is no compressed point is refused`, () => {
    const full = oracle.Point.BASE.toBytes(false);
    const xBeyondField = Buffer.concat([Buffer.of(2), Buffer.alloc(32, 0xff)]);
    const offCurve = Buffer.concat([Buffer.of(2), Buffer.alloc(31), Buffer.of(curve === "CURVE_P256" ? 7 : 5)]);
    assert.throws(() => oracle.Point.fromBytes(offCurve), "the chosen x must have no point");
    const wrongPrefix = oracle.Point.BASE.toBytes(true);
    wrongPrefix[0] = 5;
    for (const bytes of [
      full,
      full.subarray(0, 33),
      xBeyondField,
      offCurve,
      wrongPrefix,
      Buffer.alloc(33),
      Buffer.of(),
    ]) {
      assert.throws(() => decompressPublicKey(curve, bytes), Error);
    }
  });
}
