import { p256Jwk } from "../../crypto/verify-signature.ts";
import { publishedServiceKeys, type ServiceKeyKind, type ServiceSigner } from "../../engine/keys/service-keys.ts";
import { signToken } from "../../engine/keys/signed-tokens.ts";
import { DAY_MS } from "../../kernel/durations.ts";
import type { IdentityClaims } from "../../signer/statements.ts";
import type { Reader } from "../../storage/engine.ts";

/** The key with which this service signs OIDC tokens, as the issuer under its public URL. */
export const issuerKey: ServiceKeyKind = {
  purpose: "oidc",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: DAY_MS,
  publish: async (read, now) => (await issuerKeySet(read, now)).keys,
};

/** A JSON Web Key Set (RFC 7517, RFC 7518 section 6.2), current key first. */
export async function issuerKeySet(read: Reader, now: number): Promise<{ keys: Record<string, string>[] }> {
  const keys = await publishedServiceKeys(read, issuerKey, now);
  return {
    keys: keys.map(({ id, publicKey }) => ({ kid: id, alg: "ES256", use: "sig", ...p256Jwk(publicKey) })),
  };
}

/** The issuer's metadata (OpenID Connect Discovery 1.0, section 3). Tokens are issued only through the API. */
export const discoveryDocument = (issuer: string) => ({
  issuer,
  jwks_uri: `${issuer}/.well-known/jwks.json`,
  response_types_supported: ["id_token"],
  subject_types_supported: ["public"],
  id_token_signing_alg_values_supported: ["ES256"],
  claims_supported: ["iss", "sub", "aud", "exp", "iat", "nonce", "email", "email_verified", "encrypted_bearer_token"],
});

/** A compact JWT (RFC 7515) with these claims, signed by the issuer's current key. */
export const signIssuedToken = (signer: ServiceSigner, claims: IdentityClaims): Promise<string> =>
  signToken(signer, issuerKey, (keyId) => ({ says: "identity", keyId, claims }));
