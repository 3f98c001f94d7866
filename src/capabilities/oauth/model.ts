import { type Static, Type } from "typebox";
import { quorumEnvelopeBytes } from "../../crypto/quorum-encryption.ts";
import { OneOf, Timestamp } from "../../engine/fields.ts";
import { MAX_CLIENT_SECRET_BYTES, MAX_LABEL_LENGTH } from "../../kernel/limits.ts";
import { oauth2Providers } from "../../providers/oauth2/providers.ts";

const Provider = OneOf(oauth2Providers);

/** The organization's client at a provider, in the form of requests. */
export const credentialFields = {
  provider: Provider,
  clientId: Type.String({
    minLength: 1,
    maxLength: MAX_LABEL_LENGTH,
    pattern: "^[\\x21-\\x7e]+$",
    description: "a client ID: printable ASCII characters without spaces",
  }),
  encryptedClientSecret: Type.String({
    maxLength: 2 * quorumEnvelopeBytes(MAX_CLIENT_SECRET_BYTES),
    pattern: "^([0-9a-fA-F]{2})+$",
    description: "an even number of hex digits: the result of `encryptOauth2ClientSecret`",
  }),
};

export const Oauth2Credential = Type.Object(
  {
    oauth2CredentialId: Type.String(),
    organizationId: Type.String(),
    provider: Provider,
    clientId: Type.String(),
    encryptedClientSecret: Type.String(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { $id: "Oauth2Credential" },
);
export type Oauth2Credential = Static<typeof Oauth2Credential>;
