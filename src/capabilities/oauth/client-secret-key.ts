import { publishedPoints, type ServiceKeyKind } from "../../engine/keys/service-keys.ts";
import { WEEK_MS } from "../../kernel/durations.ts";

/** The key that clients encrypt OAuth 2.0 client secrets to. */
export const clientSecretKey: ServiceKeyKind = {
  purpose: "tlsFetcherEncrypt",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: WEEK_MS,
  // As `encryptOauth2ClientSecret` of the published SDK takes one in place of the one that it knows.
  publish: (read, now) => publishedPoints(read, clientSecretKey, now),
};
