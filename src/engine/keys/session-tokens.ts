import { DAY_MS } from "../../kernel/durations.ts";
import type { SessionClaims } from "../../signer/statements.ts";
import { publishedPoints, type ServiceKeyKind, type ServiceSigner } from "./service-keys.ts";
import { signToken } from "./signed-tokens.ts";

/** Tokens that describe sessions to clients. */

/** The key that session tokens are signed with. */
export const sessionKey: ServiceKeyKind = {
  purpose: "session",
  curve: "CURVE_P256",
  // Longer than clients keep a token without renewing it.
  publishedAfterRetirementMs: 30 * DAY_MS,
  publish: (read, now) => publishedPoints(read, sessionKey, now),
};

/** A token (ES256) in the form that the published `verifySessionJwtSignature` takes: the signature is over a double SHA-256. */
export const signSessionToken = (signer: ServiceSigner, claims: SessionClaims): Promise<string> =>
  signToken(signer, sessionKey, () => ({ says: "session", claims }));
