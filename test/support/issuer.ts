import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";

/** An OIDC issuer on this machine that signs whatever it is asked to. */
export interface TestIssuer {
  url: string;
  /** The paths that it was asked for. */
  requests: string[];
  /** Public keys as it publishes them; what is added is published from then on. */
  keys: JWK[];
  /** A token of it, good for five minutes unless said, signed by its newest key. */
  token(claims?: JWTPayload, header?: { alg?: string; kid?: string; typ?: string }): Promise<string>;
  /** Replaces its key by a new one with another name. */
  rotate(alg?: string): Promise<void>;
  /** What it answers to a path from now on, in place of its own answer. */
  answer(path: string, reply: RequestListener | undefined): void;
  close(): Promise<void>;
}

export const discoveryPath = "/.well-known/openid-configuration";
export const keysPath = "/keys";

/** `clock` in milliseconds. */
export async function startIssuer({ clock = Date.now }: { clock?: () => number } = {}): Promise<TestIssuer> {
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
      return new SignJWT({ iss: url, sub: "somebody", aud: "app", iat: now, exp: now + 300, ...claims })
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
