import { publishedServiceKeys, type ServiceKeyKind } from "../../engine/keys/service-keys.ts";
import { WEEK_MS } from "../../kernel/durations.ts";
import type { Reader } from "../../storage/engine.ts";

/** A JSON Web Key Set (RFC 7517, RFC 8037) with the additional members that published verifiers expect. */
export async function webhookKeySet(read: Reader, now: number): Promise<{ keys: Record<string, string>[] }> {
  const keys = await publishedServiceKeys(read, webhookKey, now);
  return {
    keys: keys.map(({ id, publicKey }) => ({
      kid: id,
      kty: "OKP",
      crv: "Ed25519",
      alg: "EdDSA",
      use: "sig",
      x: Buffer.from(publicKey, "hex").toString("base64url"),
      turnkey_signature_algorithm: "ed25519",
      turnkey_signature_version: "v1",
    })),
  };
}

/** The key that signs deliveries. */
export const webhookKey: ServiceKeyKind = {
  purpose: "webhook",
  curve: "CURVE_ED25519",
  publishedAfterRetirementMs: WEEK_MS,
  publish: webhookVerificationKeys,
};

/** The keys in the form that `verifyTurnkeyWebhookSignature` of the published SDK expects. */
async function webhookVerificationKeys(read: Reader, now: number): Promise<Record<string, string>[]> {
  const keys = await publishedServiceKeys(read, webhookKey, now);
  return keys.map(({ id, publicKey }) => ({
    keyId: id,
    publicKey,
    algorithm: "ed25519",
    signatureVersion: "v1",
  }));
}
