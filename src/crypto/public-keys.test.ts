import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { suite, test } from "node:test";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import fc from "fast-check";
import { type ApiKeyCurve, normalizePublicKey, parsePublicKey } from "./public-keys.ts";

const P256: ApiKeyCurve = "API_KEY_CURVE_P256";
const SECP256K1: ApiKeyCurve = "API_KEY_CURVE_SECP256K1";
const ED25519: ApiKeyCurve = "API_KEY_CURVE_ED25519";
const curves = [
  { curve: P256, oracle: p256 },
  { curve: SECP256K1, oracle: secp256k1 },
] as const;

const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString("hex");
const fieldElement = (value: bigint) => value.toString(16).padStart(64, "0");

/** The eight points of small order and the other spellings of them (y >= p, or x = 0 with the sign bit set). */
const SMALL_ORDER = [
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0000000000000000000000000000000000000000000000000000000000000080",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000080",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
];

suite("public keys", () => {
  for (const { curve, oracle } of curves) {
    test(`${curve}: a generated key is the one that node:crypto exported`, () => {
      const { publicKey } = generateKeyPairSync("ec", { namedCurve: curve === P256 ? "prime256v1" : "secp256k1" });
      const { x = "", y = "" } = publicKey.export({ format: "jwk" });
      const point = Buffer.concat([Buffer.of(4), Buffer.from(x, "base64url"), Buffer.from(y, "base64url")]);
      assert.ok(parsePublicKey(curve, oracle.Point.fromBytes(point).toHex(true))?.equals(publicKey));
    });

    test(`${curve}: x coordinates on and off the curve are told apart as the oracle does`, () => {
      const near = fc.nat(200).map((offset) => oracle.Point.Fp.ORDER + BigInt(offset - 100));
      const anywhere = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
      let accepted = 0;
      fc.assert(
        fc.property(fc.oneof(near, anywhere), fc.constantFrom("02", "03"), (x, prefix) => {
          const hex = prefix + fieldElement(x);
          const key = parsePublicKey(curve, hex);
          const point = orUndefined(() => oracle.Point.fromHex(hex));
          assert.equal(key?.export({ format: "jwk" }).y, point && toBase64Url(point.toAffine().y));
          if (key) accepted++;
        }),
        { numRuns: 200 },
      );
      assert.ok(accepted > 20);
    });

    test(`${curve}: no other encoding of the generator is accepted`, () => {
      const compressed = oracle.Point.BASE.toHex(true);
      const uncompressed = oracle.Point.BASE.toHex(false);
      assert.ok(parsePublicKey(curve, compressed));
      const others = [
        uncompressed,
        `06${uncompressed.slice(2)}`,
        `07${uncompressed.slice(2)}`,
        `04${compressed.slice(2)}`,
        `0x${compressed}`,
        compressed.slice(0, -2),
        `${compressed}00`,
        `${compressed}\n`,
        ` ${compressed}`,
        compressed.slice(0, -1),
        "00",
        "",
        "zz",
      ];
      for (const hex of others) assert.equal(parsePublicKey(curve, hex), undefined, hex);
    });
  }

  test("Ed25519: random bytes are judged as the strict decoder of RFC 8032 does", () => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
        const point = orUndefined(() => ed25519.Point.fromBytes(bytes, false));
        assert.equal(parsePublicKey(ED25519, hexOf(bytes)) !== undefined, point !== undefined && !point.isSmallOrder());
        if (point) accepted++;
      }),
    );
    assert.ok(accepted > 20);
  });

  test("Ed25519: points of small order and y >= p are refused", () => {
    for (const hex of SMALL_ORDER) assert.equal(parsePublicKey(ED25519, hex), undefined, hex);
    // y = p + 3 and y = p + 4: 3 and 4 are coordinates of points of full order.
    for (const low of ["f0", "f1"]) {
      assert.equal(parsePublicKey(ED25519, `${low}${"ff".repeat(30)}7f`), undefined);
    }
    assert.ok(parsePublicKey(ED25519, `03${"00".repeat(31)}`));
    assert.ok(parsePublicKey(ED25519, `04${"00".repeat(31)}`));
  });

  test("either case names the same key, and the stored spelling is lowercase", () => {
    const hex = p256.Point.BASE.multiply(7n).toHex(true);
    assert.equal(parsePublicKey(P256, hex.toUpperCase()), parsePublicKey(P256, hex));
    assert.equal(normalizePublicKey(P256, hex.toUpperCase()), hex);
    assert.equal(normalizePublicKey(P256, `${hex}00`), undefined);
    assert.equal(normalizePublicKey(ED25519, hex), undefined);
  });

  test("a key is imported once per curve", () => {
    // About every fourth x is the coordinate of a point on both curves.
    const x = [...Array(64).keys()].find((i) =>
      curves.every(({ curve }) => parsePublicKey(curve, `02${fieldElement(BigInt(i))}`)),
    );
    const hex = `02${fieldElement(BigInt(x ?? -1))}`;
    assert.equal(parsePublicKey(P256, hex), parsePublicKey(P256, hex));
    assert.notEqual(parsePublicKey(P256, hex), parsePublicKey(SECP256K1, hex));
    assert.equal(parsePublicKey(SECP256K1, hex)?.asymmetricKeyDetails?.namedCurve, "secp256k1");
  });
});

function orUndefined<Value>(decode: () => Value): Value | undefined {
  try {
    return decode();
  } catch {
    return undefined;
  }
}

function toBase64Url(coordinate: bigint): string {
  return Buffer.from(fieldElement(coordinate), "hex").toString("base64url");
}
