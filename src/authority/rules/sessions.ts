import { fail } from "../../kernel/errors.ts";
import { attestedTypes, isContact } from "../attested.ts";
import type { CredentialRef } from "../parties.ts";
import type { Grade } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";
import { addApiKeys, hasExpired, type NewApiKey } from "./credentials.ts";

/** How long a session lasts that does not say so. */
const DEFAULT_SESSION_SECONDS = 900;

/** How long a session lasts; the time of its profile, `bound`, is a bound on the one that is asked for. */
export const sessionSeconds = (asked: number | undefined, bound?: number): number =>
  Math.min(asked ?? bound ?? DEFAULT_SESSION_SECONDS, bound ?? Number.POSITIVE_INFINITY);

/**
 * What a session asks for that is limited to a profile: another session with that profile. Nobody is rid of a limit by signing in again.
 *
 * @throws KeysteadError FIELD_INVALID for another profile
 */
export function withProfileOf<Asked extends { sessionProfileId?: string }>(
  asked: Asked,
  { sessionProfileId }: CredentialRef,
): Asked {
  if (sessionProfileId === undefined || asked.sessionProfileId === sessionProfileId) return asked;
  if (asked.sessionProfileId === undefined) return { ...asked, sessionProfileId };
  const reason = `must be absent or ${sessionProfileId}, the profile of the session that asks`;
  return fail("FIELD_INVALID", { field: "parameters.sessionProfileId", reason });
}

/**
 * For a sign-in whose sessions have no profile.
 *
 * @throws KeysteadError PERMISSION_DENIED for a session that is limited to one
 */
export function refuseLimited({ sessionProfileId }: CredentialRef): void {
  if (sessionProfileId === undefined) return;
  const reason = "A session that is limited to a profile would be rid of it so. Ask for another by stamp_login.";
  fail("PERMISSION_DENIED", { reason });
}

/**
 * Adds the key of a session. A user's own key of the same type gives way to a new session with it, and where it is asked for all
 * their other keys of that type do; the votes given with them stand.
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
  if (giveWay.length > 0) draft.apply({ do: "removeApiKeys", userId, apiKeys: giveWay, takesVotesBack: false, now });
  addApiKeys(draft, userId, [key], now, () => "parameters");
}

/**
 * How a key was got that a stamp by this credential of the user's asked for: by what a token attested, or else by a stamp, but by no
 * better one than the stamping key was got itself. Of a key that is gone nobody knows any more.
 */
export function gradeByStamp(view: AuthorityView, userId: string, { id, type }: CredentialRef): Grade {
  if (type === attestedTypes.OAUTH) return "oidc";
  if (isContact(type)) return "otp";
  if (type === "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR") return "stamp";
  const key = view.part("apiKeys", userId).find((each) => each.id === id);
  return key ? (key.grade ?? "stamp") : "server";
}

/**
 * Takes the keys of one type from a user, of which one has served the purpose of all of them.
 *
 * @throws KeysteadError PERMISSION_DENIED unless that one is still there and alive: it may have been shown long before
 */
export function useUpKeys(
  draft: Draft,
  { userId, type, keyId }: { userId: string; type: string; keyId: string },
  now: number,
): void {
  const apiKeys = draft.part("apiKeys", userId).filter((key) => key.type === type);
  const used = apiKeys.find(({ id }) => id === keyId);
  if (!used || hasExpired(used, now)) {
    fail("PERMISSION_DENIED", { reason: `The key ${keyId} that it was asked with has expired or is gone.` });
  }
  draft.apply({ do: "removeApiKeys", userId, apiKeys, takesVotesBack: false, now });
}
