import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { DEFAULT_KEY_SET_LIFETIME_MS, MAX_WAITING_ISSUER_FETCHES } from "../../src/kernel/limits.ts";
import { createApp } from "../support/auth-proxy.ts";
import { apiKeyParams, generateApiKey } from "../support/client.ts";
import { startIssuer } from "../support/issuer.ts";
import { startTestServer, type TestServer } from "../support/server.ts";

/** Strangers have an organization ask somebody outside who does not answer. */

const STRANGERS = 150;
const TOKENS_OF_ONE = 5;

const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("strangers whose issuers do not answer", () => {
  let server: TestServer;
  let aheadMs = 0;
  before(async () => {
    const clock = () => Date.now() + aheadMs;
    server = await startTestServer("sqlite", { clock, settings: { KEYSTEAD_AUTH_PROXY_REQUESTS_PER_SECOND: "0" } });
  });
  after(() => server.close());

  it("are refused, and the organization and people of issuers that it knows go on", async (t) => {
    const asked: string[] = [];
    const silent = createServer((request) => void asked.push(request.url ?? ""));
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    t.after(() => silent.closeAllConnections());
    t.after(() => silent.close());
    const issuer = await startIssuer();
    t.after(() => issuer.close());
    const { port } = silent.address() as AddressInfo;

    const app = await createApp(server);
    const person = { userName: "Ada", authenticators: [], oauthProviders: [], apiKeys: [], wallet: undefined };
    const signUp = async (sub: string) => {
      const oidcToken = await issuer.token({ sub, aud: "app" });
      return app.call("signup_v2", { ...person, oauthProviders: [{ providerName: "Issuer", oidcToken }] });
    };
    assert.equal((await signUp("first")).status, 200);

    let number = 0;
    const inventedToken = () => {
      const iss = `http://127.0.0.1:${port}/${number++}`;
      const exp = Math.floor(Date.now() / 1000) + 3600;
      const parts = [
        { alg: "RS256", kid: "k" },
        { iss, sub: "s", aud: "app", iat: exp - 3600, exp },
      ].map(encoded);
      return [...parts, "AAAA"].join(".");
    };
    const strangers = Array.from({ length: STRANGERS }, () => {
      const oauthProviders = Array.from({ length: TOKENS_OF_ONE }, () => ({
        providerName: "Issuer",
        oidcToken: inventedToken(),
      }));
      return app.call("signup_v2", { ...person, apiKeys: [apiKeyParams(generateApiKey())], oauthProviders });
    });
    const answers = Promise.all(strangers);
    await app.root.client.read("whoami");
    // Its keys are kept no longer, and it is asked again.
    aheadMs = DEFAULT_KEY_SET_LIFETIME_MS + 1;
    const before = issuer.requests.length;
    const known = await signUp("second");
    assert.equal(known.status, 200, JSON.stringify(known.body));
    assert.equal(issuer.requests.length, before + 2);
    const refused = (await answers).filter(({ body }) => JSON.stringify(body).includes("too many others are"));
    // Whoever was asked hangs for as long as an issuer may: few were, however many tokens came.
    assert.ok(
      refused.length >= STRANGERS - MAX_WAITING_ISSUER_FETCHES,
      `${refused.length} of ${STRANGERS} were refused`,
    );
    assert.ok(asked.length <= MAX_WAITING_ISSUER_FETCHES, `${asked.length} issuers were asked`);
  });
});
