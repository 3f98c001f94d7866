import { ECDH, verify } from "node:crypto";
import { p256VerificationKey } from "../verify-signature.ts";
import { type Manifest, type ManifestEnvelope, type Member, manifestHash } from "./manifest.ts";

/**
 * Approvals of manifests: an ECDSA signature over P-256 with SHA-256, r || s, by an operator's signing key. The signed message is the 32-byte
 * hash of the manifest, which ECDSA hashes once more.
 */

/** Number of hex digits of an operator's two keys, or of a quorum key: encryption key, then signing key. */
export const KEY_PAIR_DIGITS = 260;
const POINT_DIGITS = 130;

export interface KeyPair {
  /** Each an uncompressed point, hex, lowercase. */
  encrypt: string;
  sign: string;
}

/** The two halves of a key pair, or undefined if the text is not two points of P-256. */
export function parseKeyPair(hex: string): KeyPair | undefined {
  if (hex.length !== KEY_PAIR_DIGITS) return undefined;
  const halves = halvesOf(hex);
  return compressed(halves.encrypt) && compressed(halves.sign) ? halves : undefined;
}

/** The two halves of a key pair that was validated before; validating points again would be slow. */
export function halvesOf(hex: string): KeyPair {
  const lower = hex.toLowerCase();
  return { encrypt: lower.slice(0, POINT_DIGITS), sign: lower.slice(POINT_DIGITS) };
}

/** The compressed form of a point in hex; undefined if it is not a point. */
function compressed(hex: string): string | undefined {
  if (!/^04[0-9a-f]{128}$/.test(hex)) return undefined;
  try {
    return ECDH.convertKey(Buffer.from(hex, "hex"), "prime256v1", undefined, "hex", "compressed") as string;
  } catch {
    return undefined;
  }
}

/**
 * Whether the operator's key signed this manifest.
 *
 * @param publicKey the pair, hex
 * @param signature hex
 */
export function verifyApproval(hash: Uint8Array, publicKey: string, signature: string): boolean {
  const keys = parseKeyPair(publicKey);
  const signer = keys && compressed(keys.sign);
  if (!signer || !/^[0-9a-f]{128}$/i.test(signature)) return false;
  return verify("sha256", hash, p256VerificationKey(signer), Buffer.from(signature, "hex"));
}

export type Verdict = "valid" | "invalid signature" | "not a member" | "duplicate";

export interface Verdicts {
  approvals: { alias: string; verdict: Verdict }[];
  /** Number of members whose approval counts. */
  valid: number;
  threshold: number;
  reached: boolean;
}

/** The verdict on each approval of the manifest set, and whether there are enough. */
export function judgeApprovals({ manifest, manifestSetApprovals }: ManifestEnvelope): Verdicts {
  const { threshold, members } = manifest.manifestSet;
  const hash = manifestHash(manifest);
  const counted = new Set<string>();
  const approvals = manifestSetApprovals.map(({ member, signature }) => {
    const verdict = verdictOf({ hash, members, counted }, member, signature);
    if (verdict === "valid") counted.add(halvesOf(member.pubKey).sign);
    return { alias: member.alias, verdict };
  });
  return { approvals, valid: counted.size, threshold, reached: threshold > 0 && counted.size >= threshold };
}

interface Judging {
  hash: Uint8Array;
  members: Manifest["manifestSet"]["members"];
  /** Signing keys: each approves only once, whatever encryption key it is paired with. */
  counted: ReadonlySet<string>;
}

function verdictOf({ hash, members, counted }: Judging, member: Member, signature: string): Verdict {
  if (!verifyApproval(hash, member.pubKey, signature)) return "invalid signature";
  if (!members.some(({ alias, pubKey }) => alias === member.alias && pubKey === member.pubKey)) return "not a member";
  return counted.has(halvesOf(member.pubKey).sign) ? "duplicate" : "valid";
}
