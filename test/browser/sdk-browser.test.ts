import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Turnkey } from "@turnkey/sdk-browser";
import type { Browser } from "playwright-core";
import { verifyMessage } from "viem";
import { type AppPage, startAppPage } from "../support/app-page.ts";
import { noBrowser, startBrowser } from "../support/browser.ts";
import type { Json } from "../support/client.ts";
import { ensureConsole, visit } from "../support/console.ts";
import { evmSignature } from "../support/evm-signature.ts";
import { onEachEngine } from "../support/server.ts";
import { addAuthenticator } from "../support/virtual-authenticator.ts";
import { createWorld } from "../support/world.ts";

/** People of an app that is made with the published browser SDK, unpatched: it is told URLs and the organization, and nothing else. */

const MNEMONIC = "test test test test test test test test test test test junk";
const ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const PRIVATE_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const ACCOUNT = {
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: "m/44'/60'/0'/0/0",
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
} as const;

/** What the app's page has for the tests. */
interface App {
  Turnkey: typeof Turnkey;
  sdk: Turnkey;
  clients: Record<string, Json>;
}

const SCRIPT = `import { Turnkey } from "@turnkey/sdk-browser";
Object.assign(globalThis, { Turnkey, clients: {} });`;

describe("the published browser SDK", { skip: noBrowser }, () => {
  let browser: Browser;
  let app: AppPage;
  before(async () => {
    await ensureConsole();
    [browser, app] = await Promise.all([startBrowser(), startAppPage(SCRIPT)]);
  });
  after(async () => {
    await browser.close();
    app.close();
  });

  onEachEngine("in a page of another origin", (server) => {
    it("makes a passkey, signs in with it, signs, imports and exports", async () => {
      const { root } = await createWorld(server());
      const { page, context, faults } = await visit(browser, app.url, server().baseUrl);
      await addAuthenticator(page);
      await page.waitForFunction(() => "Turnkey" in globalThis);
      /** Calls a function of one of the SDK's clients; resolves to its answer. */
      const ask = (client: string, call: string, ...args: unknown[]): Promise<Json> =>
        page.evaluate(({ client, call, args }) => (globalThis as unknown as App).clients[client][call](...args), {
          client,
          call,
          args,
        });
      /** Makes the SDK's clients for an organization, as an app does when it is opened. */
      const open = (organizationId: string) =>
        page.evaluate(
          async ({ apiBaseUrl, defaultOrganizationId }) => {
            const app = globalThis as unknown as App;
            app.sdk = new app.Turnkey({ apiBaseUrl, defaultOrganizationId, rpId: "localhost" });
            app.clients = { passkey: app.sdk.passkeyClient(), key: await app.sdk.indexedDbClient() };
            await app.clients.key.init();
            const frames = document.getElementById("frames") as HTMLElement;
            for (const name of ["auth", "import", "export"]) {
              document.getElementById(name)?.remove();
              app.clients[name] = await app.sdk.iframeClient({
                iframeContainer: frames,
                iframeUrl: `${apiBaseUrl}/frames/${name}`,
                iframeElementId: name,
              });
            }
          },
          { apiBaseUrl: server().baseUrl, defaultOrganizationId: organizationId },
        );

      await open(root.client.organizationId);
      const { encodedChallenge, attestation } = await ask("passkey", "createUserPasskey", {
        publicKey: { user: { name: "Ada", displayName: "Ada" } },
      });
      const { subOrganizationId } = await root.client.result("create_sub_organization", {
        subOrganizationName: "Ada",
        rootQuorumThreshold: 1,
        rootUsers: [
          {
            userName: "Ada",
            apiKeys: [],
            authenticators: [{ authenticatorName: "Phone", challenge: encodedChallenge, attestation }],
            oauthProviders: [],
          },
        ],
      });

      await open(subOrganizationId);
      const { organizationId, userId } = await ask("passkey", "getWhoami");
      assert.equal(organizationId, subOrganizationId);
      const publicKey = await ask("key", "getPublicKey");
      await ask("passkey", "loginWithPasskey", { publicKey, organizationId });
      const session = await page.evaluate(() => (globalThis as unknown as App).sdk.getSession());
      assert.deepEqual([session?.organizationId, session?.userId], [organizationId, userId]);

      const made = await ask("key", "createWallet", { walletName: "First", accounts: [ACCOUNT] });
      assert.equal(made.activity.votes[0].scheme, "SIGNATURE_SCHEME_TK_API_P256");
      const [address] = made.addresses;
      const message = "hello";
      const prefixed = `\x19Ethereum Signed Message:\n${message.length}${message}`;
      const signed = await ask("key", "signRawPayload", {
        signWith: address,
        payload: prefixed,
        encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
        hashFunction: "HASH_FUNCTION_KECCAK256",
      });
      assert.ok(await verifyMessage({ address, message, signature: evmSignature(signed) }));
      const byPasskey = await ask("passkey", "createWallet", { walletName: "By hand", accounts: [] });
      assert.equal(byPasskey.activity.votes[0].scheme, "SIGNATURE_SCHEME_TK_WEBAUTHN");
      await ask("key", "refreshSession");
      assert.notEqual(await ask("key", "getPublicKey"), publicKey);
      assert.equal((await ask("key", "getWallets")).wallets.length, 2);

      const targetPublicKey = await ask("auth", "getEmbeddedPublicKey");
      const { credentialBundle } = await ask("passkey", "createReadWriteSession", { targetPublicKey });
      await ask("auth", "loginWithBundle", { bundle: credentialBundle });
      assert.equal((await ask("auth", "getWhoami")).userId, userId);
      await ask("auth", "refreshSession");
      assert.equal((await ask("auth", "getWhoami")).userId, userId);

      const { importBundle } = await ask("key", "initImportWallet", { userId });
      assert.equal(await ask("import", "injectImportBundle", importBundle, organizationId, userId), true);
      await page.frameLocator("#import").getByRole("textbox").fill(MNEMONIC);
      const encryptedBundle = await ask("import", "extractWalletEncryptedBundle");
      const wanted = { userId, walletName: "Brought", encryptedBundle, accounts: [ACCOUNT] };
      const { walletId, addresses } = await ask("key", "importWallet", wanted);
      assert.deepEqual(addresses, [ADDRESS]);

      const exportKey = await ask("export", "getEmbeddedPublicKey");
      const { exportBundle } = await ask("key", "exportWallet", { walletId, targetPublicKey: exportKey });
      assert.equal(await ask("export", "injectWalletExportBundle", exportBundle, organizationId), true);
      await page.frameLocator("#export").getByText(MNEMONIC).waitFor();
      const nextKey = await ask("export", "initEmbeddedKey");
      const account = await ask("key", "exportWalletAccount", { address: ADDRESS, targetPublicKey: nextKey });
      assert.equal(await ask("export", "injectKeyExportBundle", account.exportBundle, organizationId), true);
      await page.frameLocator("#export").getByText(PRIVATE_KEY).waitFor();

      assert.equal(await page.evaluate(() => (globalThis as unknown as App).sdk.logout()), true);
      await context.close();
      assert.deepEqual(faults, []);
    });
  });
});
