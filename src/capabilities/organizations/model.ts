import { type Static, Type } from "typebox";
import { parseOrigins } from "../../crypto/webauthn-data.ts";
import { OneOf } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";

export const featureNames = [
  "FEATURE_NAME_ROOT_USER_EMAIL_RECOVERY",
  "FEATURE_NAME_WEBAUTHN_ORIGINS",
  "FEATURE_NAME_EMAIL_AUTH",
  "FEATURE_NAME_EMAIL_RECOVERY",
  "FEATURE_NAME_WEBHOOK",
  "FEATURE_NAME_SMS_AUTH",
  "FEATURE_NAME_OTP_EMAIL_AUTH",
  "FEATURE_NAME_AUTH_PROXY",
  "FEATURE_NAME_SOLANA_RENT_PREFUND_ENABLED",
  "FEATURE_NAME_SWAP_CONFIG",
  "FEATURE_NAME_EARN_CONFIG",
] as const;
export type FeatureName = (typeof featureNames)[number];

export const Feature = Type.Object(
  { name: Type.Optional(OneOf(featureNames)), value: Type.Optional(Type.String()) },
  { $id: "Feature" },
);
export type Feature = Static<typeof Feature>;

/** Features in the form of responses. */
export const shownFeatures = (features: readonly { name: string; value: string | null }[]): Feature[] =>
  features.map(({ name, value }) => ({ name: name as FeatureName, ...(value === null ? {} : { value }) }));

/** @throws KeysteadError FIELD_INVALID for a value that the feature cannot work with */
export function checkFeature(name: FeatureName, value: string | undefined): void {
  const refuse = (field: string, reason: string) => fail("FIELD_INVALID", { field: `parameters.${field}`, reason });
  if (name === "FEATURE_NAME_WEBHOOK") {
    refuse("name", "is not a feature of this server; create an endpoint with create_webhook_endpoint instead");
  }
  if (name === "FEATURE_NAME_WEBAUTHN_ORIGINS" && !parseOrigins(value ?? "")) {
    refuse("value", "must be the origins of your pages, such as https://app.example.com, separated by commas");
  }
}

export const RootQuorum = Type.Object(
  { threshold: Type.Integer(), userIds: Type.Array(Type.String()) },
  { $id: "RootQuorum" },
);
