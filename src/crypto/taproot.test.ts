import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { schnorr } from "@noble/curves/secp256k1.js";
import { p2tr } from "@scure/btc-signer/payment.js";
import fc from "fast-check";
import { toHex } from "../kernel/bytes.ts";
import { taprootOutputKey, taprootTweak } from "./taproot.ts";

interface Tweaked {
  internalPubkey: string;
  merkleRoot: string | null;
  tweak: string;
}
const { outputKeys, keyPathSpending } = JSON.parse(
  readFileSync(new URL("../../test/vectors/bip341/wallet.json", import.meta.url), "utf8"),
) as {
  outputKeys: (Tweaked & { tweakedPubkey: string })[];
  keyPathSpending: (Tweaked & { internalPrivkey: string; tweakedPrivkey: string })[];
};

const bytes = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, "hex"));
const rootOf = ({ merkleRoot }: Tweaked): Uint8Array | undefined =>
  merkleRoot === null ? undefined : bytes(merkleRoot);
const tweakOf = (each: Tweaked): string =>
  taprootTweak(bytes(each.internalPubkey), rootOf(each)).toString(16).padStart(64, "0");

test("BIP-341: tweaks and output keys of the wallet vectors", () => {
  assert.equal(outputKeys.length, 7);
  for (const each of outputKeys) {
    assert.equal(tweakOf(each), each.tweak);
    assert.equal(toHex(taprootOutputKey(bytes(each.internalPubkey), rootOf(each))), each.tweakedPubkey);
  }
});

test("BIP-341: an output key is the public key of the tweaked secret", () => {
  assert.equal(keyPathSpending.length, 7);
  for (const each of keyPathSpending) {
    assert.equal(toHex(schnorr.getPublicKey(bytes(each.internalPrivkey))), each.internalPubkey);
    assert.equal(tweakOf(each), each.tweak);
    const outputKey = taprootOutputKey(bytes(each.internalPubkey), rootOf(each));
    assert.equal(toHex(outputKey), toHex(schnorr.getPublicKey(bytes(each.tweakedPrivkey))));
  }
});

test("output keys agree with btc-signer", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: schnorr.Point.Fn.ORDER - 1n }), (secret) => {
      const internal = schnorr.utils.pointToBytes(schnorr.Point.BASE.multiply(secret));
      assert.equal(toHex(taprootOutputKey(internal)), toHex(p2tr(internal).tweakedPubkey));
    }),
    { numRuns: 30 },
  );
});

test("what is no x-only key is refused", () => {
  const offCurve = Buffer.alloc(32);
  offCurve[31] = 5;
  for (const wrong of [Buffer.alloc(31, 1), Buffer.alloc(33, 2), Buffer.of(), Buffer.alloc(32, 0xff), offCurve]) {
    assert.throws(() => taprootOutputKey(wrong), Error);
  }
});
