import { decompressPublicKey } from "../../crypto/curves.ts";
import { compactToken, signingInput } from "../../crypto/jwt.ts";
import {
  currentServiceKey,
  publishedServiceKeys,
  type ServiceKeyKind,
  type ServiceSigner,
  signWithServiceKey,
} from "../../engine/keys/service-keys.ts";
import type { Reader } from "../../storage/engine.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** The key that this service signs OIDC tokens with, as the issuer of its public URL. */
export const issuerKey: ServiceKeyKind = {
  purpose: "oidc",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: DAY_MS,
  publish: async (read, now) => (await issuerKeySet(read, now)).keys,
};

/** A JSON Web Key Set (RFC 7517, RFC 7518 section 6.2), the present key first. */
export async function issuerKeySet(read: Reader, now: number): Promise<{ keys: Record<string, string>[] }> {
  const keys = await publishedServiceKeys(read, issuerKey, now);
  return {
    keys: keys.map(({ id, publicKey }) => {
      const point = decompressPublicKey("CURVE_P256", Buffer.from(publicKey, "hex"));
      const coordinate = (start: number) => Buffer.from(point.subarray(start, start + 32)).toString("base64url");
      return { kid: id, kty: "EC", crv: "P-256", alg: "ES256", use: "sig", x: coordinate(1), y: coordinate(33) };
    }),
  };
}

/** What an issuer says of itself (OpenID Connect Discovery 1.0, section 3). It issues tokens through the API alone. */
export const discoveryDocument = (issuer: string) => ({
  issuer,
  jwks_uri: `${issuer}/.well-known/jwks.json`,
  response_types_supported: ["id_token"],
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["ES256"],
  claims_supported: ["iss", "sub", "aud", "exp", "iat", "nonce", "email", "email_verified", "encrypted_bearer_token"],
});

/** A compact JWT (RFC 7515) with these claims, signed by the issuer's present key. */
export async function signToken(signer: ServiceSigner, claims: Record<string, unknown>): Promise<string> {
  const key = await currentServiceKey(signer.read, issuerKey);
  const input = signingInput({ alg: "ES256", kid: key.id, typ: "JWT" }, claims);
  const [signature] = await signWithServiceKey(signer, key, [Buffer.from(input)]);
  return compactToken(input, signature as Buffer);
}
