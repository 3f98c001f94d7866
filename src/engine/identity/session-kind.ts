import { isOver } from "../../authority/rules/credentials.ts";
import { fail } from "../../kernel/errors.ts";
import { openReadOnlyToken, type ReadOnlyClaims, readOnlyClaimsOf } from "../keys/read-only-tokens.ts";
import { apiKeyKind } from "./api-key-kind.ts";
import { type AnyCredentialKind, credentialKind, type Holder } from "./credential-kind.ts";
import { passkeyKind } from "./passkey-kind.ts";

interface Session {
  token: string;
  claims: ReadOnlyClaims;
}

/** The holder of the credential that created the session. The session ends with that credential. */
interface SessionHolder extends Holder {
  session: ReadOnlyClaims;
  of: AnyCredentialKind;
}

/** A bearer token that can run queries as its user for an hour. It is not a signature, so it cannot submit activities. */
export const sessionKind = credentialKind<Session, SessionHolder>({
  header: "x-session",
  kindsOfOperations: ["query"],
  decode(token) {
    const claims = readOnlyClaimsOf(token);
    return claims ? { token, claims } : fail("SESSION_INVALID", { reason: "is malformed" });
  },
  keyOf: ({ token }) => token,
  keyName: "read-only session",
  refuseUnknown: () => fail("SESSION_INVALID", { reason: "was not issued here, or its credential was deleted" }),

  async find(read, { key: token, ...lookup }) {
    const session = await openReadOnlyToken(read, token, lookup.now);
    if (!session) return [];
    const of = session.with === "passkey" ? passkeyKind : apiKeyKind;
    const holders = await of.find(read, { ...lookup, key: session.key });
    return holders
      .filter(({ actor }) => actor.credential.id === session.credentialId && actor.userId === session.userId)
      .map((holder) => ({ ...holder, session, of }));
  },

  // The token was verified when its holder was looked up.
  async verify() {},

  refuseLapsed({ session, of, ...holder }, lookup, now) {
    if (isOver(session.expiresAt, now)) fail("SESSION_INVALID", { reason: "has expired" });
    of.refuseLapsed(holder, { ...lookup, key: session.key }, now);
  },

  recordOf: () => ({ publicKey: "", signature: "", scheme: "", assertion: null }),
  noteFirstUse: async () => undefined,
});
