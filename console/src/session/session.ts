import { type Api, createApi, type Send } from "../api/api.ts";
import type { Schemas } from "../api/operations.gen.ts";
import { problemOf } from "../api/problem.ts";
import { clearUnclaimedKey, keptKey, withNewKey } from "./own-key.ts";
import { forget, readRemembered, remember } from "./remembered.ts";

/** Who is signed in, and what stamps for them. */
export interface Session {
  organizationId: string;
  organizationName: string;
  userId: string;
  userName: string;
  /** Of a key that was made here and is kept in this browser; without it the key was given as text, for this tab. */
  ownKey?: { publicKey: string /** Milliseconds. */; expiresAt: number };
  api: Api;
  /** Stamps bytes that somebody sends from elsewhere. */
  stamp: Stamper["stamp"];
}

/** The header that goes with exactly those bytes. */
interface Stamper {
  stamp(body: string): Promise<{ stampHeaderName: string; stampHeaderValue: string }>;
}

/** What the first start writes as `credentials.json`, as far as the console needs it. */
export interface Credentials {
  organizationId: string;
  apiKey: { publicKey: string; privateKey: string };
}

/** How long a key that a passkey vouched for stamps requests. */
const LOGIN_SECONDS = 8 * 3600;

/** @throws Error in words for whoever gave the text */
export function parseCredentials(text: string): Credentials {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error("This is not JSON. Give the whole of `credentials.json`, from its first brace to its last.");
  }
  const { organizationId, apiKey } = (value ?? {}) as Partial<Record<keyof Credentials, unknown>>;
  const { publicKey, privateKey } = (apiKey ?? {}) as Record<string, unknown>;
  if (typeof organizationId !== "string") throw new Error("`organizationId` is missing.");
  if (typeof publicKey !== "string" || !/^0[23][0-9a-f]{64}$/i.test(publicKey)) {
    throw new Error("`apiKey.publicKey` must be a compressed P-256 key: 66 hex digits, beginning with 02 or 03.");
  }
  if (typeof privateKey !== "string" || !/^[0-9a-f]{64}$/i.test(privateKey)) {
    throw new Error("`apiKey.privateKey` must be 64 hex digits.");
  }
  return { organizationId, apiKey: { publicKey, privateKey } };
}

const publishedClient = () => import("../api/published-client.ts");

async function sendWith(stamper: Stamper): Promise<Send> {
  const { TurnkeyClient } = await publishedClient();
  const client = new TurnkeyClient({ baseUrl: location.origin }, stamper);
  return (path, body) => client.request(path, body);
}

/** Asks who that is; so a credential that does not serve is found at once. */
async function identify(organizationId: string, stamper: Stamper): Promise<Session> {
  const send = await sendWith(stamper);
  const who = await createApi(organizationId, send).query("whoami", {});
  return {
    organizationId: who.organizationId,
    organizationName: who.organizationName,
    userId: who.userId,
    userName: who.username,
    api: createApi(who.organizationId, send),
    stamp: (body) => stamper.stamp(body),
  };
}

/** With an API key whose private half stays in the memory of this tab, and is gone when it is closed or loaded anew. */
export async function signInWithKey({ organizationId, apiKey }: Credentials): Promise<Session> {
  const { ApiKeyStamper } = await publishedClient();
  const stamper = new ApiKeyStamper({ apiPublicKey: apiKey.publicKey, apiPrivateKey: apiKey.privateKey });
  return identify(organizationId, stamper);
}

/**
 * The passkey is asked once: it stamps a `stamp_login` for a key that was made here and cannot be taken out of this browser. That
 * one stamps what follows.
 */
export async function signInWithPasskey(organizationId: string): Promise<Session> {
  const { WebauthnStamper } = await publishedClient();
  const send = await sendWith(new WebauthnStamper({ rpId: location.hostname }));
  return withNewKey(async (key) => {
    const publicKey = key.getPublicKey() as string;
    const expirationSeconds = String(LOGIN_SECONDS);
    const login = await createApi(organizationId, send).submit("stamp_login", { publicKey, expirationSeconds });
    if (login.result === undefined) {
      throw new Error(
        "By your organization's policies, signing in waits for approvals of others. Each try is a new request, so sign in with an API key instead, or ask for a policy that lets you do ACTIVITY_TYPE_STAMP_LOGIN alone.",
      );
    }
    const expiresAt = Date.now() + LOGIN_SECONDS * 1000;
    // Given with the parent's id, the organization is the one that the credential is of.
    const session = await identify(organizationId, key);
    remember({ organizationId: session.organizationId, expiresAt, publicKey });
    return { ...session, ownKey: { publicKey, expiresAt } };
  });
}

/** The login of an earlier visit, where its key still serves. */
export async function resumeSession(): Promise<Session | undefined> {
  const remembered = readRemembered();
  if (!remembered) return undefined;
  const { organizationId, publicKey, expiresAt } = remembered;
  const key = await keptKey(publicKey);
  if (!key) {
    forget(publicKey);
    return undefined;
  }
  try {
    return { ...(await identify(organizationId, key)), ownKey: { publicKey, expiresAt } };
  } catch (error) {
    // A server that does not answer has refused nothing.
    if (problemOf(error).isSignedOut) forget(publicKey);
    throw error;
  }
}

/**
 * Of a passkey's login. Here first, so that whoever opens the page from then on is nobody, whatever the server answers; there its key
 * is deleted by the key itself, which this session still has. Another tab's login is left alone.
 */
export async function signOut(session: Session): Promise<void> {
  if (!session.ownKey) return;
  const { publicKey } = session.ownKey;
  forget(publicKey);
  await Promise.allSettled([deleteAtServer(session, publicKey), clearUnclaimedKey()]);
}

async function deleteAtServer({ api, userId }: Session, publicKey: string): Promise<void> {
  const { user } = await api.query("get_user", { userId });
  const own = (key: Schemas["ApiKey"]) => key.credential.publicKey === publicKey;
  const apiKeyIds = user.apiKeys.filter(own).map(({ apiKeyId }) => apiKeyId);
  if (apiKeyIds.length > 0) await api.submit("delete_api_keys", { userId, apiKeyIds });
}
