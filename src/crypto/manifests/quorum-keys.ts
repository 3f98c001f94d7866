import { createECDH, createHash, hkdfSync } from "node:crypto";
import { toHex, wipe } from "../../kernel/bytes.ts";
import { isSecretInRange } from "../curves.ts";

/**
 * Quorum keys of apps: a seed of 32 bytes, which is shared among operators and given to the approved program. Two P-256 keys are derived
 * from it by HKDF-SHA-512 (RFC 5869), without salt: one for encryption, one for signatures.
 */

export const QUORUM_SEED_BYTES = 32;
const SECRET_BYTES = 32;
const ROLES = ["keystead quorum key: encryption", "keystead quorum key: signing"] as const;

/** The public key in lowercase hex, encryption key and then signing key; undefined for the rare seed that does not yield two valid keys. */
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

/** Identifies a share, in hex. It reveals nothing, because a share is as hard to guess as the seed. */
export const shareDigest = (share: Uint8Array): string => createHash("sha256").update(share).digest("hex");
