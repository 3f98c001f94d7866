import { fail } from "../../kernel/errors.ts";
import { attestedTypes, isContact } from "../attested.ts";
import type { CredentialRef } from "../parties.ts";
import type { Grade } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";
import { addApiKeys, hasExpired, type NewApiKey } from "./credentials.ts";

/** The default life of a session. */
const DEFAULT_SESSION_SECONDS = 900;

/** The life of a session: the requested one, limited by that of its profile, `bound`. */
export const sessionSeconds = (asked: number | undefined, bound?: number): number =>
  Math.min(asked ?? bound ?? DEFAULT_SESSION_SECONDS, bound ?? Number.POSITIVE_INFINITY);

/**
 * The request of a session that is limited to a profile, completed by that profile: a new session cannot escape the limit.
 *
 * @throws KeysteadError FIELD_INVALID if the request names another profile
 */
export function withProfileOf<Asked extends { sessionProfileId?: string }>(
  asked: Asked,
  { sessionProfileId }: CredentialRef,
): Asked {
  if (sessionProfileId === undefined || asked.sessionProfileId === sessionProfileId) return asked;
  if (asked.sessionProfileId === undefined) return { ...asked, sessionProfileId };
  const reason = `must be absent or ${sessionProfileId}, the profile of the session that sends the request`;
  return fail("FIELD_INVALID", { field: "parameters.sessionProfileId", reason });
}

/**
 * Refuses sessions that are limited to a profile, for sign-ins whose sessions cannot have one.
 *
 * @throws KeysteadError PERMISSION_DENIED
 */
export function refuseLimited({ sessionProfileId }: CredentialRef): void {
  if (sessionProfileId === undefined) return;
  const reason =
    "A session that is limited to a profile could escape the limits this way. Create another one with stamp_login.";
  fail("PERMISSION_DENIED", { reason });
}

/**
 * Adds the key of a session. It replaces the user's own key with the same public key and type, and on request all their other keys of that
 * type. Votes made with replaced keys keep counting.
 *
 * @throws KeysteadError as `addApiKeys`; the key is the request's own `publicKey`
 */
export function addSessionKey(
  draft: Draft,
  { userId, key, invalidateExisting }: { userId: string; key: NewApiKey; invalidateExisting: boolean },
  now: number,
): void {
  const ofType = draft.part("apiKeys", userId).filter(({ type }) => type === key.type);
  const giveWay = ofType.filter(({ publicKey }) => invalidateExisting || publicKey === key.publicKey);
  if (giveWay.length > 0) draft.apply({ do: "removeApiKeys", userId, apiKeys: giveWay, revokesVotes: false, now });
  addApiKeys(draft, userId, [key], now, () => "parameters");
}

/**
 * The grade of a key that was requested with a stamp by this credential: that of the token that attested it, or otherwise "stamp", but never
 * a better grade than the stamping key's own. The grade of a deleted key is not known.
 */
export function gradeByStamp(view: AuthorityView, userId: string, { id, type }: CredentialRef): Grade {
  if (type === attestedTypes.OAUTH) return "oidc";
  if (isContact(type)) return "otp";
  if (type === "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR") return "stamp";
  const key = view.part("apiKeys", userId).find((each) => each.id === id);
  return key ? (key.grade ?? "stamp") : "server";
}

/**
 * Removes all keys of one type from a user after one of them was used for their common purpose.
 *
 * @throws KeysteadError PERMISSION_DENIED if that key was deleted or has expired: the activity may have waited since it was stamped
 */
export function useUpKeys(
  draft: Draft,
  { userId, type, keyId }: { userId: string; type: string; keyId: string },
  now: number,
): void {
  const apiKeys = draft.part("apiKeys", userId).filter((key) => key.type === type);
  const used = apiKeys.find(({ id }) => id === keyId);
  if (!used || hasExpired(used, now)) {
    fail("PERMISSION_DENIED", { reason: `The key ${keyId} that submitted it has expired or was deleted.` });
  }
  draft.apply({ do: "removeApiKeys", userId, apiKeys, revokesVotes: false, now });
}
