import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { after, before, it } from "node:test";
import { promisify } from "node:util";
import {
  decryptCredentialBundle,
  encryptOauth2ClientSecret,
  encryptOtpCodeToBundle,
  generateP256KeyPair,
  getPublicKey,
  verifySessionJwtSignature,
} from "@turnkey/crypto";
import { Turnkey } from "@turnkey/sdk-server";
import { newId } from "../../src/kernel/ids.ts";
import { attestedStamp } from "../support/attested-stamps.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import { authenticatorParams, generateApiKey, type Json } from "../support/client.ts";
import { examplesIn, runExample } from "../support/guide.ts";
import { oauth2ProviderOfTests } from "../support/oauth2-provider.ts";
import { claimsOfToken, clientSignature, mailedCode, verificationTokenFor } from "../support/one-time-codes.ts";
import { bundleIn, mailTo } from "../support/outbox.ts";
import { startRealIssuer } from "../support/real-issuer.ts";
import { apiClientOf } from "../support/sdk.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { KEYSTEAD } from "../support/server-process.ts";
import { addSubOrganization, type Member } from "../support/world.ts";

/** The examples of the guide, run as they stand there with the published clients. */

const examples = examplesIn("sign-in");
const [shared = ""] = examples("In the examples");

let server: TestServer;
before(async () => {
  server = await startTestServer("sqlite");
});
after(() => server.close());

/** A user of an organization of their own, and the address that stands in them. */
async function newUser(): Promise<Member & { contact: string }> {
  const sub = await addSubOrganization(server.root);
  const contact = `${newId()}@example.com`;
  await sub.client.result("update_user", { userId: sub.userId, userEmail: contact });
  return { ...sub, contact };
}

/** An SDK client that stamps with the key of this one. */
const sdkOf = ({ baseUrl, organizationId, key }: Member["client"]) => apiClientOf({ baseUrl, organizationId, key });

/** Runs an example of the guide after what all of them share. */
function run(
  code: string,
  { client, contact }: { client: Member["client"]; contact?: string },
  more: object,
  answers = "",
) {
  const given = {
    ...{ Turnkey, createHash, decryptCredentialBundle, encryptOauth2ClientSecret, encryptOtpCodeToBundle },
    ...{ generateP256KeyPair, getPublicKey, verifySessionJwtSignature },
    baseUrl: server.baseUrl,
    parent: sdkOf(server.root),
    subOrganizationId: client.organizationId,
    contact,
  };
  return runExample(`${shared}\n${code}`, { ...given, ...more }, answers);
}

/** Whether a client that an example made stamps as this user. */
async function stampsAs({ userId, client }: Member, device: Json): Promise<void> {
  const whoami = await device.getWhoami({});
  assert.deepEqual([whoami.userId, whoami.organizationId], [userId, client.organizationId]);
}

it("signs a user in by a one-time code", async () => {
  const user = await newUser();
  const key = generateApiKey();
  const given = {
    typedByUser: () => mailedCode(server, user.contact),
    device: { publicKey: key.publicKey, sign: (text: string) => clientSignature(key, JSON.parse(text)) },
    claimsOf: claimsOfToken,
  };
  const [byCode = ""] = examples("By a one-time code");
  await run(byCode, user, given);
  assert.equal((await user.client.with({ key }).read("whoami")).userId, user.userId);
});

it("signs a user in by a stamp: a key of the device's, one in a bundle, a token to read with", async () => {
  const user = await newUser();
  const given = { user: sdkOf(user.client) };
  const [login = "", readWrite = "", readOnly = "", ...others] = examples("By a stamp");
  assert.deepEqual(others, []);
  for (const code of [login, readWrite]) await stampsAs(user, (await run(code, user, given, "device")).device);
  assert.equal((await run(readOnly, user, given, "userId")).userId, user.userId);
  const fromParent = user.client.with({ organizationId: server.root.organizationId });
  await stampsAs(user, (await run(login, user, { user: sdkOf(fromParent) }, "device")).device);
});

it("serves a page on which people sign up with a passkey", async () => {
  const [byPasskey = ""] = examples("By a passkey, from a page", "sh");
  const [enable = "", configure = "", servePage = ""] = byPasskey.trim().split("\n");
  const { PATH } = process.env;
  const env = { PATH, NODE: process.execPath, KEYSTEAD, KEYSTEAD_DATA_DIR: server.dataDir };
  const call = async (command: string): Promise<Json> => {
    const line = command.replace("npx keystead", '"$NODE" "$KEYSTEAD"');
    return JSON.parse((await promisify(execFile)("/bin/sh", ["-c", line], { env })).stdout);
  };
  await call(enable);
  const { configId } = (await call(configure)).activity.result.updateAuthProxyConfigResult;
  assert.match(configId, /^[0-9a-f-]{36}$/);
  const [command = ""] = servePage.split("#");
  // On a port that is free.
  const line = `${command.replace("http://localhost:8080", server.baseUrl).replace("<configId>", configId)} 0`;
  const cwd = new URL("../..", import.meta.url);
  const shell = ["-c", `exec ${line.replace("npx node", '"$NODE"')}`];
  const child = spawn("/bin/sh", shell, { env, cwd, stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  try {
    const [url] = (await Promise.race([
      once(createInterface({ input: child.stdout }), "line"),
      exited.then(([code]) => Promise.reject(new Error(`${line} ended with ${code}`))),
    ])) as [string];
    const settings = await (await fetch(`${url}/settings.json`)).json();
    assert.deepEqual(settings, { service: server.baseUrl, configId });
    assert.match(await (await fetch(url)).text(), /Sign up with a passkey/);
  } finally {
    child.kill();
    await exited.catch(() => {});
  }
});

it("signs a user in by a token alone", async () => {
  const { credentials, root } = server;
  const user = await newUser();
  const { userId, contact: userEmail, client } = user;
  const key = generateApiKey();
  const verificationToken = await verificationTokenFor(server, root, userEmail, { key });
  await client.result("update_user_email", { userId, userEmail, verificationToken });
  const token = verificationToken;
  const signDer = (body: string) => (attestedStamp({ key, token }, body) as Json).signature;
  const device = { publicKey: key.publicKey, signDer };
  const [byToken = ""] = examples("By a token alone");
  await run(byToken, user, { parentOrganizationId: credentials.organizationId, verificationToken, device });
  assert.equal((await client.with({ key }).read("whoami")).userId, userId);
});

it("signs a user in by an OIDC token, with a key of the device's and with one in a bundle", async () => {
  const issuer = await startRealIssuer();
  try {
    const user = await newUser();
    const { userId, client } = user;
    const signInAtIssuer = ({ nonce }: { nonce: string }) => issuer.signIn("ada", nonce);
    const oauthProviders = [{ providerName: "Issuer", oidcToken: await signInAtIssuer({ nonce: "none" }) }];
    await client.result("create_oauth_providers", { userId, oauthProviders });
    const [login = "", bundle = "", ...others] = examples("By an OIDC token");
    assert.deepEqual(others, []);
    for (const code of [login, bundle]) {
      await stampsAs(user, (await run(code, user, { signInAtIssuer }, "device")).device);
    }
  } finally {
    await issuer.close();
  }
});

for (const provider of ["OAUTH2_PROVIDER_X", "OAUTH2_PROVIDER_DISCORD"]) {
  it(`signs people up and in by an account at ${provider}`, async () => {
    const { clientSecret, signIn } = await oauth2ProviderOfTests();
    const clientId = newId();
    const [storing = "", entering = "", ...others] = examples("By an account at X or Discord");
    assert.deepEqual(others, []);
    const nobody = { client: server.root };
    const ofProvider = storing.replace("OAUTH2_PROVIDER_X", provider);
    const { oauth2CredentialId } = await run(ofProvider, nobody, { clientId, clientSecret }, "oauth2CredentialId");
    const given = { oauth2CredentialId, signInAtX: async () => signIn(clientId) };
    const enter = () => run(entering, nobody, given, "key, organizationId, session");
    const [first, again] = [await enter(), await enter()];
    assert.notEqual(first.organizationId, server.root.organizationId);
    assert.equal(again.organizationId, first.organizationId, "one account");
    assert.equal(claimsOfToken(again.session).organization_id, first.organizationId);
    for (const { organizationId, key } of [first, again]) {
      assert.equal((await server.root.with({ organizationId, key }).read("whoami")).organizationId, organizationId);
    }
  });
}

it("signs a user in by a key in a mail, and recovers one", async () => {
  const user = await newUser();
  let mails = 0;
  const pastedByUser = async () => {
    const received = await mailTo(server, user.contact, ++mails);
    return bundleIn(received.at(-1) as Json);
  };
  const [byMail = "", recovery = "", ...others] = examples("By a key in a mail");
  assert.deepEqual(others, []);
  await stampsAs(user, (await run(byMail, user, { pastedByUser }, "device")).device);
  const passkey = { authenticator: createAuthenticator(), origin: "https://app.example", rpId: "app.example" };
  await run(recovery, user, { pastedByUser, newPasskey: async () => authenticatorParams(passkey) });
  assert.equal((await user.client.withPasskey(passkey).read("whoami")).userId, user.userId);
});

it("signs a user in by a one-time code as older clients do", async () => {
  const user = await newUser();
  const [code = ""] = examples("By a one-time code, older clients");
  const given = { typedByUser: () => mailedCode(server, user.contact) };
  await stampsAs(user, (await run(code, user, given, "device")).device);
});
