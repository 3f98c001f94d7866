import { type Static, Type } from "typebox";
import type { NewApiKey, NewAuthenticator, NewOauthProvider } from "../../authority/rules/credentials.ts";
import { type ApiKeyCurve, normalizePublicKey } from "../../crypto/public-keys.ts";
import { type RegisteredCredential, verifyAttestation } from "../../crypto/webauthn-attestation.ts";
import { Label, List, OneOf, Seconds, Strict } from "../../engine/fields.ts";
import { authenticatorTransports, type CredentialType } from "../../engine/identity/users.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_LABEL_LENGTH } from "../../kernel/limits.ts";

/** The parameters that credentials are made from, wherever they are made, in all their versions. */

const apiKeyCurves = ["API_KEY_CURVE_P256", "API_KEY_CURVE_SECP256K1", "API_KEY_CURVE_ED25519"] as const;
const PublicKey = Type.String({ minLength: 1, maxLength: 256 });

export const ApiKeyParamsV1 = Strict({
  apiKeyName: Label,
  publicKey: PublicKey,
  expirationSeconds: Type.Optional(Seconds),
});
export const ApiKeyParams = Strict({
  apiKeyName: Label,
  publicKey: PublicKey,
  curveType: OneOf(apiKeyCurves),
  expirationSeconds: Type.Optional(Seconds),
});
export type ApiKeyParams = Static<typeof ApiKeyParams>;

/** The first version knew one curve. */
export const upgradeApiKey = (apiKey: Static<typeof ApiKeyParamsV1>): ApiKeyParams => ({
  ...apiKey,
  curveType: "API_KEY_CURVE_P256",
});

const Transports = List(OneOf(authenticatorTransports), 16);
const Base64 = Type.String({ minLength: 1, maxLength: 65536 });

export const AuthenticatorParams = Strict({
  authenticatorName: Label,
  challenge: Type.String({ minLength: 1, maxLength: 4096 }),
  attestation: Strict({
    credentialId: Base64,
    clientDataJson: Base64,
    attestationObject: Base64,
    transports: Transports,
  }),
});
export type AuthenticatorParams = Static<typeof AuthenticatorParams>;

/** The first version took the browser's credential object as it is. */
export const AuthenticatorParamsV1 = Strict({
  authenticatorName: Label,
  /** The user handle of the passkey; nothing here depends on it. */
  userId: Type.String({ maxLength: MAX_LABEL_LENGTH }),
  challenge: Type.String({ minLength: 1, maxLength: 4096 }),
  attestation: Strict({
    id: Base64,
    type: OneOf(["public-key"]),
    rawId: Base64,
    authenticatorAttachment: Type.Optional(OneOf(["cross-platform", "platform"])),
    response: Strict({
      clientDataJson: Base64,
      attestationObject: Base64,
      transports: Type.Optional(Transports),
      authenticatorAttachment: Type.Optional(OneOf(["cross-platform", "platform"])),
    }),
    clientExtensionResults: Strict({
      appid: Type.Optional(Type.Boolean()),
      appidExclude: Type.Optional(Type.Boolean()),
      credProps: Type.Optional(Strict({ rk: Type.Boolean() })),
    }),
  }),
});

export function upgradeAuthenticator(params: Static<typeof AuthenticatorParamsV1>): AuthenticatorParams {
  const { authenticatorName, challenge, attestation } = params;
  const { clientDataJson, attestationObject, transports = [] } = attestation.response;
  return {
    authenticatorName,
    challenge,
    attestation: { credentialId: attestation.rawId, clientDataJson, attestationObject, transports },
  };
}

const OidcClaims = Strict({
  iss: Type.String({ minLength: 1, maxLength: 255 }),
  sub: Type.String({ minLength: 1, maxLength: 255 }),
  aud: Type.String({ minLength: 1, maxLength: 255 }),
});
export const OauthProviderParams = Strict({
  providerName: Label,
  oidcToken: Type.Optional(Type.String({ maxLength: 65536 })),
  oidcClaims: Type.Optional(OidcClaims),
});
export type OauthProviderParams = Static<typeof OauthProviderParams>;
export const OauthProviderParamsV1 = Strict({ providerName: Label, oidcToken: Type.String({ maxLength: 65536 }) });

const credentialTypeOfCurve: Record<ApiKeyCurve, CredentialType> = {
  API_KEY_CURVE_P256: "CREDENTIAL_TYPE_API_KEY_P256",
  API_KEY_CURVE_SECP256K1: "CREDENTIAL_TYPE_API_KEY_SECP256K1",
  API_KEY_CURVE_ED25519: "CREDENTIAL_TYPE_API_KEY_ED25519",
};

/** @throws KeysteadError FIELD_INVALID naming the first key that is not a public key of its curve */
export function checkApiKeys(apiKeys: readonly ApiKeyParams[], field: string): void {
  const seen = new Set<string>();
  for (const [index, { curveType, publicKey }] of apiKeys.entries()) {
    const normalized = normalizePublicKey(curveType, publicKey);
    const at = `${field}.${index}.publicKey`;
    if (!normalized) fail("FIELD_INVALID", { field: at, reason: publicKeyForm(curveType) });
    if (seen.has(normalized)) fail("FIELD_INVALID", { field: at, reason: "is there twice" });
    seen.add(normalized);
  }
}

const publicKeyForm = (curve: ApiKeyCurve): string =>
  curve === "API_KEY_CURVE_ED25519"
    ? "must be an Ed25519 public key: 64 hex digits"
    : `must be a compressed public key of ${curve}: 66 hex digits, beginning with 02 or 03`;

/** API keys as they are stored, each public key in its one spelling; `place` is where their list stands in the request. */
export const newApiKeys = (apiKeys: readonly ApiKeyParams[], id: IdOf, place: string): NewApiKey[] =>
  apiKeys.map(({ apiKeyName, publicKey, curveType, expirationSeconds }, index) => ({
    id: id(`${place}.${index}`),
    name: apiKeyName,
    type: credentialTypeOfCurve[curveType],
    publicKey: normalizePublicKey(curveType, publicKey) ?? publicKey,
    sessionProfileId: null,
    grade: null,
    expirationSeconds: expirationSeconds === undefined ? null : Number(expirationSeconds),
  }));

/** Passkeys as they are stored. */
export const newAuthenticators = (
  authenticators: readonly CheckedAuthenticator[],
  id: IdOf,
  place: string,
): NewAuthenticator[] =>
  authenticators.map(({ signCount: _, ...authenticator }, index) => ({
    ...authenticator,
    id: id(`${place}.${index}`),
  }));

/** OAuth providers as they are stored. */
export const newOauthProviders = (
  providers: readonly OauthProviderParams[],
  id: IdOf,
  place: string,
): NewOauthProvider[] =>
  providers.map(({ providerName: name, oidcClaims }, index) => {
    const { iss: issuer, aud: audience, sub: subject } = oidcClaims as NonNullable<typeof oidcClaims>;
    return { id: id(`${place}.${index}`), name, issuer, audience, subject };
  });

/** The identifier of what comes into being at a place of the request. */
type IdOf = (place: string) => string;

/** A passkey whose attestation was verified. */
export type CheckedAuthenticator = RegisteredCredential & { name: string; transports: readonly string[] };

/** @throws KeysteadError ATTESTATION_INVALID naming the field */
export const verifyAuthenticators = (
  authenticators: readonly AuthenticatorParams[],
  field: string,
  allowedOrigins: readonly string[] | undefined,
): Promise<CheckedAuthenticator[]> =>
  Promise.all(authenticators.map((each, index) => verifyAuthenticator(each, `${field}.${index}`, allowedOrigins)));

/** @throws KeysteadError ATTESTATION_INVALID naming the field */
export async function verifyAuthenticator(
  { authenticatorName, challenge, attestation }: AuthenticatorParams,
  field: string,
  allowedOrigins: readonly string[] | undefined,
): Promise<CheckedAuthenticator> {
  const { transports, ...rest } = attestation;
  const verified = await verifyAttestation({ challenge, ...rest, field: `${field}.attestation`, allowedOrigins });
  return { ...verified, name: authenticatorName, transports };
}

/** @throws KeysteadError: a token would have to be checked with its issuer, which sign-in by OAuth will do */
export function checkOauthProviders(providers: readonly OauthProviderParams[], field: string): void {
  for (const [index, { oidcToken, oidcClaims }] of providers.entries()) {
    if (oidcToken !== undefined) {
      const reason = "is not supported yet; give `oidcClaims` instead";
      fail("FIELD_INVALID", { field: `${field}.${index}.oidcToken`, reason });
    }
    if (!oidcClaims) fail("FIELD_MISSING", { field: `${field}.${index}.oidcClaims` });
  }
}
