import type { Draft } from "../view.ts";
import { addApiKeys } from "./credentials.ts";
import { addUser } from "./users.ts";

/** The user as whom an organization's auth proxy acts, and its key. */

export interface ProxyUser {
  /** The id of the existing user, if there is one. */
  knownId: string | undefined;
  /** The id for a new user, if there is none. */
  freshId: string;
  apiKey: { id: string; publicKey: string };
}

const NAME = "Auth proxy";

/** Adds a key to the proxy's user, who is created again if deleted. Returns the user's id. */
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
