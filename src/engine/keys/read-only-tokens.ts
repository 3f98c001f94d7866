import { Type } from "typebox";
import { READ_ONLY_HEADER, type ReadOnlyClaims } from "../../signer/statements.ts";
import type { Reader } from "../../storage/engine.ts";
import type { ServiceSigner } from "./service-keys.ts";
import { sessionKey } from "./session-tokens.ts";
import { claimsOf, openToken, signToken } from "./signed-tokens.ts";

/** Tokens of read-only sessions: opaque to clients, signed by the installation, and valid as long as the credential that created them. */

export type { ReadOnlyClaims };

const Claims = Type.Object({
  organizationId: Type.String(),
  userId: Type.String(),
  with: Type.Union([Type.Literal("apiKey"), Type.Literal("passkey")]),
  key: Type.String(),
  credentialId: Type.String(),
  expiresAt: Type.Integer(),
});

export const signReadOnlyToken = (signer: ServiceSigner, claims: ReadOnlyClaims): Promise<string> =>
  signToken(signer, sessionKey, () => ({ says: "readOnlySession", claims }));

/** The claims of a token, without verifying its signature; undefined for other text. */
export const readOnlyClaimsOf = (token: string): ReadOnlyClaims | undefined =>
  claimsOf(token, READ_ONLY_HEADER, Claims);

/** The claims of a token signed by this installation, even if it expired. Retired keys stay published for much longer than tokens live. */
export const openReadOnlyToken = (read: Reader, token: string, now: number): Promise<ReadOnlyClaims | undefined> =>
  openToken(read, { kind: sessionKey, header: READ_ONLY_HEADER, claims: Claims }, token, now);
