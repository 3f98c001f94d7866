import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { describe, it } from "node:test";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import type { Curve } from "../protocol.ts";
import { ed25519PrivateKey, generateSecret, isSecret, publicKeyOf } from "./keys.ts";

const oracles: Record<Curve, (secret: Uint8Array) => Uint8Array> = {
  CURVE_SECP256K1: (secret) => secp256k1.getPublicKey(secret, true),
  CURVE_P256: (secret) => p256.getPublicKey(secret, true),
  CURVE_ED25519: (secret) => ed25519.getPublicKey(secret),
};

describe("keys", () => {
  for (const [curve, publicKey] of Object.entries(oracles) as [Curve, (secret: Uint8Array) => Uint8Array][]) {
    it(`of ${curve} are fresh, 32 bytes long, and have the public key that another implementation finds`, () => {
      const seen = new Set<string>();
      for (let count = 0; count < 50; count++) {
        const secret = generateSecret(curve);
        assert.equal(secret.length, 32);
        assert.equal(publicKeyOf(curve, secret), Buffer.from(publicKey(secret)).toString("hex"));
        seen.add(secret.toString("hex"));
      }
      assert.equal(seen.size, 50);
    });
  }

  it("have 32 bytes, and on curves with ECDSA a number from 1 to below the order", () => {
    const orders = { CURVE_SECP256K1: secp256k1.Point.Fn.ORDER, CURVE_P256: p256.Point.Fn.ORDER };
    const bytesOf = (number: bigint) => Buffer.from(number.toString(16).padStart(64, "0"), "hex");
    for (const [curve, order] of Object.entries(orders) as [Curve, bigint][]) {
      for (const number of [1n, order - 1n]) assert.ok(isSecret(curve, bytesOf(number)), `${curve} ${number}`);
      for (const number of [0n, order, order + 1n]) assert.ok(!isSecret(curve, bytesOf(number)), `${curve} ${number}`);
    }
    for (const curve of Object.keys(oracles) as Curve[]) {
      assert.ok(isSecret(curve, Buffer.alloc(32, 1)));
      for (const length of [0, 31, 33])
        assert.ok(!isSecret(curve, Buffer.alloc(length, 1)), `${curve}, ${length} bytes`);
    }
    assert.ok(isSecret("CURVE_ED25519", Buffer.alloc(32)));
  });

  it("of Ed25519 become the PKCS#8 documents of RFC 8410", () => {
    // RFC 8410, section 10.3
    const seed = Buffer.from("d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842", "hex");
    const key = ed25519PrivateKey(seed);
    assert.equal(
      key.export({ format: "pem", type: "pkcs8" }),
      "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n",
    );
    const { x } = createPublicKey(key).export({ format: "jwk" });
    assert.equal(Buffer.from(x as string, "base64url").toString("hex"), publicKeyOf("CURVE_ED25519", seed));
  });
});
