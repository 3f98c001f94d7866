import { createECDH, createHash, hkdfSync } from "node:crypto";
import { toHex, wipe } from "../../kernel/bytes.ts";
import { isSecretInRange } from "../curves.ts";

/**
 * Quorum keys of apps: a seed of 32 bytes, which is shared among operators and handed to the approved program. Two keys of P-256 come of
 * it by HKDF-SHA-512 (RFC 5869), without salt: one to encrypt to, one to sign with.
 */

export const QUORUM_SEED_BYTES = 32;
const SECRET_BYTES = 32;
const ROLES = ["keystead quorum key: encryption", "keystead quorum key: signing"] as const;

/** The public key in lowercase hex, encryption and then signing; undefined for the rare seed of which no two keys come. */
export function quorumPublicKeyOf(seed: Uint8Array): string | undefined {
  const points = ROLES.map((role) => pointOf(seed, role));
  return points.includes(undefined) ? undefined : points.join("");
}

function pointOf(seed: Uint8Array, role: string): string | undefined {
  const secret = new Uint8Array(hkdfSync("sha512", seed, new Uint8Array(), role, SECRET_BYTES));
  try {
    if (!isSecretInRange("CURVE_P256", secret)) return undefined;
    const pair = createECDH("prime256v1");
    pair.setPrivateKey(secret);
    return toHex(pair.getPublicKey());
  } finally {
    wipe(secret);
  }
}

/** By which a share is known again, hex: it is as hard to guess as the seed. */
export const shareDigest = (share: Uint8Array): string => createHash("sha256").update(share).digest("hex");
