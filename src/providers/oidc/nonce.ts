import { createHash } from "node:crypto";

/**
 * The nonce by which an OIDC token is bound to a public key: the lowercase hex SHA-256 of the key's hex as it was sent, letter
 * by letter, and not of the bytes that it stands for.
 */
export const nonceOfPublicKey = (publicKey: string): string => createHash("sha256").update(publicKey).digest("hex");
