import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { it } from "node:test";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { generateSecret, publicKeyOf } from "./keys.ts";
import { signPayload } from "./sign.ts";

const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");
const P256_ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

it("P-256 is deterministic as RFC 6979 section A.2.5 has it, with low s", () => {
  const secret = bytes("c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721");
  const key = { curve: "CURVE_P256", secret, sealedKey: "a" } as const;
  const { r, s } = signPayload(key, "sha256", Buffer.from("sample"));
  assert.equal(r, "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716");
  const published = BigInt("0xf7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8");
  assert.equal(BigInt(`0x${s}`), P256_ORDER - published);
});

it("Ed25519 signs as RFC 8032 section 7.1 test 2 has it", () => {
  const secret = bytes("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb");
  const key = { curve: "CURVE_ED25519", secret, sealedKey: "b" } as const;
  assert.equal(
    publicKeyOf("CURVE_ED25519", secret),
    "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
  );
  assert.deepEqual(signPayload(key, "none", Buffer.of(0x72)), {
    r: "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da",
    s: "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    v: "00",
  });
});

it("secp256k1 agrees with a second implementation, recovers its key, and never begins r or s with a zero byte", () => {
  let again = 0;
  for (let count = 0; count < 600; count++) {
    const secret = createHash("sha256").update(`key ${count}`).digest();
    const digest = createHash("sha256").update(`message ${count}`).digest();
    const key = { curve: "CURVE_SECP256K1", secret, sealedKey: `c${count}` } as const;
    const { r, s, v } = signPayload(key, "none", digest);
    assert.ok(!r.startsWith("00") && !s.startsWith("00"));
    const plain = secp256k1.sign(digest, secret, { prehash: false, lowS: true, format: "compact" });
    const short = plain[0] === 0 || plain[32] === 0;
    if (short) again++;
    else assert.equal(r + s, Buffer.from(plain).toString("hex"));
    const recovered = secp256k1.Signature.fromHex(r + s)
      .addRecoveryBit(Number(v))
      .recoverPublicKey(digest);
    assert.equal(recovered.toHex(true), publicKeyOf("CURVE_SECP256K1", secret));
  }
  assert.ok(again > 0, "600 signatures without a leading zero: the rule was not put to the test");
});

it("P-256 agrees with a second implementation of verification", () => {
  const secret = generateSecret("CURVE_P256");
  const digest = createHash("sha256").update("x").digest();
  const { r, s } = signPayload({ curve: "CURVE_P256", secret, sealedKey: "d" }, "none", digest);
  const publicKey = bytes(publicKeyOf("CURVE_P256", secret));
  assert.ok(p256.verify(bytes(r + s), digest, publicKey, { prehash: false, lowS: true }));
});

it("a hash that does not fit is refused", () => {
  const key = (curve: "CURVE_ED25519" | "CURVE_SECP256K1") => ({
    curve,
    secret: generateSecret(curve),
    sealedKey: curve,
  });
  assert.throws(() => signPayload(key("CURVE_ED25519"), "sha256", Buffer.alloc(1)), /signs the message itself/);
  assert.throws(() => signPayload(key("CURVE_SECP256K1"), "none", Buffer.alloc(31)), /32 bytes, not 31/);
});
