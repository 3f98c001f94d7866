import { type Static, Type } from "typebox";
import { authenticationTypes } from "../../authority/state.ts";
import { OneOf, Timestamp } from "../fields.ts";

/** The shapes of users and their credentials in responses. */

const credentialTypes = [
  "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR",
  "CREDENTIAL_TYPE_API_KEY_P256",
  "CREDENTIAL_TYPE_RECOVER_USER_KEY_P256",
  "CREDENTIAL_TYPE_API_KEY_SECP256K1",
  "CREDENTIAL_TYPE_EMAIL_AUTH_KEY_P256",
  "CREDENTIAL_TYPE_API_KEY_ED25519",
  "CREDENTIAL_TYPE_OTP_AUTH_KEY_P256",
  "CREDENTIAL_TYPE_READ_WRITE_SESSION_KEY_P256",
  "CREDENTIAL_TYPE_OAUTH_KEY_P256",
  "CREDENTIAL_TYPE_LOGIN",
] as const;
export type CredentialType = (typeof credentialTypes)[number];

export const authenticatorTransports = [
  "AUTHENTICATOR_TRANSPORT_BLE",
  "AUTHENTICATOR_TRANSPORT_INTERNAL",
  "AUTHENTICATOR_TRANSPORT_NFC",
  "AUTHENTICATOR_TRANSPORT_USB",
  "AUTHENTICATOR_TRANSPORT_HYBRID",
] as const;

export const Credential = Type.Object(
  {
    publicKey: Type.String(),
    type: OneOf(credentialTypes),
    sessionProfileId: Type.Optional(Type.String()),
  },
  { $id: "Credential" },
);

export const ApiKey = Type.Object(
  {
    credential: Credential,
    apiKeyId: Type.String(),
    apiKeyName: Type.String(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    expirationSeconds: Type.Optional(Type.String()),
  },
  { $id: "ApiKey" },
);

export const Authenticator = Type.Object(
  {
    transports: Type.Array(OneOf(authenticatorTransports)),
    attestationType: Type.String(),
    aaguid: Type.String(),
    credentialId: Type.String(),
    model: Type.String(),
    credential: Credential,
    authenticatorId: Type.String(),
    authenticatorName: Type.String(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { $id: "Authenticator" },
);

export const OauthProvider = Type.Object(
  {
    providerId: Type.String(),
    providerName: Type.String(),
    issuer: Type.String(),
    audience: Type.String(),
    subject: Type.String(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { $id: "OauthProvider" },
);

export const RequiredMethods = Type.Array(
  Type.Object({
    any: Type.Array(Type.Object({ type: OneOf(authenticationTypes), id: Type.Optional(Type.String()) })),
  }),
);

export const MfaPolicy = Type.Object(
  {
    mfaPolicyId: Type.String(),
    mfaPolicyName: Type.String(),
    condition: Type.String(),
    requiredAuthenticationMethods: RequiredMethods,
    order: Type.Integer(),
    notes: Type.Optional(Type.String()),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { $id: "MfaPolicy" },
);
export type MfaPolicy = Static<typeof MfaPolicy>;

export const User = Type.Object(
  {
    userId: Type.String(),
    userName: Type.String(),
    userEmail: Type.Optional(Type.String()),
    userPhoneNumber: Type.Optional(Type.String()),
    authenticators: Type.Array(Authenticator),
    apiKeys: Type.Array(ApiKey),
    userTags: Type.Array(Type.String()),
    oauthProviders: Type.Array(OauthProvider),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    mfaPolicies: Type.Array(MfaPolicy),
  },
  { $id: "User" },
);
export type User = Static<typeof User>;
export type ApiKey = Static<typeof ApiKey>;
export type Authenticator = Static<typeof Authenticator>;
export type OauthProvider = Static<typeof OauthProvider>;
