import { type Static, Type } from "typebox";
import {
  type ClaimedProvider,
  type NewApiKey,
  type NewAuthenticator,
  type NewOauthProvider,
  refuseTooManyProviders,
  refuseUnproven,
} from "../../authority/rules/credentials.ts";
import { type ApiKeyCurve, normalizePublicKey } from "../../crypto/public-keys.ts";
import { type RegisteredCredential, verifyAttestation } from "../../crypto/webauthn-attestation.ts";
import { Label, List, OneOf, Seconds, Strict } from "../../engine/fields.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import { authenticatorTransports, type CredentialType } from "../../engine/identity/user-schemas.ts";
import type { Organization } from "../../engine/operations.ts";
import type { Services } from "../../engine/services.ts";
import { fail } from "../../kernel/errors.ts";
import {
  MAX_LABEL_LENGTH,
  MAX_OIDC_CLAIM_LENGTH,
  MAX_OIDC_TOKEN_LENGTH,
  MAX_OIDC_TOKENS,
} from "../../kernel/limits.ts";
import { pause } from "../../kernel/turns.ts";
import type { Reader } from "../../storage/engine.ts";
import { isOwnApp, ownAppsOf, shownEmailOf } from "../auth-proxy/model.ts";
import { findSettings } from "../auth-proxy/store.ts";

/** The parameters for new credentials in all operations that create them, in all versions. */

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

/** The first version supported only one curve. */
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

/** The first version took the browser's credential object unchanged. */
export const AuthenticatorParamsV1 = Strict({
  authenticatorName: Label,
  /** The user handle of the passkey. Unused. */
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

const OidcClaim = Type.String({ minLength: 1, maxLength: MAX_OIDC_CLAIM_LENGTH });
const OidcClaims = Strict({
  iss: OidcClaim,
  sub: OidcClaim,
  aud: OidcClaim,
});
export const OidcToken = Type.String({ minLength: 1, maxLength: MAX_OIDC_TOKEN_LENGTH });
export const OauthProviderParams = Strict({
  providerName: Label,
  oidcToken: Type.Optional(OidcToken),
  oidcClaims: Type.Optional(OidcClaims),
});
export type OauthProviderParams = Static<typeof OauthProviderParams>;
export const OauthProviderParamsV1 = Strict({ providerName: Label, oidcToken: OidcToken });

const credentialTypeOfCurve: Record<ApiKeyCurve, CredentialType> = {
  API_KEY_CURVE_P256: "CREDENTIAL_TYPE_API_KEY_P256",
  API_KEY_CURVE_SECP256K1: "CREDENTIAL_TYPE_API_KEY_SECP256K1",
  API_KEY_CURVE_ED25519: "CREDENTIAL_TYPE_API_KEY_ED25519",
};

/**
 * Checks public keys, with a pause between them: a request may have a thousand, and each takes about as long as verifying a signature. Callers
 * with several lists pause between the lists. A single key is checked without a pause, so that a copy of the same request cannot accept an
 * invitation meanwhile.
 *
 * @param queue the queue of `pause`
 * @throws KeysteadError FIELD_INVALID naming the first key that is not a public key of its curve
 */
export async function checkApiKeys(apiKeys: readonly ApiKeyParams[], field: string, queue: string): Promise<void> {
  const seen = new Set<string>();
  for (const [index, { curveType, publicKey }] of apiKeys.entries()) {
    if (index > 0) await pause(queue);
    const normalized = normalizePublicKey(curveType, publicKey);
    const at = `${field}.${index}.publicKey`;
    if (!normalized) fail("FIELD_INVALID", { field: at, reason: publicKeyForm(curveType) });
    if (seen.has(normalized)) fail("FIELD_INVALID", { field: at, reason: "occurs twice" });
    seen.add(normalized);
  }
}

const publicKeyForm = (curve: ApiKeyCurve): string =>
  curve === "API_KEY_CURVE_ED25519"
    ? "must be an Ed25519 public key: 64 hex digits"
    : `must be a compressed public key of ${curve}: 66 hex digits, beginning with 02 or 03`;

/** API keys as stored, each public key in canonical form; `place` is the path of their list in the request. */
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

/** Passkeys as stored. */
export const newAuthenticators = (
  authenticators: readonly CheckedAuthenticator[],
  id: IdOf,
  place: string,
): NewAuthenticator[] =>
  authenticators.map(({ signCount: _, ...authenticator }, index) => ({
    ...authenticator,
    id: id(`${place}.${index}`),
  }));

/** OAuth providers as stored. */
export const newOauthProviders = (
  providers: readonly CheckedOauthProvider[],
  id: IdOf,
  place: string,
): NewOauthProvider[] =>
  providers.map(({ isProven: _, provenBy: __, ...provider }, index) => ({ ...provider, id: id(`${place}.${index}`) }));

/** The id for the resource that is created from the item at this path in the request. */
type IdOf = (place: string) => string;

/** A passkey whose attestation was verified. */
export type CheckedAuthenticator = RegisteredCredential & { name: string; transports: readonly string[] };

/** Whose passkeys are verified. */
interface Registering {
  organization: Pick<Organization, "id">;
  /** Undefined = any. */
  allowedOrigins: readonly string[] | undefined;
}

/**
 * Verifies passkeys one after the other, with a pause between them: a request may have a thousand, and one with a certificate takes several
 * milliseconds. As with API keys, there is no pause before the first one.
 *
 * @throws KeysteadError ATTESTATION_INVALID naming the field
 */
export async function verifyAuthenticators(
  authenticators: readonly AuthenticatorParams[],
  field: string,
  { organization, allowedOrigins }: Registering,
): Promise<CheckedAuthenticator[]> {
  const checked: CheckedAuthenticator[] = [];
  for (const [index, each] of authenticators.entries()) {
    if (index > 0) await pause(organization.id);
    checked.push(await verifyAuthenticator(each, `${field}.${index}`, allowedOrigins));
  }
  return checked;
}

/** The same for new users; `field` is the path of their list. */
export async function verifyAuthenticatorsOfNewUsers(
  users: readonly { authenticators: readonly AuthenticatorParams[] }[],
  field: string,
  registering: Registering,
): Promise<CheckedAuthenticator[][]> {
  const checked: CheckedAuthenticator[][] = [];
  for (const [index, { authenticators }] of users.entries()) {
    await pause(registering.organization.id);
    checked.push(await verifyAuthenticators(authenticators, `${field}.${index}.authenticators`, registering));
  }
  return checked;
}

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

/** An OAuth provider of a request: from a verified token, or from claims that need proof. */
export type CheckedOauthProvider = Omit<NewOauthProvider, "id"> & ClaimedProvider;

/**
 * The checks that need no request to an issuer.
 *
 * @throws KeysteadError FIELD_MISSING or USER_QUOTA_EXCEEDED
 */
export function checkOauthProviders(providers: readonly OauthProviderParams[], field: string): void {
  refuseTooManyProviders(providers.length);
  const without = providers.findIndex(({ oidcToken, oidcClaims }) => oidcToken === undefined && !oidcClaims);
  if (without >= 0) fail("FIELD_MISSING", { field: `${field}.${without}.oidcToken` });
}

/** The organization for which tokens are verified, and the services for it. */
interface Verifying extends Pick<Services, "oidc"> {
  read: Reader;
  organization: Pick<Organization, "id" | "parentId">;
}

/**
 * Verifies the tokens. A token proves its own claims and all others in the list with its issuer and subject: they are the same person, known
 * to another app of the wallet team. If a provider has both a token and claims, the claims are stored. If the team has configured its apps,
 * claims for one of them need a token for one of them: any other app receives the tokens of everybody who uses that app.
 *
 * @throws KeysteadError OIDC_TOKEN_INVALID, or FIELD_INVALID if claims name another issuer or subject than the token with them
 */
export async function verifyOauthProviders(
  providers: readonly OauthProviderParams[],
  field: string,
  { oidc, read, organization }: Verifying,
): Promise<CheckedOauthProvider[]> {
  const organizationId = rootIdOf(organization);
  const tokens: Awaited<ReturnType<typeof oidc.verify> | undefined>[] = [];
  // One after the other: each may wait for its issuer, and after a rejected token no further issuer is asked.
  for (const [index, { oidcToken }] of providers.entries()) {
    await pause(organizationId);
    const about = { field: `${field}.${index}.oidcToken`, organizationId };
    tokens.push(oidcToken === undefined ? undefined : await oidc.verify(oidcToken, about));
  }
  const areSettingsAsked = tokens.some((token) => token?.emailVerified) || providers.some((each) => each.oidcClaims);
  const settings = areSettingsAsked ? await findSettings(read, organizationId) : {};
  const ownApps = ownAppsOf(settings);
  return providers.map(({ providerName: name, oidcClaims }, index) => {
    const token = tokens[index];
    const { iss, sub, aud } = (oidcClaims ?? token) as NonNullable<typeof oidcClaims>;
    const isOf = (other: { iss: string; sub: string } | undefined) => other?.iss === iss && other.sub === sub;
    if (token && !isOf(token)) {
      const reason = "must have the same `iss` and `sub` as the `oidcToken` next to it";
      fail("FIELD_INVALID", { field: `${field}.${index}.oidcClaims`, reason });
    }
    const verifiedEmail = token && shownEmailOf(token, settings);
    const known = { name, issuer: iss, subject: sub, audience: aud };
    const provenBy = ownApps.includes(aud) ? ownApps : undefined;
    const isProven = tokens.some((each) => each && isOf(each) && (provenBy?.includes(each.aud) ?? true));
    return { ...known, isProven, provenBy, verifiedEmail, isOwnApp: isOwnApp(aud, settings) };
  });
}

type WithProviders = { oauthProviders: readonly OauthProviderParams[] };

/** The same for new users; `field` is the path of their list. */
export function checkProvidersOfNewUsers(users: readonly WithProviders[], field: string): void {
  for (const [index, { oauthProviders }] of users.entries()) {
    checkOauthProviders(oauthProviders, `${field}.${index}.oauthProviders`);
  }
  const tokens = users.flatMap(({ oauthProviders }) =>
    oauthProviders.filter(({ oidcToken }) => oidcToken !== undefined),
  );
  if (tokens.length > MAX_OIDC_TOKENS) {
    fail("FIELD_INVALID", { field, reason: `must not have more than ${MAX_OIDC_TOKENS} OIDC tokens together` });
  }
}

/** The same for new users. They have no stored provider that could prove claims. */
export async function verifyProvidersOfNewUsers(
  users: readonly WithProviders[],
  field: string,
  verifying: Verifying,
): Promise<CheckedOauthProvider[][]> {
  const providers: CheckedOauthProvider[][] = [];
  for (const [index, { oauthProviders }] of users.entries()) {
    const at = `${field}.${index}.oauthProviders`;
    const checked = await verifyOauthProviders(oauthProviders, at, verifying);
    refuseUnproven(checked, [], at);
    providers.push(checked);
  }
  return providers;
}
