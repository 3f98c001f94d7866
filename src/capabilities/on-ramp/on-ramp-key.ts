import { publishedServiceKeys, type ServiceKeyKind } from "../../engine/keys/service-keys.ts";
import { WEEK_MS } from "../../kernel/durations.ts";

/** The key that clients encrypt the secrets of on-ramp providers to. */
export const onRampKey: ServiceKeyKind = {
  purpose: "onRamp",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: WEEK_MS,
  // Compressed: `encryptOnRampSecret` of the published SDK takes one in this form in place of the one that it knows.
  publish: async (read, now) =>
    (await publishedServiceKeys(read, onRampKey, now)).map(({ id, publicKey }) => ({ keyId: id, publicKey })),
};
