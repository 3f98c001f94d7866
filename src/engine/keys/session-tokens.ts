import { createHash } from "node:crypto";
import { decompressPublicKey } from "../../crypto/curves.ts";
import { compactToken, signingInput } from "../../crypto/jwt.ts";
import { toHex } from "../../kernel/bytes.ts";
import type { Reader } from "../../storage/engine.ts";
import {
  currentServiceKey,
  publishedServiceKeys,
  type ServiceKeyKind,
  type ServiceSigner,
  signWithServiceKey,
} from "./service-keys.ts";

/** What a client is told of its session. The key in it stamps requests; the token itself opens nothing. */
export interface SessionClaims {
  /** Seconds since 1970. */
  exp: number;
  /** As the client sent it. */
  public_key: string;
  /** `SESSION_TYPE_READ_WRITE`, or the name of the session's profile. */
  session_type: string;
  user_id: string;
  organization_id: string;
  session_profile_id?: string;
  scope?: string;
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** The key that session tokens are signed with. */
export const sessionKey: ServiceKeyKind = {
  purpose: "session",
  curve: "CURVE_P256",
  // Longer than clients keep a token that they did not get anew.
  publishedAfterRetirementMs: 30 * DAY_MS,
  publish: sessionVerificationKeys,
};

/** A token (ES256) as the published `verifySessionJwtSignature` takes it: the signature is over SHA-256 twice. */
export async function signSessionToken(signer: ServiceSigner, claims: SessionClaims): Promise<string> {
  const input = signingInput({ alg: "ES256", typ: "JWT" }, claims);
  const once = createHash("sha256").update(input).digest();
  const [signature] = await signWithServiceKey(signer, await currentServiceKey(signer.read, sessionKey), [once]);
  return compactToken(input, signature as Buffer);
}

/** As the published verifier takes the keys: uncompressed points in hex. */
async function sessionVerificationKeys(read: Reader, now: number): Promise<Record<string, string>[]> {
  const keys = await publishedServiceKeys(read, sessionKey, now);
  return keys.map(({ id, publicKey }) => ({
    keyId: id,
    publicKey: toHex(decompressPublicKey("CURVE_P256", Buffer.from(publicKey, "hex"))),
  }));
}
