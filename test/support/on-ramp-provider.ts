import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, type KeyObject, randomBytes, randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { decodeProtectedHeader, jwtVerify } from "jose";
import type { Json } from "./client.ts";

/** MoonPay and Coinbase on this machine: they take what their documentation says, and nothing else. */
export interface OnRampProviderOfTests {
  url: string;
  /** What came in: method and path with its query. */
  requests: string[];
  /** The purchases that tokens of Coinbase were given out for, in their order: what was asked, and by whom. */
  sessions: { token: string; keyId: string; body: Json }[];
  /** An account at Coinbase with a key of either kind. */
  coinbaseAccount(kind?: "ES256" | "EdDSA"): CoinbaseAccount;
  /** What a provider knows of a purchase from now on. */
  tell(transactionId: string, transactions: Json[]): void;
  /** What it answers to paths that begin so from now on, in place of its own answer. */
  answer(path: string, reply: RequestListener | undefined): void;
}

export interface CoinbaseAccount {
  keyId: string;
  /** As Coinbase gives it out. */
  privateKey: string;
}

export const MOONPAY_SECRET = "sk_test_a secret of MoonPay".replaceAll(" ", "_");
export const COINBASE_SECRET = "the other secret of Coinbase";

let ofTests: Promise<OnRampProviderOfTests> | undefined;

/** The one of all tests in this process; it ends with it. */
export function onRampProviderOfTests(): Promise<OnRampProviderOfTests> {
  ofTests ??= startProvider();
  return ofTests;
}

async function startProvider(): Promise<OnRampProviderOfTests> {
  const keys = new Map<string, KeyObject>();
  const known = new Map<string, Json[]>();
  const replies = new Map<string, RequestListener>();
  const requests: string[] = [];
  const sessions: OnRampProviderOfTests["sessions"] = [];

  /** Who asks, by a token for this request and no other. */
  const callerOf = async (request: IncomingMessage): Promise<string | undefined> => {
    const token = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
    try {
      const { kid = "", nonce, typ } = decodeProtectedHeader(token) as Record<string, string>;
      const { payload } = await jwtVerify(token, keys.get(kid) as KeyObject, {
        issuer: "cdp",
        subject: kid,
        maxTokenAge: 120,
        requiredClaims: ["exp", "nbf", "iat"],
      });
      const uri = `${request.method} ${request.headers.host}${request.url}`;
      assert.deepEqual([payload.uri, payload.uris, typ], [uri, [uri], "JWT"]);
      assert.equal((payload.exp as number) - (payload.iat as number), 120);
      assert.match(nonce ?? "", /^[0-9a-f]{32}$/);
      return kid;
    } catch {
      return undefined;
    }
  };

  const route = async (request: IncomingMessage): Promise<[number, unknown]> => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://provider");
    if (request.method === "POST" && pathname === "/onramp/v1/token") {
      const keyId = await callerOf(request);
      if (keyId === undefined) return [401, { errorType: "unauthorized" }];
      const body = JSON.parse(await text(request)) as Json;
      const token = randomUUID();
      sessions.push({ token, keyId, body });
      return [200, { token, channel_id: "" }];
    }
    const [, ofUser] = /^\/onramp\/v1\/buy\/user\/([^/]+)\/transactions$/.exec(pathname) ?? [];
    if (request.method === "GET" && ofUser !== undefined) {
      if ((await callerOf(request)) === undefined) return [401, {}];
      const transactions = known.get(ofUser) ?? [];
      return [200, { transactions, nextPageKey: "", totalCount: transactions.length }];
    }
    const [, external] = /^\/v1\/transactions\/ext\/([^/]+)$/.exec(pathname) ?? [];
    if (request.method === "GET" && external !== undefined) {
      if (!searchParams.get("apiKey")?.startsWith("pk_test_")) return [401, {}];
      const transactions = known.get(external);
      return transactions ? [200, transactions] : [404, { message: "Not found" }];
    }
    return [404, {}];
  };

  const server = createServer(async (request, response) => {
    requests.push(`${request.method} ${request.url}`);
    const path = [...replies.keys()].find((prefix) => request.url?.startsWith(prefix));
    if (path !== undefined) return replies.get(path)?.(request, response);
    const [status, body] = await route(request);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    sessions,
    coinbaseAccount(kind = "ES256") {
      const keyId = `organizations/${randomUUID()}/apiKeys/${randomUUID()}`;
      const pair =
        kind === "ES256" ? generateKeyPairSync("ec", { namedCurve: "P-256" }) : generateKeyPairSync("ed25519");
      keys.set(keyId, pair.publicKey);
      return { keyId, privateKey: givenOut(pair.privateKey) };
    },
    tell: (transactionId, transactions) => void known.set(transactionId, transactions),
    answer(path, reply) {
      if (reply) replies.set(path, reply);
      else replies.delete(path);
    },
  };
}

/** PEM as OpenSSL has long written it, or base64 of seed and public key. */
function givenOut(key: KeyObject): string {
  if (key.asymmetricKeyType === "ec") return key.export({ type: "sec1", format: "pem" }) as string;
  const { d = "", x = "" } = key.export({ format: "jwk" });
  return Buffer.concat([Buffer.from(d, "base64url"), Buffer.from(x, "base64url")]).toString("base64");
}

/** As MoonPay verifies the URL of its page: resolves to its parameters without the signature. */
export function openMoonPayUrl(url: string, secret = MOONPAY_SECRET): Record<string, string> {
  const { search, searchParams } = new URL(url);
  const at = search.lastIndexOf("&signature=");
  assert.equal(moonPaySignature(search.slice(0, at), secret), searchParams.get("signature"));
  searchParams.delete("signature");
  return Object.fromEntries(searchParams);
}

export const moonPaySignature = (search: string, secret = MOONPAY_SECRET): string =>
  createHmac("sha256", secret).update(search).digest("base64");

/** The key that this server publishes. */
export async function onRampPublicKey(baseUrl: string): Promise<string> {
  const { serviceKeys } = (await (await fetch(`${baseUrl}/.well-known/keystead.json`)).json()) as Json;
  return serviceKeys.onRamp[0].publicKey;
}

/** What `create_fiat_on_ramp_credential` takes, the secrets encrypted by the published client to the key that this server publishes. */
export async function moonPayParams(baseUrl: string, { secret = MOONPAY_SECRET, sandboxMode = false } = {}) {
  const { encryptOnRampSecret } = await import("@turnkey/crypto");
  return {
    onrampProvider: "FIAT_ON_RAMP_PROVIDER_MOONPAY",
    publishableApiKey: `pk_test_${randomBytes(16).toString("hex")}`,
    encryptedSecretApiKey: encryptOnRampSecret(secret, await onRampPublicKey(baseUrl)),
    sandboxMode,
  };
}

/** The same for an account at Coinbase. */
export async function coinbaseParams(
  baseUrl: string,
  {
    kind = "ES256",
    privateKey,
    sandboxMode = false,
  }: { kind?: "ES256" | "EdDSA"; privateKey?: string; sandboxMode?: boolean } = {},
) {
  const publicKey = await onRampPublicKey(baseUrl);
  const account = (await onRampProviderOfTests()).coinbaseAccount(kind);
  const { encryptOnRampSecret } = await import("@turnkey/crypto");
  return {
    onrampProvider: "FIAT_ON_RAMP_PROVIDER_COINBASE",
    projectId: randomUUID(),
    publishableApiKey: account.keyId,
    encryptedSecretApiKey: encryptOnRampSecret(COINBASE_SECRET, publicKey),
    encryptedPrivateApiKey: encryptOnRampSecret(privateKey ?? account.privateKey, publicKey),
    sandboxMode,
  };
}

/** What `init_fiat_on_ramp` takes. */
export const purchaseParams = (provider: "COINBASE" | "MOONPAY", more: object = {}) => ({
  onrampProvider: `FIAT_ON_RAMP_PROVIDER_${provider}`,
  walletAddress: "0xde0b295669a9fd93d5f28d9ec85e40f4cb697bae",
  network: "FIAT_ON_RAMP_BLOCKCHAIN_NETWORK_ETHEREUM",
  cryptoCurrencyCode: "FIAT_ON_RAMP_CRYPTO_CURRENCY_ETH",
  ...more,
});
