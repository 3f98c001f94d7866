import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { HDKey } from "@scure/bip32";
import { mnemonicToSeedSync } from "@scure/bip39";
import type { KeyFormat, IframeStamper as Stamper } from "@turnkey/iframe-stamper";
import type { Browser, FrameLocator, Page } from "playwright-core";
import { privateKeyToAddress } from "viem/accounts";
import { noBrowser, startBrowser } from "../support/browser.ts";
import type { Json } from "../support/client.ts";
import { ensureConsole, type Visit, visit } from "../support/console.ts";
import { onEachEngine, startTestServer, type TestServer } from "../support/server.ts";

/** The pages that wallet apps show in a frame, driven by the published package from a page of another origin. */

const MNEMONIC = "test test test test test test test test test test test junk";
const ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266";
const PRIVATE_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80";
const ACCOUNT = {
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: "m/44'/60'/0'/0/0",
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
};

const addressOf = (privateKey: Uint8Array | null): string =>
  privateKeyToAddress(`0x${Buffer.from(privateKey as Uint8Array).toString("hex")}`);

type Frame = "auth" | "import" | "export";

/** What the app's page has for the tests. */
interface App {
  showFrame(server: string, name: Frame): Promise<Stamper>;
  stampers: Record<string, Stamper>;
}

const PAGE = `<!doctype html><title>An app</title><div id="frames"></div>
<script type="importmap">{ "imports": { "@turnkey/iframe-stamper": "/iframe-stamper.js" } }</script>
<script type="module">
  import { showFrame } from "/frames.js";
  Object.assign(globalThis, { showFrame, stampers: {} });
</script>`;

/** What the guide has an app do. */
const guide = readFileSync(new URL("../../docs/guide/frames.md", import.meta.url), "utf8");
const [, example] = guide.match(/```js file=frames\.js\n([\s\S]*?)```/) ?? [];

/** An app's page on an origin of its own. */
async function startApp(): Promise<{ url: string; server: Server }> {
  const scripts: Record<string, string> = {
    "/frames.js": example ?? assert.fail("the guide has an example"),
    "/iframe-stamper.js": readFileSync(fileURLToPath(import.meta.resolve("@turnkey/iframe-stamper")), "utf8"),
  };
  const server = createServer(({ url = "/" }, response) => {
    const script = scripts[url];
    response.setHeader("content-type", script ? "text/javascript" : "text/html; charset=utf-8");
    response.end(script ?? PAGE);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, server };
}

describe("the frames", { skip: noBrowser }, () => {
  let browser: Browser;
  let app: Awaited<ReturnType<typeof startApp>>;
  before(async () => {
    await ensureConsole();
    [browser, app] = await Promise.all([startBrowser(), startApp()]);
  });
  after(async () => {
    await browser.close();
    app.server.close();
  });

  onEachEngine("in an app of another origin", (server) => {
    let opened: Visit;
    let page: Page;
    before(async () => {
      opened = await visit(browser, app.url, server().baseUrl);
      page = opened.page;
      await page.waitForFunction(() => "showFrame" in globalThis);
    });
    after(async () => {
      await opened.context.close();
      assert.deepEqual(opened.faults, []);
    });

    /** Shows a frame anew; resolves to its public key. */
    const shown = (name: Frame): Promise<string> =>
      page.evaluate(
        async ({ server, name }) => {
          const { showFrame, stampers } = globalThis as unknown as App;
          stampers[name]?.clear();
          stampers[name] = await showFrame(server, name);
          return stampers[name].publicKey() as string;
        },
        { server: server().baseUrl, name },
      );
    const inside = (name: Frame): FrameLocator => page.frameLocator(`#${name}`);
    /** Calls one of the published package's functions; resolves to its answer, or to its error's text. */
    const ask = (name: Frame, call: string, ...args: unknown[]): Promise<Json> =>
      page.evaluate(
        async ({ name, call, args }) => {
          const { stampers } = globalThis as unknown as App;
          const stamper = stampers[name] as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
          try {
            return { value: await stamper[call]?.(...args) };
          } catch (error) {
            return { error: (error as Error).message };
          }
        },
        { name, call, args },
      );
    const done = async (name: Frame, call: string, ...args: unknown[]): Promise<Json> => {
      const { value, error } = await ask(name, call, ...args);
      assert.equal(error, undefined);
      return value;
    };

    it("stamp requests for who has signed in, and for nobody before", async () => {
      const { root } = server();
      const { organizationId } = root;
      const body = JSON.stringify({ organizationId });
      const targetPublicKey = await shown("auth");
      assert.match((await ask("auth", "stamp", body)).error, /nobody has signed in/);
      assert.match((await ask("auth", "injectCredentialBundle", "not a bundle")).error, /./);
      const { credentialBundle } = await root.result("create_read_write_session", { targetPublicKey });
      assert.equal(await done("auth", "injectCredentialBundle", credentialBundle), true);
      const { stampHeaderName, stampHeaderValue } = await done("auth", "stamp", body);
      const headers = { "content-type": "application/json", [stampHeaderName]: stampHeaderValue };
      const url = `${server().baseUrl}/public/v1/query/whoami`;
      const answer = await fetch(url, { method: "POST", headers, body });
      assert.equal(answer.status, 200);
      assert.equal(((await answer.json()) as Json).organizationId, organizationId);
      assert.equal(await shown("auth"), targetPublicKey, "the key outlives the frame");
      assert.match((await ask("auth", "stamp", body)).error, /nobody has signed in/, "who signed in does not");
      await done("auth", "clearEmbeddedKey");
      assert.equal(await done("auth", "getEmbeddedPublicKey"), null);
      assert.notEqual(await done("auth", "initEmbeddedKey"), targetPublicKey);
      const frame = page.frames().find((frame) => frame.url().endsWith("/frames/auth"));
      await frame?.evaluate(() => localStorage.clear());
      assert.equal(await done("auth", "getEmbeddedPublicKey"), null, "a key that another tab cleared is gone here");
    });

    it("take a recovery phrase in, and show it and its key again, to nobody but their user", async () => {
      const { root } = server();
      const { organizationId } = root;
      const { userId } = await root.read("whoami");
      await shown("import");
      assert.match((await ask("import", "extractWalletEncryptedBundle")).error, /inject an import bundle first/);
      const { importBundle } = await root.result("init_import_wallet", { userId });
      await done("import", "injectImportBundle", importBundle, organizationId, userId);
      assert.match((await ask("import", "extractWalletEncryptedBundle")).error, /nothing has been typed yet/);
      const field = inside("import").getByRole("textbox", { name: "Recovery phrase or private key" });
      await field.fill(` ${MNEMONIC.replace(" ", "\n ")} `);
      const encryptedBundle = await done("import", "extractWalletEncryptedBundle");
      assert.equal(await field.inputValue(), "");
      const wanted = {
        userId,
        walletName: `From a frame ${importBundle.length}`,
        encryptedBundle,
        accounts: [ACCOUNT],
      };
      const { walletId, addresses } = await root.result("import_wallet", wanted);
      assert.deepEqual(addresses, [ADDRESS]);

      const of = { targetPublicKey: await shown("export") };
      const { exportBundle } = await root.result("export_wallet", { walletId, ...of });
      assert.match((await ask("export", "injectWalletExportBundle", exportBundle, userId)).error, /organization/i);
      await done("export", "injectWalletExportBundle", exportBundle, organizationId);
      await inside("export").getByText(MNEMONIC).waitFor();
      assert.equal(await page.evaluate(() => document.querySelector("iframe")?.contentDocument), null);
      const again = await ask("export", "injectWalletExportBundle", exportBundle, organizationId);
      assert.match(again.error, /has no key/, "it is opened once");
      await done("export", "clearEmbeddedPrivateKey");
      assert.equal(await inside("export").locator("body").innerText(), "");

      const targetPublicKey = await done("export", "initEmbeddedKey");
      const account = await root.result("export_wallet_account", { address: ADDRESS, targetPublicKey });
      await done("export", "injectKeyExportBundle", account.exportBundle, organizationId);
      await inside("export").getByText(PRIVATE_KEY).waitFor();
    });

    it("take the passphrase of a recovery phrase where the app wants one", async () => {
      const { root } = server();
      const { userId } = await root.read("whoami");
      await shown("import");
      await done("import", "applySettings", { enablePassphrase: true, passphraseStyles: { color: "red" } });
      const { importBundle } = await root.result("init_import_wallet", { userId });
      await done("import", "injectImportBundle", importBundle, root.organizationId, userId);
      await inside("import").getByRole("textbox", { name: "Recovery phrase" }).fill(MNEMONIC);
      await inside("import").getByRole("textbox", { name: "Passphrase" }).fill("a passphrase of mine");
      const encryptedBundle = await done("import", "extractWalletEncryptedBundle");
      const wanted = { userId, walletName: "With a passphrase", encryptedBundle, accounts: [ACCOUNT] };
      const { addresses } = await root.result("import_wallet", wanted);
      const seed = mnemonicToSeedSync(MNEMONIC, "a passphrase of mine");
      assert.deepEqual(addresses, [HDKey.fromMasterSeed(seed).derive(ACCOUNT.path).privateKey].map(addressOf));
    });

    it("take a private key in", async () => {
      const { root } = server();
      const { organizationId } = root;
      const { userId } = await root.read("whoami");
      await shown("import");
      const { importBundle } = await root.result("init_import_private_key", { userId });
      await done("import", "injectImportBundle", importBundle, organizationId, userId);
      const field = inside("import").getByRole("textbox");
      await field.fill(MNEMONIC);
      for (const format of ["HEXADECIMAL", "SOLANA"] satisfies `${KeyFormat}`[]) {
        const { error } = await ask("import", "extractKeyEncryptedBundle", format);
        assert.match(error, /could not be encrypted/);
        assert.doesNotMatch(error, /test|junk/, "the page is told nothing of what was typed");
      }
      await field.fill(PRIVATE_KEY);
      const wrong = await ask("import", "extractKeyEncryptedBundle", "SUI_BECH32" satisfies `${KeyFormat}`);
      assert.match(wrong.error, /keyFormat must be one of HEXADECIMAL, SOLANA/);
      const encryptedBundle = await done("import", "extractKeyEncryptedBundle");
      const { curve, addressFormat } = ACCOUNT;
      const key = { userId, privateKeyName: "From a frame", encryptedBundle, curve, addressFormats: [addressFormat] };
      const { addresses } = await root.result("import_private_key", key);
      assert.equal(addresses[0].address, ADDRESS);
    });

    it("look as the app wants, within what does no harm", async () => {
      await shown("import");
      await done("import", "applySettings", { styles: { color: "rgb(1, 2, 3)", labelColor: "rgb(4, 5, 6)" } });
      const colorOf = (selector: string) =>
        inside("import")
          .locator(selector)
          .evaluate((element) => getComputedStyle(element).color);
      assert.equal(await colorOf("textarea"), "rgb(1, 2, 3)");
      assert.equal(await colorOf("label"), "rgb(4, 5, 6)");
      for (const [styles, message] of [
        [{ backgroundColor: "url(https://evil.example/)" }, /bad value for the style backgroundColor/],
        [{ position: "fixed" }, /there is no style position here/],
      ] as const) {
        assert.match((await ask("import", "applySettings", { styles })).error, message);
      }
      await shown("export");
      assert.match((await ask("export", "signMessage", { message: "0x", type: "ETHEREUM" })).error, /SIGN_MESSAGE/);
    });
  });

  describe("of a server that names who may show them", () => {
    let server: TestServer;
    before(async () => {
      server = await startTestServer("sqlite", { settings: { KEYSTEAD_FRAME_ORIGINS: "https://app.example.com" } });
    });
    after(() => server.close());

    it("are not shown to anybody else", async () => {
      const frame = `${server.baseUrl}/frames/auth`;
      const { headers, status } = await fetch(frame);
      assert.equal(status, 200);
      assert.match(headers.get("content-security-policy") as string, /frame-ancestors https:\/\/app\.example\.com$/);
      assert.equal(headers.get("x-frame-options"), null);
      const { page, context } = await visit(browser, app.url, server.baseUrl);
      const refused = page.waitForEvent("requestfailed", (request) => request.url() === frame);
      await page.evaluate((src) => {
        document.body.append(Object.assign(document.createElement("iframe"), { src }));
      }, frame);
      assert.match((await refused).failure()?.errorText as string, /BLOCKED/);
      await context.close();
    });
  });
});
