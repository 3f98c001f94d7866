import { createHash } from "node:crypto";

/** The identifier of a body: `sha256:` and the lowercase hex of its SHA-256; texts are hashed as UTF-8. */
export const fingerprintOf = (body: Uint8Array | string): string =>
  `sha256:${createHash("sha256").update(body).digest("hex")}`;
