import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { Json } from "./client.ts";

/** X and Discord on this machine: they grant what RFC 6749 and RFC 7636 say, and a code serves once. */
export interface Oauth2Provider {
  url: string;
  clientSecret: string;
  /** Bearer tokens that were granted, in their order. */
  granted: string[];
  /** The requests that came in: method and path. */
  requests: string[];
  /** A person signs in at an app; resolves to what the app then has. */
  signIn(clientId: string, redirectUri?: string): { authCode: string; redirectUri: string; codeVerifier: string };
  /** What it answers to a path from now on, in place of its own answer. */
  answer(path: string, reply: RequestListener | undefined): void;
}

export const PERSON = { id: "1234567890", email: "ada@example.com" };

let ofTests: Promise<Oauth2Provider> | undefined;

/** The one of all tests in this process; it ends with it. */
export function oauth2ProviderOfTests(): Promise<Oauth2Provider> {
  ofTests ??= startProvider();
  return ofTests;
}

async function startProvider(): Promise<Oauth2Provider> {
  const clientSecret = "s3cret: of the app/é";
  const codes = new Map<string, { clientId: string; redirectUri: string; challenge: string }>();
  const replies = new Map<string, RequestListener>();
  const granted: string[] = [];
  const requests: string[] = [];

  const grant = async (request: IncomingMessage): Promise<[number, object]> => {
    const form = new URLSearchParams(await text(request));
    const known = codes.get(form.get("code") ?? "");
    const [id, secret] = basicCredentials(request);
    if (secret !== clientSecret || (known && id !== known.clientId)) return [401, { error: "invalid_client" }];
    codes.delete(form.get("code") ?? "");
    const isValid =
      form.get("grant_type") === "authorization_code" &&
      form.get("redirect_uri") === known?.redirectUri &&
      challengeOf(form.get("code_verifier") ?? "") === known.challenge;
    if (!isValid) return [400, { error: "invalid_grant", error_description: "the code is not good" }];
    granted.push(randomBytes(24).toString("base64url"));
    return [200, { token_type: "bearer", access_token: granted.at(-1), expires_in: 7200 }];
  };
  const person = (request: IncomingMessage, described: object): [number, object] => {
    const token = request.headers.authorization?.replace(/^Bearer /, "") ?? "";
    return granted.includes(token) ? [200, described] : [401, {}];
  };
  const routes: Record<string, (request: IncomingMessage) => Promise<[number, object]> | [number, object]> = {
    "POST /2/oauth2/token": grant,
    "POST /api/oauth2/token": grant,
    "GET /2/users/me": (request) => person(request, { data: { id: PERSON.id, name: "Ada", username: "ada" } }),
    "GET /api/users/@me": (request) => person(request, { ...PERSON, username: "ada", verified: true }),
  };

  const server = createServer(async (request, response) => {
    const route = `${request.method} ${request.url}`;
    requests.push(route);
    const reply = replies.get(request.url ?? "");
    if (reply) return reply(request, response);
    const [status, body] = (await routes[route]?.(request)) ?? [404, {}];
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clientSecret,
    granted,
    requests,
    signIn(clientId, redirectUri = "https://app.example/callback") {
      const [authCode, codeVerifier] = [randomBytes(16).toString("hex"), randomBytes(32).toString("base64url")];
      codes.set(authCode, { clientId, redirectUri, challenge: challengeOf(codeVerifier) });
      return { authCode, redirectUri, codeVerifier };
    },
    answer(path, reply) {
      if (reply) replies.set(path, reply);
      else replies.delete(path);
    },
  };
}

const challengeOf = (verifier: string): string => createHash("sha256").update(verifier).digest("base64url");

function basicCredentials({ headers }: IncomingMessage): (string | undefined)[] {
  const decoded = Buffer.from((headers.authorization ?? "").replace(/^Basic /, ""), "base64").toString();
  return decoded.split(":").map((part) => new URLSearchParams(`=${part}`).get("") ?? undefined);
}

/** What `create_oauth2_credential` takes, the secret encrypted by the published client to the key that this server publishes. */
export async function credentialParams(baseUrl: string, more: { clientId?: string; clientSecret?: string } = {}) {
  const { clientSecret: ofProvider } = await oauth2ProviderOfTests();
  const { clientId = randomBytes(16).toString("hex"), clientSecret = ofProvider } = more;
  const { serviceKeys } = (await (await fetch(`${baseUrl}/.well-known/keystead.json`)).json()) as Json;
  const { encryptOauth2ClientSecret } = await import("@turnkey/crypto");
  return {
    provider: "OAUTH2_PROVIDER_X",
    clientId,
    encryptedClientSecret: await encryptOauth2ClientSecret(clientSecret, serviceKeys.tlsFetcherEncrypt[0].publicKey),
  };
}
