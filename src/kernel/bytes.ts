const HEX = /^(?:[0-9a-fA-F]{2})*$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Bytes of an even number of hex digits of either case without prefix, or undefined. */
export function bytesFromHex(text: string): Buffer | undefined {
  return HEX.test(text) ? Buffer.from(text, "hex") : undefined;
}

/** Lowercase hex without prefix. */
export function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex");
}

/** Bytes of unpadded base64url (RFC 4648 section 5) in its one canonical spelling, or undefined. */
export function bytesFromBase64Url(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64url");
  // Whatever the decoder ignores or accepts besides would not be written again.
  return bytes.toString("base64url") === text ? bytes : undefined;
}

/** Bytes of base64 or base64url, padded or not, or undefined. Clients in several languages write different ones. */
export function bytesFromAnyBase64(text: string): Buffer | undefined {
  const standard = text.replaceAll("-", "+").replaceAll("_", "/");
  if (!BASE64.test(standard)) return undefined;
  const unpadded = standard.replace(/=+$/, "");
  if (unpadded.length % 4 === 1) return undefined;
  if (standard !== unpadded && standard.length % 4 !== 0) return undefined;
  return Buffer.from(unpadded, "base64");
}

/** Overwrites secret bytes. JavaScript cannot promise that no copy was made elsewhere. */
export function wipe(...secrets: Uint8Array[]): void {
  for (const secret of secrets) secret.fill(0);
}
