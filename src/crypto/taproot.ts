import { schnorr } from "@noble/curves/secp256k1.js";
import { bytesToNumberBE } from "@noble/curves/utils.js";

const { lift_x: liftX, taggedHash, pointToBytes } = schnorr.utils;
const { BASE, Fn } = schnorr.Point;

/**
 * The scalar that tweaks an internal key into the output key (BIP-341, "taproot_tweak_pubkey"). Without `merkleRoot`, the root of a script
 * tree, it commits to having no script path, as in BIP-86.
 *
 * @throws RangeError if the internal key is not 32 bytes, or if the hash is not a valid scalar, which nobody has ever seen
 */
export function taprootTweak(internalXOnly: Uint8Array, merkleRoot: Uint8Array = new Uint8Array()): bigint {
  if (internalXOnly.length !== 32) throw new RangeError("an x-only public key has 32 bytes");
  const tweak = bytesToNumberBE(taggedHash("TapTweak", internalXOnly, merkleRoot));
  if (tweak >= Fn.ORDER) throw new RangeError("the Taproot tweak is not below the order of the group");
  return tweak;
}

/**
 * The x-only output key, 32 bytes, of an x-only internal key of 32 bytes: the content of a P2TR address (BIP-341).
 *
 * @throws Error if the internal key has another length or is off the curve
 */
export function taprootOutputKey(internalXOnly: Uint8Array, merkleRoot?: Uint8Array): Uint8Array {
  const tweak = taprootTweak(internalXOnly, merkleRoot);
  // Both summands are public, so a multiplication with variable time reveals nothing.
  return pointToBytes(liftX(bytesToNumberBE(internalXOnly)).add(BASE.multiplyUnsafe(tweak)));
}
