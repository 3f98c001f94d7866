import { fail } from "../../kernel/errors.ts";
import type { Draft } from "../view.ts";
import { addApiKeys, expiryOf, type NewApiKey } from "./credentials.ts";

/**
 * Adds the key of a session. A user's own key of the same type gives way to a new session with it, and where it is asked for all
 * their other keys of that type do; the votes given with them stand.
 *
 * @throws KeysteadError as `addApiKeys`; `field` is where the key stands in the request
 */
export function addSessionKey(
  draft: Draft,
  { userId, key, invalidateExisting }: { userId: string; key: NewApiKey; invalidateExisting: boolean },
  now: number,
  field: string,
): void {
  const ofType = draft.part("apiKeys", userId).filter(({ type }) => type === key.type);
  const giveWay = ofType.filter(({ publicKey }) => invalidateExisting || publicKey === key.publicKey);
  if (giveWay.length > 0) draft.apply({ do: "removeApiKeys", userId, apiKeys: giveWay, takesVotesBack: false, now });
  addApiKeys(draft, userId, [key], now, field);
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
  if (!used || (expiryOf(used) ?? now + 1) <= now) {
    fail("PERMISSION_DENIED", { reason: `The key ${keyId} that it was asked with has expired or is gone.` });
  }
  draft.apply({ do: "removeApiKeys", userId, apiKeys, takesVotesBack: false, now });
}
