import type { Draft } from "../view.ts";
import { addApiKeys, type NewApiKey } from "./credentials.ts";

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
