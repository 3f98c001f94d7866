import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createECDH } from "node:crypto";
import { after, before, it } from "node:test";
import { promisify } from "node:util";
import { encryptOtpCodeToBundle } from "@turnkey/crypto";
import type { Json } from "../support/client.ts";
import { examplesIn, runExample } from "../support/guide.ts";
import { mailedCode, messagesOf } from "../support/one-time-codes.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { KEYSTEAD } from "../support/server-process.ts";
import { openWebPage } from "../support/web-page.ts";

/** The examples of the guide, run as they stand there with the published clients. */

const examples = examplesIn("auth-proxy");
const [enabling = ""] = examples("Switch it on", "sh");
const [disabling = ""] = examples("Switch it off", "sh");
const [byWallet = "", byCode = ""] = examples("An app with the published SDK");
const [withoutSdk = ""] = examples("The calls");

const page = openWebPage("https://app.example.com");
const { TurnkeyClient } = await import("@turnkey/core");

let server: TestServer;
let config: Json;
/** What is there after the examples with the SDK. */
let signedIn: Json;
before(async () => {
  server = await startTestServer("sqlite");
  for (const command of enabling.trim().split(/\n\n(?=npx )/)) config = (await run(command)).config;
});
after(() => server.close());

/** What a command of the guide answers. */
async function run(command: string): Promise<Json> {
  assert.match(command, /^npx keystead call /);
  const { PATH } = process.env;
  const env = { PATH, NODE: process.execPath, KEYSTEAD, KEYSTEAD_DATA_DIR: server.dataDir };
  const line = command.replace("npx keystead", '"$NODE" "$KEYSTEAD"');
  return JSON.parse((await promisify(execFile)("/bin/sh", ["-c", line], { env })).stdout);
}

/** Runs an example with what the text says is there; resolves to the variables that it names in the end. */
const example = (code: string, given: object, answers: string): Promise<Json> =>
  runExample(code, { ...given, authProxyUrl: server.authProxyUrl, configId: config.configId }, answers);

it("tells of a configuration that an app is built with", () => {
  const { configId, enabled, proxyUserId, ...settings } = config;
  assert.ok(enabled && configId && proxyUserId);
  assert.deepEqual(settings, {
    allowedOrigins: ["https://app.example.com"],
    allowedAuthMethods: ["email", "passkey", "wallet", "google"],
    emailCustomizationParams: { appName: "Shop" },
  });
});

it("signs people up and in with the published SDK, by wallet and by code", async () => {
  const wallet = page.addEthereumWallet();
  const contact = "ada@example.com";
  const visit = async () => {
    page.forget();
    const known = new Set(messagesOf(server));
    const given = {
      apiBaseUrl: server.baseUrl,
      organizationId: server.credentials.organizationId,
      TurnkeyClient,
      encryptOtpCodeToBundle,
      contact,
      typedByUser: () => mailedCode(server, contact, known),
    };
    const byBoth = `${byWallet}\nconst first = await client.storageManager.getActiveSession();\n${byCode}`;
    const done = await example(byBoth, given, "action, first, client, walletProvider");
    return { ...done, second: await done.client.storageManager.getActiveSession() };
  };
  const first = await visit();
  const again = await visit();
  assert.deepEqual(first.walletProvider.connectedAddresses, [wallet.address]);
  assert.deepEqual([first.action, again.action], ["SIGNUP", "LOGIN"]);
  assert.equal(again.first.organizationId, first.first.organizationId);
  assert.equal(again.second.organizationId, first.second.organizationId);
  assert.notEqual(first.second.organizationId, first.first.organizationId, "another account");
  assert.equal((await again.client.fetchUser()).userEmail, contact);
  signedIn = again;
});

it("signs people up without an SDK", async () => {
  const wallet = { publicKey: createECDH("secp256k1").generateKeys("hex", "compressed") };
  const done = await example(withoutSdk, { wallet }, "enabledProviders, organizationId, userId, found");
  assert.deepEqual(done.enabledProviders, ["email", "passkey", "wallet", "google"]);
  assert.deepEqual(done.found, { organizationId: done.organizationId });
  const { users } = await server.root.with({ organizationId: done.organizationId }).read("list_users");
  assert.deepEqual(
    users.map(({ userId, userName }: Json) => [userId, userName]),
    [[done.userId, "Ada"]],
  );
});

it("is gone when it is switched off", async () => {
  await run(disabling.trim());
  await assert.rejects(example(withoutSdk, {}, ""), /does not name an enabled auth proxy/);
  const { client, walletProvider, first } = signedIn;
  await client.fetchUser();
  await client.loginWithWallet({ walletProvider });
  assert.equal((await client.storageManager.getActiveSession()).organizationId, first.organizationId);
});
