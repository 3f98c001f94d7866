import { createHash } from "node:crypto";

/**
 * The nonce that binds an OIDC token to a public key: the lowercase hex SHA-256 of the key's hex text exactly as it was sent, not of the
 * bytes.
 */
export const nonceOfPublicKey = (publicKey: string): string => createHash("sha256").update(publicKey).digest("hex");
