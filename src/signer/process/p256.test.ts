import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { p256 } from "@noble/curves/nist.js";
import fc from "fast-check";
import { bytesOf, isValid, publicPoint, signDigest } from "./p256.ts";

const { ORDER } = p256.Point.Fn;
const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 });
const near = (number: bigint) => Buffer.from(number.toString(16).padStart(64, "0"), "hex");
/** Digests of every kind, including some that are not below the order. */
const digests = fc.oneof(bytes32, fc.constantFrom(0n, 1n, ORDER - 1n, ORDER, ORDER + 1n, 2n ** 256n - 1n).map(near));
const secrets = fc.oneof(
  bytes32.filter((bytes) => p256.utils.isValidSecretKey(bytes)),
  fc.constantFrom(1n, 2n, ORDER - 1n).map(near),
);

test("signs as another implementation does, and finds that valid", () => {
  fc.assert(
    fc.property(digests, secrets, (digest, secret) => {
      const expected = p256.sign(digest, secret, { prehash: false, lowS: true, format: "recovered" });
      const signature = signDigest(digest, secret);
      const { r, s, recoveryBit } = signature;
      assert.deepEqual(
        Buffer.concat([Uint8Array.of(recoveryBit), bytesOf(r), bytesOf(s)]).toString("hex"),
        Buffer.from(expected).toString("hex"),
      );
      assert.ok(isValid(signature, digest, secret, publicPoint(secret)));
    }),
    { numRuns: 300 },
  );
});

test("finds every fault of a signature, its digest, its secret and its nonce", () => {
  for (let run = 0; run < 40; run++) {
    const [digest, secret] = [randomBytes(32), randomBytes(32)];
    const point = publicPoint(secret);
    const signature = signDigest(digest, secret);
    const { r, s } = signature;
    const flip = (bytes: Uint8Array, bit: number) => {
      const flipped = Uint8Array.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      return flipped;
    };
    const bit = (run * 13) % 250;
    const other = publicPoint(randomBytes(32));
    const verdicts = {
      r: isValid({ ...signature, r: r ^ (1n << BigInt(bit)) }, digest, secret, point),
      s: isValid({ ...signature, s: s ^ (1n << BigInt(bit % 200)) }, digest, secret, point),
      digest: isValid(signature, flip(digest, bit), secret, point),
      secret: isValid(signature, digest, flip(secret, bit), point),
      "both secrets": isValid(signDigest(digest, flip(secret, bit)), digest, flip(secret, bit), point),
      point: isValid(signature, digest, secret, other),
      "recovery bit": isValid({ ...signature, recoveryBit: signature.recoveryBit ^ 1 }, digest, secret, point),
      "r of nothing": isValid({ ...signature, r: 0n }, digest, secret, point),
      "s of nothing": isValid({ ...signature, s: 0n }, digest, secret, point),
      "s beyond the order": isValid({ ...signature, s: s + ORDER }, digest, secret, point),
    };
    for (const [fault, found] of Object.entries(verdicts)) assert.equal(found, false, fault);
    assert.ok(isValid(signature, digest, secret, point));
  }
});
