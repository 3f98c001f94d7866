import type { Static } from "typebox";
import { Type } from "typebox";
import { compactToken, signingInput } from "../../crypto/jwt.ts";
import { p256VerificationKey, verifySignature } from "../../crypto/verify-signature.ts";
import type { Reader } from "../../storage/engine.ts";
import { matches } from "../validate.ts";
import { currentServiceKey, publishedServiceKeys, type ServiceSigner, signWithServiceKey } from "./service-keys.ts";
import { sessionKey } from "./session-tokens.ts";

/** Tokens of read-only sessions: opaque to clients, signed by the installation, and checked against the credential that made them. */

const Claims = Type.Object({
  organizationId: Type.String(),
  userId: Type.String(),
  /** The kind of the credential that made it. */
  with: Type.Union([Type.Literal("apiKey"), Type.Literal("passkey")]),
  /** What that credential is looked up by, and its id. */
  key: Type.String(),
  credentialId: Type.String(),
  /** Milliseconds. */
  expiresAt: Type.Integer(),
});
export type ReadOnlyClaims = Static<typeof Claims>;

/** Not the header of any other token that is signed with the same key. */
const HEADER = { alg: "ES256", typ: "keystead-read-only" };
const MAX_TOKEN_LENGTH = 4096;
const SHAPE = /^([\w-]+)\.([\w-]+)\.([\w-]{86})$/;

export async function signReadOnlyToken(signer: ServiceSigner, claims: ReadOnlyClaims): Promise<string> {
  const input = signingInput(HEADER, claims);
  const key = await currentServiceKey(signer.read, sessionKey);
  const [signature] = await signWithServiceKey(signer, key, [Buffer.from(input)]);
  return compactToken(input, signature as Buffer);
}

/** What a token says, whoever made it; undefined for what has another form. */
export function readOnlyClaimsOf(token: string): ReadOnlyClaims | undefined {
  const [, header, claims] = (token.length <= MAX_TOKEN_LENGTH && SHAPE.exec(token)) || [];
  if (header === undefined || claims === undefined) return undefined;
  if (header !== Buffer.from(JSON.stringify(HEADER)).toString("base64url")) return undefined;
  try {
    const value: unknown = JSON.parse(Buffer.from(claims, "base64url").toString());
    return matches(Claims, value) ? (value as ReadOnlyClaims) : undefined;
  } catch {
    return undefined;
  }
}

/** What a token says that was signed here, expired or not. */
export async function openReadOnlyToken(read: Reader, token: string): Promise<ReadOnlyClaims | undefined> {
  const claims = readOnlyClaimsOf(token);
  if (!claims) return undefined;
  const [input, signature] = [token.slice(0, token.lastIndexOf(".")), token.slice(token.lastIndexOf(".") + 1)];
  // A retired key still counts for as long as it is published; the tokens of an hour are gone by then.
  for (const { publicKey } of await publishedServiceKeys(read, sessionKey, Date.now())) {
    const bytes = Buffer.from(signature, "base64url");
    if (await verifySignature("sha256", Buffer.from(input), p256VerificationKey(publicKey), bytes)) return claims;
  }
  return undefined;
}
