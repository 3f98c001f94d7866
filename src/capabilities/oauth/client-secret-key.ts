import { publishedPoints, type ServiceKeyKind } from "../../engine/keys/service-keys.ts";
import { WEEK_MS } from "../../kernel/durations.ts";

/** The key to which clients encrypt OAuth 2.0 client secrets. */
export const clientSecretKey: ServiceKeyKind = {
  purpose: "tlsFetcherEncrypt",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: WEEK_MS,
  // The form in which `encryptOauth2ClientSecret` of the published SDK accepts a key in place of its built-in one.
  publish: (read, now) => publishedPoints(read, clientSecretKey, now),
};
