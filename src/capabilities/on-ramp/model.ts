import { type Static, Type } from "typebox";
import { credentialBundleLength } from "../../crypto/bundles.ts";
import { OneOf, Timestamp } from "../../engine/fields.ts";
import { MAX_LABEL_LENGTH, MAX_ON_RAMP_SECRET_BYTES } from "../../kernel/limits.ts";
import { onRampProviders } from "../../providers/on-ramp/offers.ts";

export const Provider = OneOf(onRampProviders);

const Name = (what: string, minLength: number) =>
  Type.String({
    minLength,
    maxLength: MAX_LABEL_LENGTH,
    pattern: "^[\\x21-\\x7e]*$",
    description: `${what}: printable ASCII characters without spaces`,
  });

const Bundle = (minLength: number) =>
  Type.String({
    minLength,
    maxLength: credentialBundleLength(MAX_ON_RAMP_SECRET_BYTES),
    pattern: "^[1-9A-HJ-NP-Za-km-z]*$",
    description: "base58: the result of `encryptOnRampSecret`",
  });

/** The organization's account at a provider, in the form of requests. In optional fields, '' means absent. */
export const credentialFields = {
  onrampProvider: Provider,
  projectId: Type.Optional(Name("a project's id", 0)),
  publishableApiKey: Name("a publishable key", 1),
  encryptedSecretApiKey: Bundle(1),
  encryptedPrivateApiKey: Type.Optional(Bundle(0)),
};
export type CredentialFields = Static<ReturnType<typeof fieldsObject>>;
const fieldsObject = () => Type.Object(credentialFields);

export const FiatOnRampCredential = Type.Object(
  {
    fiatOnrampCredentialId: Type.String(),
    organizationId: Type.String(),
    onrampProvider: Provider,
    projectId: Type.Optional(Type.String()),
    publishableApiKey: Type.String(),
    encryptedSecretApiKey: Type.String(),
    encryptedPrivateApiKey: Type.Optional(Type.String()),
    sandboxMode: Type.Optional(Type.Boolean()),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { $id: "FiatOnRampCredential" },
);
export type FiatOnRampCredential = Static<typeof FiatOnRampCredential>;
