import { type Static, Type } from "typebox";
import { decompressPublicKey } from "../../crypto/curves.ts";
import { compactToken, signingInput } from "../../crypto/jwt.ts";
import { p256VerificationKey, verifySignature } from "../../crypto/verify-signature.ts";
import { toHex } from "../../kernel/bytes.ts";
import type { Reader } from "../../storage/engine.ts";
import { matches } from "../validate.ts";
import {
  currentServiceKey,
  publishedServiceKeys,
  type ServiceKeyKind,
  type ServiceSigner,
  signWithServiceKey,
} from "./service-keys.ts";

/** Tokens that say that somebody has shown a one-time code, and the key that what is encrypted for codes is vouched for with. */

const Claims = Type.Object({
  id: Type.String(),
  verification_type: Type.String(),
  contact: Type.String(),
  /** Who sent the code. */
  organization_id: Type.String(),
  /** Compressed hex; the key that its bearer signs with. */
  public_key: Type.Optional(Type.String()),
  /** Milliseconds in digits: published clients read it so. */
  exp: Type.String({ pattern: "^[0-9]{1,15}$" }),
});
export type VerificationClaims = Static<typeof Claims>;

const DAY_MS = 24 * 60 * 60 * 1000;
const HEADER = { alg: "ES256", typ: "JWT" };
const MAX_TOKEN_LENGTH = 4096;
const SHAPE = /^([\w-]+)\.([\w-]+)\.([\w-]{86})$/;

/** As the published `encryptOtpCodeToBundle` and `verifyOtpVerificationToken` take it. */
export const otpKey: ServiceKeyKind = {
  purpose: "otp",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: 2 * DAY_MS,
  publish: otpVerificationKeys,
};

/** A token (ES256); the signature is over SHA-256 once, other than that of a session. */
export async function signVerificationToken(signer: ServiceSigner, claims: VerificationClaims): Promise<string> {
  const input = signingInput(HEADER, claims);
  const key = await currentServiceKey(signer.read, otpKey);
  const [signature] = await signWithServiceKey(signer, key, [Buffer.from(input)]);
  return compactToken(input, signature as Buffer);
}

/** What a token says that was signed here and has not expired; undefined for any other text. */
export async function openVerificationToken(
  read: Reader,
  token: string,
  now: number,
): Promise<VerificationClaims | undefined> {
  const [, header, payload, signature] = (token.length <= MAX_TOKEN_LENGTH && SHAPE.exec(token)) || [];
  if (header === undefined || payload === undefined || signature === undefined) return undefined;
  if (header !== Buffer.from(JSON.stringify(HEADER)).toString("base64url")) return undefined;
  for (const { publicKey } of await publishedServiceKeys(read, otpKey, now)) {
    const bytes = Buffer.from(signature, "base64url");
    const input = Buffer.from(`${header}.${payload}`);
    if (!(await verifySignature("sha256", input, p256VerificationKey(publicKey), bytes))) continue;
    const claims: unknown = JSON.parse(Buffer.from(payload, "base64url").toString());
    return matches(Claims, claims) && Number((claims as VerificationClaims).exp) > now
      ? (claims as VerificationClaims)
      : undefined;
  }
  return undefined;
}

const pointOf = (publicKey: string): Buffer =>
  Buffer.from(decompressPublicKey("CURVE_P256", Buffer.from(publicKey, "hex")));

async function otpVerificationKeys(read: Reader, now: number): Promise<Record<string, string>[]> {
  const keys = await publishedServiceKeys(read, otpKey, now);
  return keys.map(({ id, publicKey }) => ({ keyId: id, publicKey: toHex(pointOf(publicKey)) }));
}
