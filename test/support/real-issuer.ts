import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair } from "jose";
import Provider from "oidc-provider";

/** A complete OpenID provider on this machine, of a library that has nothing to do with what verifies its tokens. */
export interface RealIssuer {
  url: string;
  clientId: string;
  /** Signs a person in as a web app does, with PKCE; resolves to the ID token. */
  signIn(login: string, nonce: string): Promise<string>;
  close(): Promise<void>;
}

const clientId = "wallet-app";
const redirectUri = "https://app.example/callback";

export async function startRealIssuer(): Promise<RealIssuer> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  const { privateKey } = await generateKeyPair("RS256", { extractable: true });
  const provider = new Provider(url, {
    clients: [
      {
        client_id: clientId,
        token_endpoint_auth_method: "none",
        redirect_uris: [redirectUri],
        grant_types: ["authorization_code"],
        response_types: ["code"],
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: "RS256", use: "sig" }] },
    cookies: { keys: [randomBytes(16).toString("hex")] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: true } },
  });
  server.on("request", provider.callback());
  return {
    url,
    clientId,
    signIn: (login, nonce) => signIn(url, login, nonce),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function signIn(url: string, login: string, nonce: string): Promise<string> {
  const verifier = randomBytes(32).toString("base64url");
  const query = new URLSearchParams({
    client_id: clientId,
    redirect_uri: redirectUri,
    response_type: "code",
    scope: "openid",
    nonce,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
  });
  const browse = browser();
  let at = await browse(`${url}/auth?${query}`);
  for (const form of [{ prompt: "login", login, password: "any" }, { prompt: "consent" }]) {
    at = await browse(at, form);
    while (at.startsWith(`${url}/auth/`)) at = await browse(at);
  }
  const code = new URL(at).searchParams.get("code");
  assert.ok(code, `signing in ended at ${at}`);
  const answer = await fetch(`${url}/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      client_id: clientId,
      redirect_uri: redirectUri,
      code,
      code_verifier: verifier,
    }),
  });
  const { id_token: token } = (await answer.json()) as { id_token?: string };
  assert.ok(token, "the provider issued no ID token");
  return token;
}

/** Goes to a page, with the cookies of those before, and says where it leads. */
function browser() {
  const cookies = new Map<string, string>();
  return async (url: string, form?: Record<string, string>): Promise<string> => {
    const answer = await fetch(url, {
      redirect: "manual",
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; ") },
      ...(form ? { method: "POST", body: new URLSearchParams(form) } : {}),
    });
    for (const line of answer.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const separator = pair.indexOf("=");
      cookies.set(pair.slice(0, separator), pair.slice(separator + 1));
    }
    return new URL(answer.headers.get("location") ?? url, url).href;
  };
}
