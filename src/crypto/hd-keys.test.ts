import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { HDKey } from "@scure/bip32";
import fc from "fast-check";
import { HDKey as Slip10Key } from "micro-key-producer/slip10.js";
import type { Curve } from "./curves.ts";
import { childNode, deriveSecret, type HdNode, masterNode } from "./hd-keys.ts";
import { type PathLevel, parsePath } from "./hd-path.ts";
import { mnemonicSeed } from "./mnemonics.ts";

interface Vector {
  curve: Curve;
  seed: string;
  path: string;
  secret: string;
  chainCode: string;
  publicKey?: string;
}
const { valid } = JSON.parse(
  readFileSync(new URL("../../test/vectors/hd-keys/nodes.json", import.meta.url), "utf8"),
) as { valid: Vector[] };

const publicKeys: Record<Curve, (secret: Uint8Array) => Uint8Array> = {
  CURVE_SECP256K1: (secret) => secp256k1.getPublicKey(secret, true),
  CURVE_P256: (secret) => p256.getPublicKey(secret, true),
  CURVE_ED25519: (secret) => ed25519.getPublicKey(secret),
};
const hex = (bytes: Uint8Array | null) => Buffer.from(bytes as Uint8Array).toString("hex");
const seedOf = (text: string) => Buffer.from(text, "hex");

function nodeAt(curve: Curve, seed: Uint8Array, path: readonly PathLevel[]): HdNode {
  return path.reduce((node, level) => childNode(curve, node, level), masterNode(curve, seed));
}

describe("the published nodes", () => {
  it("are all there", () => {
    assert.ok(valid.length >= 44);
    for (const curve of Object.keys(publicKeys)) assert.ok(valid.filter((each) => each.curve === curve).length >= 12);
  });

  for (const { curve, seed, path, secret, chainCode, publicKey } of valid) {
    it(`${curve} ${seed.slice(0, 8)} ${path}`, () => {
      const node = nodeAt(curve, seedOf(seed), parsePath(path));
      assert.equal(hex(node.secret), secret);
      assert.equal(hex(node.chainCode), chainCode);
      assert.equal(hex(deriveSecret(curve, seedOf(seed), parsePath(path))), secret);
      if (publicKey) assert.equal(hex(publicKeys[curve](node.secret)), publicKey);
    });
  }
});

/** Public keys of the mnemonic that the documentation of all wallets uses; those wallets show the matching addresses. */
describe("the mnemonic of eleven times abandon and about", () => {
  const seed = mnemonicSeed(Buffer.from(`${"abandon ".repeat(11)}about`));
  const keys: [Curve, string, string][] = [
    ["CURVE_SECP256K1", "m/0'/0", "03038c1b21ba6eb640c4d325fcd23e62e1740b05364e2f8cf4d02036e506ad2aec"],
    ["CURVE_P256", "m/0'/0", "03d4786ec264e14733f1f529562cf8566af8864de46479002cdababaf93c6c04cb"],
    // BIP-84 and BIP-86, test vectors
    ["CURVE_SECP256K1", "m/84'/0'/0'/0/0", "0330d54fd0dd420a6e5f8d3624f5f3482cae350f79d5f0753bf5beef9c2d91af3c"],
    ["CURVE_SECP256K1", "m/86'/0'/0'/0/0", "03cc8a4bc64d897bddc5fbc2f670f7a8ba0b386779106cf1223c6fc5d7cd6fc115"],
  ];
  for (const [curve, path, publicKey] of keys) {
    it(`${curve} ${path}`, () => {
      assert.equal(hex(publicKeys[curve](deriveSecret(curve, seed, parsePath(path)))), publicKey);
    });
  }

  it("has the Solana account that Solana wallets show", () => {
    const publicKey = publicKeys.CURVE_ED25519(deriveSecret("CURVE_ED25519", seed, parsePath("m/44'/501'/0'/0'")));
    assert.equal(hex(publicKey), "f036276246a75b9de3349ed42b15e232f6518fc20f5fcd4f1d64e81f9bd258f7");
  });
});

describe("any path", () => {
  const seeds = fc.uint8Array({ minLength: 16, maxLength: 64 });
  const index = fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 0, max: 0x7fffffff }));
  const paths = fc.array(fc.record({ index, hardened: fc.boolean() }), { maxLength: 10 });
  const written = (path: PathLevel[], forceHardened = false) =>
    ["m", ...path.map(({ index, hardened }) => `${index}${hardened || forceHardened ? "'" : ""}`)].join("/");

  it("on secp256k1 leads where another implementation of BIP-32 arrives", () => {
    fc.assert(
      fc.property(seeds, paths, (seed, path) => {
        const expected = HDKey.fromMasterSeed(seed).derive(written(path));
        const node = nodeAt("CURVE_SECP256K1", seed, path);
        assert.equal(hex(node.secret), hex(expected.privateKey));
        assert.equal(hex(node.chainCode), hex(expected.chainCode));
      }),
      { numRuns: 40 },
    );
  });

  it("on Ed25519 leads where another implementation of SLIP-10 arrives with hardened levels", () => {
    fc.assert(
      fc.property(seeds, paths, (seed, path) => {
        const expected = Slip10Key.fromMasterSeed(seed).derive(written(path, true));
        const node = nodeAt("CURVE_ED25519", seed, path);
        assert.equal(hex(node.secret), hex(expected.privateKey));
        assert.equal(hex(node.chainCode), hex(expected.chainCode));
      }),
      { numRuns: 60 },
    );
  });

  it("leads to the same secret step by step and at once, on every curve, and leaves the seed alone", () => {
    fc.assert(
      fc.property(fc.constantFrom(...(Object.keys(publicKeys) as Curve[])), seeds, paths, (curve, seed, path) => {
        const before = hex(seed);
        assert.equal(hex(deriveSecret(curve, seed, path)), hex(nodeAt(curve, seed, path).secret));
        assert.equal(hex(seed), before);
      }),
      { numRuns: 60 },
    );
  });

  it("leaves its parent alone", () => {
    for (const curve of Object.keys(publicKeys) as Curve[]) {
      const parent = masterNode(curve, Buffer.alloc(32, 7));
      const before = hex(parent.secret) + hex(parent.chainCode);
      childNode(curve, parent, { index: 0, hardened: false });
      childNode(curve, parent, { index: 0, hardened: true });
      assert.equal(hex(parent.secret) + hex(parent.chainCode), before);
    }
  });
});

describe("non-hardened levels", () => {
  const level = (hardened: boolean) => [{ index: 5, hardened }];
  const seed = Buffer.alloc(32, 9);

  it("are other keys than hardened ones on secp256k1 and P-256, and the same on Ed25519", () => {
    for (const curve of ["CURVE_SECP256K1", "CURVE_P256"] as const) {
      assert.notDeepEqual(deriveSecret(curve, seed, level(false)), deriveSecret(curve, seed, level(true)));
    }
    const onEd25519 = [false, true].map((hardened) => deriveSecret("CURVE_ED25519", seed, level(hardened)));
    assert.deepEqual(onEd25519[0], onEd25519[1]);
  });
});
