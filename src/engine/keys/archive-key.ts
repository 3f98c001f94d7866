import type { Reader } from "../../storage/engine.ts";
import { publishedServiceKeys, type ServiceKeyKind } from "./service-keys.ts";

/** What archives of activities are signed with. One that was retired stays published for as long as anybody keeps archives. */
export const archiveKey: ServiceKeyKind = {
  purpose: "archive",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: Number.MAX_SAFE_INTEGER,
  publish: async (read: Reader, now: number) => {
    const keys = await publishedServiceKeys(read, archiveKey, now);
    return keys.map(({ id, publicKey }) => ({ keyId: id, publicKey, algorithm: "p256" }));
  },
};
