import { createHash, createHmac, randomBytes } from "node:crypto";
import { wipe } from "../../kernel/bytes.ts";
import { modOrder, taggedHash } from "../schnorr.ts";
import { secp256k1 } from "../secp256k1.ts";
import { add, evenPoint, hashToScalar, isOdd, negated, pointOf, pointSum, pointTimes, signed, xOf } from "./group.ts";

/**
 * The user's share of a threshold signature, FROST(secp256k1, SHA-256-TR), as Spark defines it. The user is a participant group of one,
 * separate from the group of the operators, so the user's Lagrange coefficient is 1. The aggregate is a BIP-340 signature under the Taproot
 * output key of user and operators or, with an adaptor point, a signature that the adaptor's secret completes.
 */

const CONTEXT = "FROST-secp256k1-SHA256-TR-v1";
/** The identifier of every user among the signers: `user`, hashed to a scalar for this purpose. */
export const USER_ID = Buffer.from("687da64d52a16c6fc792c6fc831ec1afa797a91f77549668a6b5421f12c1ac77", "hex");

export interface Commitment {
  /** Scalar of 32 bytes. */
  id: Uint8Array;
  /** Compressed points. */
  hiding: Uint8Array;
  binding: Uint8Array;
}

export interface FrostSigning {
  /** 32 bytes. */
  message: Uint8Array;
  /** The sum of the user's and the operators' public keys, compressed. */
  verifyingKey: Uint8Array;
  /** Commitments of the operators. */
  commitments: readonly Commitment[];
  /** A compressed point. */
  adaptor?: Uint8Array;
}

/** Use them for a single share only. */
export interface Nonces {
  hiding: Uint8Array;
  binding: Uint8Array;
}

export interface FrostShare {
  share: Uint8Array;
  hiding: Uint8Array;
  binding: Uint8Array;
}

/** There is no other signer, so the share would be a complete signature. */
export class SoleSigner extends Error {}

/** The public values that all signers compute. */
interface Transcript {
  /** Scalars. */
  bindingFactor: Uint8Array;
  challenge: Uint8Array;
  /** Whether the secret enters with a negative sign, and the same for the nonces. */
  isSecretNegative: boolean;
  areNoncesNegative: boolean;
}

/**
 * The share of one signature, with freshly drawn nonces.
 *
 * @param secret of the user's key
 * @throws SoleSigner if the verifying key is the user's own; Error if a point is off the curve
 */
export function frostShare(secret: Uint8Array, signing: FrostSigning): FrostShare {
  const nonces = drawNonces(secret, signing);
  try {
    return shareWith(secret, nonces, signing);
  } finally {
    wipe(nonces.hiding, nonces.binding);
  }
}

/**
 * The share with given nonces, which must never be used again. The share is verified before it is returned.
 *
 * @throws as `frostShare`
 */
export function shareWith(secret: Uint8Array, nonces: Nonces, signing: FrostSigning): FrostShare {
  const publicKey = pointOf(secret);
  // Under the user's own key, of whichever sign, the missing part of the signature is public.
  if (Buffer.compare(xOf(publicKey), xOf(signing.verifyingKey)) === 0)
    throw new SoleSigner("the key is the user's own");
  const own = { id: USER_ID, hiding: pointOf(nonces.hiding), binding: pointOf(nonces.binding) };
  const transcript = transcriptOf(signing, own);
  const share = signed(nonces.hiding, transcript.areNoncesNegative);
  const binding = signed(nonces.binding, transcript.areNoncesNegative);
  const key = signed(secret, transcript.isSecretNegative);
  try {
    add(share, secp256k1.privateKeyTweakMul(binding, transcript.bindingFactor));
    add(share, secp256k1.privateKeyTweakMul(key, transcript.challenge));
  } finally {
    wipe(binding, key);
  }
  if (isShare(share, own, publicKey, transcript)) return { share, hiding: own.hiding, binding: own.binding };
  wipe(share);
  throw new Error("a signature share did not verify and was withheld");
}

/**
 * Hedged: fresh randomness, hashed under the secret together with everything that is signed. Even if the randomness failed, two requests
 * that differ in any way would have different nonces.
 */
function drawNonces(secret: Uint8Array, { message, verifyingKey, commitments, adaptor }: FrostSigning): Nonces {
  const random = randomBytes(32);
  const hmac = createHmac("sha256", secret).update("keystead/spark/frost-nonce/v1").update(random);
  const sorted = byId(commitments).flatMap(({ id, hiding, binding }) => [id, hiding, binding]);
  for (const part of [message, verifyingKey, ...sorted, adaptor ?? new Uint8Array()]) {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length);
    hmac.update(length).update(part);
  }
  const seed = hmac.digest();
  try {
    return {
      hiding: hashToScalar(`${CONTEXT}nonce`, seed, Uint8Array.of(1)),
      binding: hashToScalar(`${CONTEXT}nonce`, seed, Uint8Array.of(2)),
    };
  } finally {
    wipe(random, seed);
  }
}

function transcriptOf({ message, verifyingKey, commitments, adaptor }: FrostSigning, own: Commitment): Transcript {
  const internal = xOf(verifyingKey);
  const output = secp256k1.publicKeyTweakAdd(evenPoint(internal), modOrder(taggedHash("TapTweak", internal)), true);
  const all = byId([...commitments, own]);
  const encoded = all.flatMap(({ id, hiding, binding }) => [id, hiding, binding]);
  const prefix = [evenPoint(xOf(output)), hashOf("msg", message), hashOf("com", ...encoded)];
  const factors = all.map(({ id }) => hashToScalar(`${CONTEXT}rho`, ...prefix, id));
  const summands = all.flatMap(({ hiding, binding }, at) => [hiding, pointTimes(binding, factors[at] as Uint8Array)]);
  const nonce = pointSum(adaptor ? [...summands, adaptor] : summands);
  return {
    bindingFactor: factors[all.indexOf(own)] as Uint8Array,
    challenge: modOrder(taggedHash("BIP0340/challenge", xOf(nonce), xOf(output), message)),
    isSecretNegative: isOdd(verifyingKey) !== isOdd(output),
    areNoncesNegative: isOdd(nonce),
  };
}

/** Whether the share times the generator equals the point that the commitments, the public key and the transcript yield. */
function isShare(share: Uint8Array, own: Commitment, publicKey: Uint8Array, transcript: Transcript): boolean {
  const { bindingFactor, challenge, isSecretNegative, areNoncesNegative } = transcript;
  const nonces = [own.hiding, pointTimes(own.binding, bindingFactor)];
  const key = pointTimes(publicKey, challenge);
  const expected = pointSum([
    ...nonces.map((point) => (areNoncesNegative ? negated(point) : point)),
    isSecretNegative ? negated(key) : key,
  ]);
  return Buffer.compare(pointOf(share), expected) === 0;
}

const byId = (commitments: readonly Commitment[]): Commitment[] =>
  [...commitments].sort((a, b) => Buffer.compare(a.id, b.id));

function hashOf(tag: string, ...parts: Uint8Array[]): Buffer {
  const hash = createHash("sha256").update(CONTEXT).update(tag);
  for (const part of parts) hash.update(part);
  return hash.digest();
}
