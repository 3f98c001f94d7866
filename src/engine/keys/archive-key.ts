import { publishedCompressed, type ServiceKeyKind } from "./service-keys.ts";

/** What archives of activities are signed with. One that was retired stays published for as long as anybody keeps archives. */
export const archiveKey: ServiceKeyKind = {
  purpose: "archive",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: Number.MAX_SAFE_INTEGER,
  publish: (read, now) => publishedCompressed(read, archiveKey, now),
};
