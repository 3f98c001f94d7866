import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { capabilities } from "../../src/capabilities/index.ts";
import { combineManifests } from "../../src/engine/capability.ts";
import { newId } from "../../src/kernel/ids.ts";
import { nonceOfPublicKey } from "../../src/providers/oidc/nonce.ts";
import { type App, createApp } from "../support/auth-proxy.ts";
import { clientBundle } from "../support/bundles.ts";
import { apiKeyParams, generateApiKey, type Json } from "../support/client.ts";
import { issuerOfTests } from "../support/issuer.ts";
import { credentialParams, oauth2ProviderOfTests } from "../support/oauth2-provider.ts";
import { loginSignature, mailedCode, verificationTokenFor } from "../support/one-time-codes.ts";
import { readRecorded, withInventedValues, writeRecorded } from "../support/recorded-examples.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { addSubOrganization } from "../support/world.ts";

/** One request of each call of the auth proxy that is taken; the documentation shows them with their answers. */

interface Surroundings {
  server: TestServer;
  app: App;
}

const newAddress = (): string => `${newId()}@example.com`;
const nobody = { apiKeys: [], authenticators: [], oauthProviders: [] };

async function knownContact({ server, app }: Surroundings): Promise<{ contact: string; organizationId: string }> {
  const { client, userId } = await addSubOrganization(app.root.client);
  const contact = newAddress();
  const verificationToken = await verificationTokenFor(server, client, contact);
  await client.result("update_user_email", { userId, userEmail: contact, verificationToken });
  return { contact, organizationId: client.organizationId };
}

async function sentCode({ server, app }: Surroundings, version: "" | "_v2" = ""): Promise<Json> {
  const contact = newAddress();
  const sent = await app.ask(`otp_init${version}`, { otpType: "OTP_TYPE_EMAIL", contact });
  return { ...sent, code: await mailedCode(server, contact) };
}

async function oauth2Code({ server, app }: Surroundings): Promise<Json> {
  const params = (await credentialParams(server.baseUrl)) as { provider: string; clientId: string };
  await app.root.client.result("create_oauth2_credential", params);
  const { provider, clientId } = params;
  return { provider, clientId, ...(await oauth2ProviderOfTests()).signIn(clientId) };
}

async function signedUpByToken({ app }: Surroundings, publicKey: string): Promise<string> {
  const issuer = await issuerOfTests();
  const sub = newId();
  const oidcToken = await issuer.token({ sub, aud: "app" });
  await app.ask("signup_v2", { ...nobody, oauthProviders: [{ providerName: "Issuer", oidcToken }] });
  return issuer.token({ sub, aud: "app", nonce: nonceOfPublicKey(publicKey) });
}

const person = () => ({ ...nobody, userName: "Ada", apiKeys: [apiKeyParams(generateApiKey())] });

const examples: Record<string, (surroundings: Surroundings) => Promise<object>> = {
  wallet_kit_config: async () => ({}),
  wallet_kit_client_params: async () => ({}),
  otp_init: async () => ({ otpType: "OTP_TYPE_EMAIL", contact: newAddress() }),
  otp_init_v2: async () => ({ otpType: "OTP_TYPE_EMAIL", contact: newAddress() }),
  otp_verify: async (surroundings) => {
    const { otpId, code } = await sentCode(surroundings);
    return { otpId, otpCode: code };
  },
  otp_verify_v2: async (surroundings) => {
    const { otpId, otpEncryptionTargetBundle, code } = await sentCode(surroundings, "_v2");
    const guess = JSON.stringify({ otp_code: code, public_key: generateApiKey().publicKey });
    return { otpId, encryptedOtpBundle: clientBundle(otpEncryptionTargetBundle, guess) };
  },
  otp_login: async (surroundings) => {
    const { contact, organizationId } = await knownContact(surroundings);
    const { server, app } = surroundings;
    const verificationToken = await verificationTokenFor(server, app.root.client, contact);
    return { verificationToken, publicKey: generateApiKey().publicKey, organizationId };
  },
  otp_login_v2: async (surroundings) => {
    const { contact, organizationId } = await knownContact(surroundings);
    const { server, app } = surroundings;
    const key = generateApiKey();
    const verificationToken = await verificationTokenFor(server, app.root.client, contact, { key });
    const { publicKey } = generateApiKey();
    const clientSignature = loginSignature(key, verificationToken, publicKey);
    return { verificationToken, publicKey, organizationId, clientSignature };
  },
  oauth_login: async (surroundings) => {
    const { publicKey } = generateApiKey();
    return { oidcToken: await signedUpByToken(surroundings, publicKey), publicKey };
  },
  oauth2_authenticate: async (surroundings) => ({
    ...(await oauth2Code(surroundings)),
    nonce: nonceOfPublicKey(generateApiKey().publicKey),
  }),
  signup: async () => person(),
  signup_v2: async () => ({
    ...person(),
    wallet: {
      walletName: "First",
      accounts: [
        {
          curve: "CURVE_SECP256K1",
          pathFormat: "PATH_FORMAT_BIP32",
          path: "m/44'/60'/0'/0/0",
          addressFormat: "ADDRESS_FORMAT_ETHEREUM",
        },
      ],
    },
  }),
  account: async (surroundings) => {
    const { contact } = await knownContact(surroundings);
    return { filterType: "EMAIL", filterValue: contact };
  },
};

describe("each call of the auth proxy", () => {
  const { proxyCalls } = combineManifests(capabilities);
  const surroundings = {} as Surroundings;
  before(async () => {
    surroundings.server = await startTestServer("sqlite");
    surroundings.app = await createApp(surroundings.server);
  });
  after(() => surroundings.server.close());

  it("has an example, and nothing else has", () => {
    assert.deepEqual(Object.keys(examples).sort(), proxyCalls.map(({ path }) => path).sort());
  });

  for (const [path, make] of Object.entries(examples)) {
    it(`is taken, and shown as it is: ${path}`, async () => {
      const request = await make(surroundings);
      const answer = await surroundings.app.ask(path, request);
      const example = withInventedValues({ request, answer });
      const name = `auth_proxy_${path}`;
      if (process.env.KEYSTEAD_UPDATE_SNAPSHOTS === "1") writeRecorded(name, example);
      assert.deepEqual(example, readRecorded(name), `docs/examples/${name}.json shows what is no longer so`);
    });
  }
});
