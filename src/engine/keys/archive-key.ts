import { publishedCompressed, type ServiceKeyKind } from "./service-keys.ts";

/** The key that signs archives of activities. A retired key stays published forever, because archives may be kept that long. */
export const archiveKey: ServiceKeyKind = {
  purpose: "archive",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: Number.MAX_SAFE_INTEGER,
  publish: (read, now) => publishedCompressed(read, archiveKey, now),
};
