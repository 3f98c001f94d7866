import { randomBytes } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";

const LIFETIME_SECONDS = 3600;

/** An OIDC issuer on this machine that signs whatever it is asked to. */
export interface TestIssuer {
  url: string;
  /** The paths that it was asked for. */
  requests: string[];
  /** Public keys as it publishes them; what is added is published from then on. */
  keys: JWK[];
  /** A token of it, good for an hour unless said, signed by its newest key. */
  token(claims?: JWTPayload, header?: { alg?: string; kid?: string; typ?: string }): Promise<string>;
  /** Replaces its key by a new one with another name. */
  rotate(alg?: string): Promise<void>;
  /** What it answers to a path from now on, in place of its own answer. */
  answer(path: string, reply: RequestListener | undefined): void;
  close(): Promise<void>;
}

let ofTests: Promise<TestIssuer> | undefined;

/** The issuer of all tests in this process; it ends with it. What each is known as there is its own. */
export function issuerOfTests(): Promise<TestIssuer> {
  ofTests ??= startIssuer({ ends: "with the process" });
  return ofTests;
}

/** A provider as requests name one, with a token of the issuer of all tests. */
export async function oauthProviderParams(
  sub: string = randomBytes(16).toString("hex"),
  more: object = {},
): Promise<object> {
  const issuer = await issuerOfTests();
  return { providerName: "Issuer", oidcToken: await issuer.token({ sub, aud: "app" }), ...more };
}

export const discoveryPath = "/.well-known/openid-configuration";
export const keysPath = "/keys";

/** `clock` in milliseconds. */
export async function startIssuer({
  clock = Date.now,
  ends = "when it is closed",
}: {
  clock?: () => number;
  ends?: "when it is closed" | "with the process";
} = {}): Promise<TestIssuer> {
  const requests: string[] = [];
  const replies = new Map<string, RequestListener>();
  const keys: JWK[] = [];
  let current: { alg: string; kid: string; privateKey: CryptoKey };
  let made = 0;

  const server = createServer((request, response) => {
    const path = request.url ?? "";
    requests.push(path);
    const reply = replies.get(path);
    if (reply) return reply(request, response);
    const documents: Record<string, unknown> = {
      [discoveryPath]: { issuer: url, jwks_uri: `${url}${keysPath}` },
      [keysPath]: { keys },
    };
    const document = documents[path];
    response.writeHead(document ? 200 : 404, { "content-type": "application/json" });
    response.end(document ? JSON.stringify(document) : undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  if (ends === "with the process") server.unref();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const rotate = async (alg = "ES256") => {
    const pair = await generateKeyPair(alg, { extractable: true });
    made += 1;
    current = { alg, kid: `key-${made}`, privateKey: pair.privateKey };
    keys.splice(0, keys.length, { ...(await exportJWK(pair.publicKey)), kid: current.kid, alg, use: "sig" });
  };
  await rotate();

  return {
    url,
    requests,
    keys,
    rotate,
    token(claims = {}, header = {}) {
      const now = Math.floor(clock() / 1000);
      const { alg, kid, privateKey } = current;
      return new SignJWT({ iss: url, sub: "somebody", aud: "app", iat: now, exp: now + LIFETIME_SECONDS, ...claims })
        .setProtectedHeader({ alg, kid, ...header })
        .sign(privateKey);
    },
    answer(path, reply) {
      if (reply) replies.set(path, reply);
      else replies.delete(path);
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
