import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { schnorr, secp256k1 } from "@noble/curves/secp256k1.js";
import fc from "fast-check";
import { modOrder, signSchnorr, taprootSecret, verifySchnorr, xOnlyPublicKey } from "./schnorr.ts";

const vectors = <T>(path: string): T =>
  JSON.parse(readFileSync(new URL(`../../test/vectors/${path}`, import.meta.url), "utf8")) as T;
const bytes = (text: string) => Buffer.from(text, "hex");
const hex = (some: Uint8Array) => Buffer.from(some).toString("hex");

interface Bip340 {
  secret?: string;
  aux?: string;
  publicKey: string;
  message: string;
  signature: string;
}

const secrets = fc.uint8Array({ minLength: 32, maxLength: 32 }).filter(secp256k1.utils.isValidSecretKey);
const messages = fc.uint8Array({ maxLength: 100 });

describe("BIP-340", () => {
  const { valid, invalid } = vectors<{ valid: Bip340[]; invalid: Bip340[] }>("bip340/signatures.json");

  it("signs and verifies as published", () => {
    assert.ok(valid.length >= 9);
    assert.ok(valid.filter(({ secret }) => secret).length >= 8);
    for (const { secret, aux, publicKey, message, signature } of valid) {
      assert.ok(verifySchnorr(bytes(publicKey), bytes(message), bytes(signature)));
      if (!secret || !aux) continue;
      assert.equal(hex(xOnlyPublicKey(bytes(secret))), publicKey);
      assert.equal(hex(signSchnorr(bytes(secret), bytes(message), bytes(aux))), signature);
    }
  });

  it("refuses what is published as invalid", () => {
    assert.ok(invalid.length >= 10);
    for (const { publicKey, message, signature } of invalid) {
      assert.equal(verifySchnorr(bytes(publicKey), bytes(message), bytes(signature)), false, signature);
    }
  });

  it("refuses keys and signatures of another length", () => {
    const { publicKey, message, signature } = valid[0] as Bip340;
    assert.equal(verifySchnorr(bytes(`02${publicKey}`), bytes(message), bytes(signature)), false);
    assert.equal(verifySchnorr(bytes(publicKey.slice(2)), bytes(message), bytes(signature)), false);
    assert.equal(verifySchnorr(bytes(publicKey), bytes(message), bytes(`${signature}00`)), false);
    assert.equal(verifySchnorr(bytes(publicKey), bytes(message), bytes(signature.slice(2))), false);
  });

  it("signs any message as another implementation does, and leaves the secret alone", () => {
    const aux = fc.uint8Array({ minLength: 32, maxLength: 32 });
    fc.assert(
      fc.property(secrets, messages, aux, (secret, message, aux) => {
        const before = hex(secret);
        assert.equal(hex(signSchnorr(secret, message, aux)), hex(schnorr.sign(message, secret, aux)));
        assert.equal(hex(signSchnorr(secret, message)), hex(schnorr.sign(message, secret, new Uint8Array(32))));
        assert.equal(hex(secret), before);
      }),
      { numRuns: 60 },
    );
  });

  it("verifies its own signature, and none of which a bit was changed", () => {
    fc.assert(
      fc.property(secrets, messages, fc.nat(511), fc.nat(255), (secret, message, bit, keyBit) => {
        const signature = signSchnorr(secret, message);
        const publicKey = Buffer.from(xOnlyPublicKey(secret));
        assert.ok(verifySchnorr(publicKey, message, signature));
        signature[bit >> 3] = (signature[bit >> 3] as number) ^ (1 << (bit & 7));
        assert.equal(verifySchnorr(publicKey, message, signature), false);
        signature[bit >> 3] = (signature[bit >> 3] as number) ^ (1 << (bit & 7));
        publicKey[keyBit >> 3] = (publicKey[keyBit >> 3] as number) ^ (1 << (keyBit & 7));
        assert.equal(verifySchnorr(publicKey, message, signature), false);
      }),
      { numRuns: 100 },
    );
  });
});

describe("the tweak of BIP-341", () => {
  interface KeyPath {
    secret: string;
    merkleRoot: string | null;
    tweakedSecret: string;
    sigHash: string;
    signature: string;
  }
  const { valid } = vectors<{ valid: KeyPath[] }>("bip341/key-path.json");

  it("makes the published secrets, and they the published signatures", () => {
    assert.ok(valid.length >= 7);
    assert.ok(valid.some(({ merkleRoot }) => merkleRoot === null));
    for (const { secret, merkleRoot, tweakedSecret, sigHash, signature } of valid) {
      const tweaked = taprootSecret(bytes(secret), merkleRoot === null ? undefined : bytes(merkleRoot));
      assert.equal(hex(tweaked), tweakedSecret);
      assert.equal(hex(signSchnorr(tweaked, bytes(sigHash))), signature);
    }
  });

  it("fits the output key that another implementation makes of the public key", () => {
    fc.assert(
      fc.property(secrets, (secret) => {
        const inner = schnorr.utils.lift_x(toX(secret));
        const tweak = schnorr.utils.taggedHash("TapTweak", schnorr.utils.pointToBytes(inner));
        const output = inner.add(secp256k1.Point.BASE.multiply(BigInt(`0x${hex(tweak)}`)));
        assert.equal(hex(xOnlyPublicKey(taprootSecret(secret))), hex(schnorr.utils.pointToBytes(output)));
      }),
      { numRuns: 40 },
    );
  });
  const toX = (secret: Uint8Array) => BigInt(`0x${hex(schnorr.getPublicKey(secret))}`);
});

describe("a hash as a number modulo the order", () => {
  const order = secp256k1.Point.Fn.ORDER;
  const of = (number: bigint) => BigInt(`0x${hex(modOrder(bytes(number.toString(16).padStart(64, "0"))))}`);
  for (const number of [0n, 1n, order - 1n, order, order + 1n, 2n ** 256n - 1n]) {
    it(`${number.toString(16)}`, () => assert.equal(of(number), number % order));
  }
});
