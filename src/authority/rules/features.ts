import { fail } from "../../kernel/errors.ts";
import { ALL } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";

/** Enabled in every new organization; the others must be enabled explicitly. */
const DEFAULT_FEATURES: readonly string[] = ["FEATURE_NAME_EMAIL_AUTH", "FEATURE_NAME_OTP_EMAIL_AUTH"];
/** Also enabled in new sub-organizations, whose users sign in by contacts; a parent's users are its staff. */
const SUB_ORGANIZATION_FEATURES: readonly string[] = [
  ...DEFAULT_FEATURES,
  "FEATURE_NAME_EMAIL_RECOVERY",
  "FEATURE_NAME_SMS_AUTH",
];

/** The features that a new organization starts with, without values. */
export const featuresAtFirst = (parentId: string | null): readonly string[] =>
  parentId === null ? DEFAULT_FEATURES : SUB_ORGANIZATION_FEATURES;

/** The members of a request for a sub-organization that disable features. */
export interface DisabledFeatures {
  disableEmailRecovery?: boolean;
  disableEmailAuth?: boolean;
  disableSmsAuth?: boolean;
  disableOtpEmailAuth?: boolean;
}

/** The features that a new sub-organization is created without. */
export function disabledFeatures(intent: DisabledFeatures): string[] {
  const named = {
    FEATURE_NAME_EMAIL_RECOVERY: intent.disableEmailRecovery,
    FEATURE_NAME_EMAIL_AUTH: intent.disableEmailAuth,
    FEATURE_NAME_SMS_AUTH: intent.disableSmsAuth,
    FEATURE_NAME_OTP_EMAIL_AUTH: intent.disableOtpEmailAuth,
  };
  return Object.entries(named).flatMap(([name, disabled]) => (disabled === true ? [name] : []));
}

/** @throws KeysteadError FEATURE_OFF */
export function requireFeature(view: AuthorityView, name: string): void {
  if (!isOn(view, name)) fail("FEATURE_OFF", { name, organizationId: view.organizationId });
}

/** @throws KeysteadError RESOURCE_NOT_FOUND if it is not enabled */
export function removeFeature(draft: Draft, name: string): void {
  const { organizationId } = draft;
  if (!isOn(draft, name)) fail("RESOURCE_NOT_FOUND", { kind: "feature", id: name, organizationId });
  draft.apply({ do: "removeFeature", name });
}

const isOn = (view: AuthorityView, name: string): boolean =>
  view.part("features", ALL).some((feature) => feature.name === name);
