import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { toDerSignature } from "@turnkey/crypto";
import fc from "fast-check";
import { encodeEcdsaDer, P256_ORDER, parseEcdsaDer, parseFixedWidthEcdsaDer, SECP256K1_ORDER } from "./ecdsa-der.ts";

const curves = [
  { name: "P-256", order: P256_ORDER, oracle: p256 },
  { name: "secp256k1", order: SECP256K1_ORDER, oracle: secp256k1 },
];
const scalar = fc.oneof(
  fc.uint8Array({ minLength: 32, maxLength: 32 }),
  fc.nat(40).map((offset) => fromBigInt(BigInt(`0x${P256_ORDER.toString("hex")}`) + BigInt(offset - 20))),
  fc.nat(40).map((offset) => fromBigInt(BigInt(`0x${SECP256K1_ORDER.toString("hex")}`) + BigInt(offset - 20))),
  fc.integer({ min: 0, max: 300 }).map((small) => fromBigInt(BigInt(small))),
);

function fromBigInt(value: bigint): Uint8Array {
  return Buffer.from(value.toString(16).padStart(64, "0"), "hex");
}

suite("ECDSA signatures in DER", () => {
  for (const { name, order, oracle } of curves) {
    const parseWithOracle = (bytes: Uint8Array): Buffer | undefined => {
      try {
        return Buffer.from(oracle.Signature.fromBytes(bytes, "der").toBytes("compact"));
      } catch {
        return undefined;
      }
    };

    test(`${name}: the orders agree`, () => {
      assert.equal(BigInt(`0x${order.toString("hex")}`), oracle.Point.Fn.ORDER);
    });

    test(`${name}: what is encoded is read back, exactly when both scalars are in [1, n-1]`, () => {
      let accepted = 0;
      fc.assert(
        fc.property(scalar, scalar, (r, s) => {
          const rs = Buffer.concat([r, s]);
          const inRange = [r, s].every((part) => Buffer.compare(part, order) < 0 && part.some((byte) => byte > 0));
          const der = encodeEcdsaDer(rs);
          assert.deepEqual(parseEcdsaDer(der, order), inRange ? rs : undefined);
          assert.deepEqual(parseEcdsaDer(der, oracle.Point.Fn.ORDER), inRange ? rs : undefined);
          if (inRange) accepted++;
        }),
        { numRuns: 1000 },
      );
      assert.ok(accepted > 100);
    });

    test(`${name}: a changed, cut or grown encoding is accepted exactly when the oracle accepts it`, () => {
      const change = fc.tuple(scalar, scalar, fc.nat(72), fc.nat(2), fc.uint8Array({ maxLength: 3 }));
      fc.assert(
        fc.property(change, ([r, s, at, cut, inserted]) => {
          const der = encodeEcdsaDer(Buffer.concat([r, s]));
          const bytes = Buffer.concat([der.subarray(0, at), inserted, der.subarray(at + cut)]);
          assert.deepEqual(parseEcdsaDer(bytes, order), parseWithOracle(bytes));
        }),
        { numRuns: 3000 },
      );
    });
  }

  test("scalars at their full width, as the published SDK writes those of wallets, are read where they may be, in [1, n-1]", () => {
    let wide = 0;
    fc.assert(
      fc.property(scalar, scalar, (r, s) => {
        const rs = Buffer.concat([r, s]);
        const inRange = [r, s].every(
          (part) => Buffer.compare(part, SECP256K1_ORDER) < 0 && part.some((byte) => byte > 0),
        );
        const sent = Buffer.from(toDerSignature(rs.toString("hex")), "hex");
        assert.deepEqual(parseFixedWidthEcdsaDer(sent, SECP256K1_ORDER), inRange ? rs : undefined);
        assert.deepEqual(parseFixedWidthEcdsaDer(encodeEcdsaDer(rs), SECP256K1_ORDER), inRange ? rs : undefined);
        if (inRange && parseEcdsaDer(sent, SECP256K1_ORDER) === undefined) wide++;
      }),
      { numRuns: 1000 },
    );
    assert.ok(wide > 100);
    const small = Buffer.from("300702020001020101", "hex");
    assert.equal(parseFixedWidthEcdsaDer(small, SECP256K1_ORDER), undefined, "neither minimal nor of full width");
  });

  test("INTEGERs that are negative, empty, padded, too long or followed by more are refused", () => {
    const one = "020101";
    const der = (...integers: string[]) => {
      const content = Buffer.from(integers.join(""), "hex");
      return Buffer.concat([Buffer.of(0x30, content.length), content]);
    };
    const integer = (hex: string) => `02${(hex.length / 2).toString(16).padStart(2, "0")}${hex}`;
    const valid = ["01", "7f", "0080", `00${"80".repeat(32)}`, "7f".repeat(32)];
    const invalid = ["", "00", "0000", "80", "81", "ff", "80".repeat(32), "007f", "000080", `00${"7f".repeat(32)}`];
    for (const { order } of curves) {
      for (const [texts, isValid] of [
        [valid, true],
        [[...invalid, "7f".repeat(33), `0000${"80".repeat(32)}`, `00${"80".repeat(33)}`], false],
      ] as const) {
        for (const text of texts) {
          for (const bytes of [der(integer(text), one), der(one, integer(text))]) {
            assert.equal(parseEcdsaDer(bytes, order) !== undefined, isValid, bytes.toString("hex"));
          }
        }
      }
      assert.equal(parseEcdsaDer(der(one, one, one), order), undefined);
      assert.equal(parseEcdsaDer(der(one), order), undefined);
      assert.equal(parseEcdsaDer(der(one, "0202"), order), undefined);
      assert.equal(parseEcdsaDer(Buffer.alloc(0), order), undefined);
    }
  });

  test("only 64 bytes are encoded", () => {
    assert.throws(() => encodeEcdsaDer(Buffer.alloc(63)), RangeError);
    assert.throws(() => encodeEcdsaDer(Buffer.alloc(65)), RangeError);
  });
});
