import { decompressPublicKey } from "../../crypto/curves.ts";
import { publishedServiceKeys, type ServiceKeyKind } from "../../engine/keys/service-keys.ts";
import { toHex } from "../../kernel/bytes.ts";
import type { KeyReference } from "../../signer/protocol.ts";
import type { Reader } from "../../storage/engine.ts";

const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

/** The key that clients encrypt OAuth 2.0 client secrets to. */
export const clientSecretKey: ServiceKeyKind = {
  purpose: "tlsFetcherEncrypt",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: WEEK_MS,
  publish: encryptionKeys,
};

/** Each as `encryptOauth2ClientSecret` of the published SDK takes it in place of the one that it knows: uncompressed. */
async function encryptionKeys(read: Reader, now: number): Promise<{ keyId: string; publicKey: string }[]> {
  const keys = await publishedServiceKeys(read, clientSecretKey, now);
  return keys.map(({ id, publicKey }) => ({
    keyId: id,
    publicKey: toHex(decompressPublicKey("CURVE_P256", Buffer.from(publicKey, "hex"))),
  }));
}

/** The keys that a secret may be encrypted to, as the signer takes them. */
export async function clientSecretKeys(read: Reader, now: number): Promise<KeyReference[]> {
  const keys = await publishedServiceKeys(read, clientSecretKey, now);
  return keys.map(({ id, curve, sealedKey }) => ({
    kind: "privateKey",
    keyId: id,
    curve,
    sealedKey: Buffer.from(sealedKey).toString("base64"),
  }));
}
