import { createHash, createPublicKey, sign as signWithNode, verify as verifyWithNode } from "node:crypto";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { signSchnorr, taprootSecret, verifySchnorr, xOnlyPublicKey } from "../../crypto/schnorr.ts";
import { secp256k1 } from "../../crypto/secp256k1.ts";
import { toHex } from "../../kernel/bytes.ts";
import type { Scheme, SignerHash } from "../protocol.ts";
import { checkWithPoint, ed25519PrivateKey, type OpenKey } from "./keys.ts";
import { withSecret } from "./organization.ts";
import { bytesOf, isValid, signDigest } from "./p256.ts";
import { SigningRefused } from "./refused.ts";

export interface Signature {
  r: string;
  s: string;
  v: string;
}

/**
 * Signs one payload. ECDSA is deterministic (RFC 6979) with low s; `v` is the recovery bit. Schnorr is deterministic too; its r is the x
 * coordinate of the nonce's point, and it has no `v`. Every signature is verified before it leaves the signer, so that a fault in the
 * arithmetic cannot reveal the secret.
 *
 * @throws SigningRefused if the hash or the scheme does not fit the curve, or the digest is not 32 bytes
 */
export function signPayload(key: OpenKey, hash: SignerHash, payload: Uint8Array, scheme?: Scheme): Signature {
  if (scheme !== undefined) return signWithScheme(key, hash, payload, scheme);
  if (key.curve === "CURVE_ED25519") {
    if (hash !== "none") throw new SigningRefused("Ed25519 signs the message itself, so the hash must be none");
    return signEd25519(key.secret, payload);
  }
  const digest = digestOf(hash, payload);
  return key.curve === "CURVE_SECP256K1" ? signSecp256k1(key, digest) : signP256(key, digest);
}

function digestOf(hash: SignerHash, payload: Uint8Array): Uint8Array {
  if (hash === "sha256") return createHash("sha256").update(payload).digest();
  if (hash === "keccak256") return keccak_256(payload);
  if (payload.length !== 32) throw new SigningRefused(`a digest has 32 bytes, not ${payload.length}`);
  return payload;
}

/**
 * Some clients parse r and s as integers without leading zeros and reject a signature that has one. So, like Bitcoin Core's search for a
 * short r, the nonce is drawn again until neither begins with a zero byte, with a counter as extra data (RFC 6979, section 3.6). r begins
 * with one once in 256 times and a low s once in 128, so one signature in 86 takes a second round.
 */
function signSecp256k1(key: OpenKey, digest: Uint8Array): Signature {
  for (let counter = 0; ; counter++) {
    const options = counter === 0 ? undefined : { data: extraData(counter) };
    const { signature, recid } = secp256k1.ecdsaSign(digest, key.secret, options);
    if (signature[0] === 0 || signature[32] === 0) continue;
    if (!checkWithPoint(key, (point) => secp256k1.ecdsaVerify(signature, digest, point))) throw new SignatureFault();
    return split(signature, recid);
  }
}

function signP256(key: OpenKey, digest: Uint8Array): Signature {
  const signature = signDigest(digest, key.secret);
  if (!checkWithPoint(key, (point) => isValid(signature, digest, key.secret, point))) throw new SignatureFault();
  return split(Buffer.concat([bytesOf(signature.r), bytesOf(signature.s)]), signature.recoveryBit);
}

function signEd25519(seed: Uint8Array, message: Uint8Array): Signature {
  const key = ed25519PrivateKey(seed);
  const signature = signWithNode(null, message, key);
  if (!verifyWithNode(null, message, createPublicKey(key), signature)) throw new SignatureFault();
  return split(signature, 0);
}

function signWithScheme({ curve, secret }: OpenKey, hash: SignerHash, payload: Uint8Array, scheme: Scheme): Signature {
  if (curve !== "CURVE_SECP256K1") throw new SigningRefused("Schnorr signatures require a secp256k1 key");
  if (scheme !== "bip340" && scheme !== "bip340Taproot") throw new SigningRefused("unknown scheme");
  const digest = digestOf(hash, payload);
  return withSecret(scheme === "bip340Taproot" ? taprootSecret(secret) : Uint8Array.from(secret), (signing) => {
    const signature = signSchnorr(signing, digest);
    if (!verifySchnorr(xOnlyPublicKey(signing), digest, signature)) throw new SignatureFault();
    return split(signature, 0);
  });
}

class SignatureFault extends Error {
  constructor() {
    super("a signature did not verify and was withheld");
  }
}

function extraData(counter: number): Buffer {
  const data = Buffer.alloc(32);
  data.writeUInt32LE(counter);
  return data;
}

function split(signature: Uint8Array, recoveryBit: number): Signature {
  return {
    r: toHex(signature.subarray(0, 32)),
    s: toHex(signature.subarray(32, 64)),
    v: recoveryBit.toString(16).padStart(2, "0"),
  };
}
