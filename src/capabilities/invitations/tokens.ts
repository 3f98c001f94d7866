import { createHash, randomBytes } from "node:crypto";

/** Enough random bytes that nobody can guess a token, so it is enough to store a plain hash. */
const TOKEN_BYTES = 32;

/** A token for accepting an invitation. It contains the ids of the organization and the invitation, so that a page needs nothing else. */
export const newToken = (organizationId: string, invitationId: string): string =>
  [organizationId, invitationId, randomBytes(TOKEN_BYTES).toString("base64url")].join(".");

/** The SHA-256 in hex. Only this is stored. */
export const hashOfToken = (token: string): string => createHash("sha256").update(token).digest("hex");
