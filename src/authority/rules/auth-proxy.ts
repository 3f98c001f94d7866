import type { Draft } from "../view.ts";
import { addApiKeys } from "./credentials.ts";
import { addUser } from "./users.ts";

/** The user in whose name an organization's auth proxy acts, and its one key. */

export interface ProxyUser {
  /** Of the user who acted before, if there was one. */
  knownId: string | undefined;
  /** Of the one who is made if nobody is there. */
  freshId: string;
  apiKey: { id: string; publicKey: string };
}

const NAME = "Auth proxy";

/** Gives the proxy's user a key; a user who was deleted meanwhile is made anew. Answers who it is. */
export function enableProxyUser(draft: Draft, { knownId, freshId, apiKey }: ProxyUser, now: number): string {
  const key = {
    ...apiKey,
    name: NAME,
    type: "CREDENTIAL_TYPE_API_KEY_P256",
    sessionProfileId: null,
    grade: "server" as const,
    expirationSeconds: null,
  };
  if (knownId !== undefined && draft.part("user", knownId)) {
    addApiKeys(draft, knownId, [key], now, "parameters");
    return knownId;
  }
  const user = { id: freshId, name: NAME, apiKeys: [key], authenticators: [], oauthProviders: [], tagIds: [] };
  addUser(draft, user, now, "parameters");
  return freshId;
}
