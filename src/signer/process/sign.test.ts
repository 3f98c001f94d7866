import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import fc from "fast-check";
import type { Curve, SignerHash } from "../protocol.ts";
import { publicKeyOf } from "./keys.ts";
import { SigningRefused } from "./refused.ts";
import { signPayload as signWith } from "./sign.ts";

const signPayload = (curve: Curve, secret: Uint8Array, hash: SignerHash, payload: Uint8Array) =>
  signWith({ curve, secret, origin: `${curve} ${Buffer.from(secret).toString("hex")}` }, hash, payload);

const vectors = <T>(path: string): T =>
  JSON.parse(readFileSync(new URL(`../../../test/vectors/${path}`, import.meta.url), "utf8")) as T;

const hex = (text: string) => Buffer.from(text, "hex");
const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest();

const oracles = { CURVE_SECP256K1: secp256k1, CURVE_P256: p256 } as const;
const orderOf = (curve: keyof typeof oracles) => oracles[curve].Point.Fn.ORDER;

interface EcdsaVectors {
  valid: {
    curve: "CURVE_SECP256K1" | "CURVE_P256";
    secret: string;
    publicKey: string;
    message: string;
    r: string;
    s: string;
  }[];
  invalid: { curve: Curve; hash: SignerHash; payload: string; reason: string }[];
}

describe("ECDSA", () => {
  const { valid, invalid } = vectors<EcdsaVectors>("rfc6979/signatures.json");

  it("is deterministic as RFC 6979 has it, with the lower of the two s", () => {
    assert.ok(valid.length >= 6);
    for (const { curve, secret, publicKey, message, r, s } of valid) {
      const order = orderOf(curve);
      const published = BigInt(`0x${s}`);
      const low = published > order / 2n ? order - published : published;
      const expected = { r, s: low.toString(16).padStart(64, "0") };
      const { v, ...signature } = signPayload(curve, hex(secret), "sha256", Buffer.from(message));
      assert.deepEqual(signature, expected, message);
      assert.match(v, /^0[01]$/);
      assert.equal(publicKeyOf(curve, hex(secret)), publicKey);
    }
  });

  it("refuses what is no digest, and a hash for a curve that takes none", () => {
    assert.ok(invalid.length >= 5);
    for (const { curve, hash, payload, reason } of invalid) {
      assert.throws(
        () => signPayload(curve, Buffer.alloc(32, 1), hash, hex(payload)),
        (error: unknown) => error instanceof SigningRefused && error.message === reason,
      );
    }
  });

  const secrets = fc
    .uint8Array({ minLength: 32, maxLength: 32 })
    .filter((bytes) => secp256k1.utils.isValidSecretKey(bytes) && p256.utils.isValidSecretKey(bytes));
  const messages = fc.uint8Array({ maxLength: 200 });

  for (const curve of ["CURVE_SECP256K1", "CURVE_P256"] as const) {
    const oracle = oracles[curve];

    it(`on ${curve} is what another implementation verifies and recovers the key from`, () => {
      fc.assert(
        fc.property(secrets, messages, fc.constantFrom("sha256", "keccak256", "none"), (secret, message, hash) => {
          const digest = hash === "keccak256" ? keccak_256(message) : sha256(message);
          const { r, s, v } = signPayload(curve, secret, hash as SignerHash, hash === "none" ? digest : message);
          const signature = hex(r + s);
          const publicKey = hex(publicKeyOf(curve, secret));
          assert.ok(oracle.verify(signature, digest, publicKey, { prehash: false, lowS: true }));
          const recovered = oracle.recoverPublicKey(Buffer.concat([hex(v), signature]), digest, { prehash: false });
          assert.deepEqual(Buffer.from(recovered), publicKey);
        }),
        { numRuns: 60 },
      );
    });

    it(`on ${curve} gives 64 digits each, and always the same`, () => {
      for (let count = 0; count < 60; count++) {
        const payload = Buffer.from(`payload ${count}`);
        const first = signPayload(curve, Buffer.alloc(32, 3), "sha256", payload);
        assert.match(first.r, /^[0-9a-f]{64}$/);
        assert.match(first.s, /^[0-9a-f]{64}$/);
        assert.deepEqual(signPayload(curve, Buffer.alloc(32, 3), "sha256", payload), first);
      }
    });
  }

  it("on secp256k1 is the plain RFC 6979 signature, unless r or s begins with a zero byte: then none does", () => {
    const secret = Buffer.alloc(32, 5);
    let drawnAgain = 0;
    for (let count = 0; count < 4000; count++) {
      const digest = sha256(Buffer.from(`number ${count}`));
      const { r, s } = signPayload("CURVE_SECP256K1", secret, "none", digest);
      assert.ok(!r.startsWith("00") && !s.startsWith("00"), `number ${count}`);
      if (count % 10 > 0) continue;
      const plain = Buffer.from(secp256k1.sign(digest, secret, { prehash: false, lowS: true }));
      if (plain[0] === 0 || plain[32] === 0) drawnAgain++;
      else assert.equal(r + s, plain.toString("hex"));
    }
    assert.ok(drawnAgain > 0, "the case has occurred");
  });
});

describe("Ed25519", () => {
  it("signs as RFC 8032 has it", () => {
    const { valid } = vectors<{
      valid: { secret: string; publicKey: string; message: string; signature: string }[];
    }>("rfc8032/ed25519.json");
    assert.ok(valid.length >= 3);
    for (const { secret, publicKey, message, signature } of valid) {
      const { r, s, v } = signPayload("CURVE_ED25519", hex(secret), "none", hex(message));
      assert.equal(r + s, signature);
      assert.equal(v, "00");
      assert.equal(publicKeyOf("CURVE_ED25519", hex(secret)), publicKey);
    }
  });

  it("signs any message as another implementation does", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.uint8Array({ maxLength: 500 }),
        (secret, message) => {
          const { r, s } = signPayload("CURVE_ED25519", secret, "none", message);
          assert.equal(r + s, Buffer.from(ed25519.sign(message, secret)).toString("hex"));
        },
      ),
      { numRuns: 60 },
    );
  });
});
