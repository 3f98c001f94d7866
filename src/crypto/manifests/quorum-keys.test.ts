import assert from "node:assert/strict";
import { test } from "node:test";
import { p256 } from "@noble/curves/nist.js";
import { hkdf } from "@noble/hashes/hkdf.js";
import { sha512 } from "@noble/hashes/sha2.js";
import { quorumPublicKeyOf, shareDigest } from "./quorum-keys.ts";

test("a seed yields the keys that it has always yielded: shares of it are kept for years", () => {
  for (const seed of [Buffer.alloc(32, 1), Buffer.from("0123456789abcdef0123456789abcdef")]) {
    const [encryption, signing] = ["encryption", "signing"].map((role) => {
      const info = Buffer.from(`keystead quorum key: ${role}`);
      return Buffer.from(p256.getPublicKey(hkdf(sha512, seed, undefined, info, 32), false)).toString("hex");
    });
    assert.equal(quorumPublicKeyOf(seed), `${encryption}${signing}`);
  }
});

test("a share is known by its SHA-256", () => {
  // FIPS 180-2, appendix B.1.
  const digest = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
  assert.equal(shareDigest(Buffer.from("abc")), digest);
});
