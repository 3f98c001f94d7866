import { Type } from "typebox";
import { OneOf } from "../../engine/fields.ts";

const featureNames = [
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

export const RootQuorum = Type.Object(
  { threshold: Type.Integer(), userIds: Type.Array(Type.String()) },
  { $id: "RootQuorum" },
);
