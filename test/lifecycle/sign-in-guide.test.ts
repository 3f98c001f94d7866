import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, it } from "node:test";
import { encryptOtpCodeToBundle, verifySessionJwtSignature } from "@turnkey/crypto";
import { Turnkey } from "@turnkey/sdk-server";
import { generateApiKey, type Json } from "../support/client.ts";
import { clientSignature, mailedCode } from "../support/one-time-codes.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { addSubOrganization } from "../support/world.ts";

/** The example of the guide, run as it stands there with the published clients. */

const guide = readFileSync(new URL("../../docs/guide/sign-in.md", import.meta.url), "utf8");
const [, example = ""] = /```js\n([\s\S]*?)```/.exec(guide) ?? [];

let server: TestServer;
before(async () => {
  server = await startTestServer("sqlite");
});
after(() => server.close());

it("signs a user in by a one-time code", async () => {
  const { baseUrl, credentials, root } = server;
  const sub = await addSubOrganization(root);
  const contact = "ada@example.com";
  await sub.client.result("update_user", { userId: sub.userId, userEmail: contact });
  const parent = new Turnkey({
    apiBaseUrl: baseUrl,
    apiPublicKey: credentials.apiKey.publicKey,
    apiPrivateKey: credentials.apiKey.privateKey as string,
    defaultOrganizationId: credentials.organizationId,
  }).apiClient();
  const published = ((await (await fetch(`${baseUrl}/.well-known/keystead.json`)).json()) as Json).serviceKeys;
  const key = generateApiKey();
  const given = {
    parent,
    contact,
    subOrganizationId: sub.client.organizationId,
    typedByUser: () => mailedCode(server, contact),
    device: { publicKey: key.publicKey, sign: (text: string) => clientSignature(key, JSON.parse(text)) },
    serviceKeys: { otp: published.otp[0].publicKey, session: published.session[0].publicKey },
    claimsOf: (token: string) => JSON.parse(Buffer.from(token.split(".")[1] as string, "base64url").toString()),
    encryptOtpCodeToBundle,
    verifySessionJwtSignature,
  };
  const AsyncFunction = (async () => {}).constructor as new (
    ...parts: string[]
  ) => (...values: unknown[]) => Promise<void>;
  await new AsyncFunction(...Object.keys(given), example)(...Object.values(given));
  assert.equal((await sub.client.with({ key }).read("whoami")).userId, sub.userId);
});
