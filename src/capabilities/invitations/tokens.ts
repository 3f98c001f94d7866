import { createHash, randomBytes } from "node:crypto";

/** Bytes that nobody guesses; so a plain hash of the token is enough to keep. */
const TOKEN_BYTES = 32;

/** What an invitation is accepted with. It says which invitation of which organization it is for, so that a page needs no more. */
export const newToken = (organizationId: string, invitationId: string): string =>
  [organizationId, invitationId, randomBytes(TOKEN_BYTES).toString("base64url")].join(".");

/** Hex of the SHA-256, which is all that is stored. */
export const hashOfToken = (token: string): string => createHash("sha256").update(token).digest("hex");
