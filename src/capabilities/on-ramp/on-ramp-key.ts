import { publishedServiceKeys, type ServiceKeyKind } from "../../engine/keys/service-keys.ts";
import { WEEK_MS } from "../../kernel/durations.ts";

/** The key to which clients encrypt the secrets of on-ramp providers. */
export const onRampKey: ServiceKeyKind = {
  purpose: "onRamp",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: WEEK_MS,
  // Compressed: `encryptOnRampSecret` of the published SDK accepts a key in this form in place of its built-in one.
  publish: async (read, now) =>
    (await publishedServiceKeys(read, onRampKey, now)).map(({ id, publicKey }) => ({ keyId: id, publicKey })),
};
