import assert from "node:assert/strict";
import { it } from "node:test";
import { CHAIN_NAMES } from "../../console/src/parts/chains.ts";
import { EARN_ASSET, EARN_CHAIN, testEarnNode } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import { HOSTILE, HOSTILE_SHOWN, storiesOn } from "../support/console.ts";
import {
  assertAccessible,
  credentialsOf,
  goTo,
  openedPage,
  requiredField,
  signInWithText,
} from "../support/console-page.ts";
import { approvalParams, deploymentParams, newDeployment, newOperator, someProgram } from "../support/deployments.ts";
import { newEvmWallet } from "../support/evm-sender.ts";
import { oauth2ProviderOfTests } from "../support/oauth2-provider.ts";
import { MOONPAY_SECRET, onRampProviderOfTests, openMoonPayUrl, purchaseParams } from "../support/on-ramp-provider.ts";
import { startReceiver } from "../support/receiver.ts";
import { richSponsor } from "../support/sponsor.ts";
import { until } from "../support/until.ts";

/** A name of letters and signs without spaces, which is a page of its own, if anybody lets it. */
const HOSTILE_ID = `<img/src=x/onerror="document.title='taken'"><a/href="https://evil.example">`;

let clockAheadMs = 0;

/** What the organization tells others, and what it lets them do, in a real browser. */
storiesOn(
  "sqlite",
  "services in the console",
  (stage) => {
    it("shows how people sign in, and what products there are", () =>
      stage.tell(async ({ page, root }) => {
        await goTo(page, "Sign-in");
        await page.getByText("It has not been enabled yet.").waitFor();
        await page.getByText("There are none. X and Discord need one").waitFor();
        await page.getByRole("textbox", { name: "Email address" }).fill("ada@example.com");
        await page.getByRole("button", { name: "Show events" }).click();
        await page.getByText("There are no events of mails to this address.").waitFor();
        await goTo(page, "Products");
        for (const text of ["No vaults are enabled.", "There are no providers.", "There are no apps."]) {
          await page.getByText(text).waitFor();
        }
        await root.result("enable_auth_proxy", {});
        const { config } = await root.read("get_auth_proxy_config");
        await page.reload();
        await signInWithText(page, credentialsOf(root));
        await openedPage(page, "Products");
        await goTo(page, "Sign-in");
        await page.getByTitle(config.configId).waitFor();
      }));

    it("sets how people sign in, with what is wrong at its field", () =>
      stage.tell(async ({ page, root }) => {
        const config = async () => (await root.read("get_auth_proxy_config")).config;
        await goTo(page, "Sign-in");
        const proxy = page.getByRole("region", { name: "Auth proxy" });
        const dialog = page.getByRole("dialog");
        const save = proxy.getByRole("button", { name: "Save settings" });
        await proxy.getByText("Nothing has changed.").waitFor();
        assert.ok(await save.isDisabled());
        await proxy.getByRole("textbox", { name: "Origins" }).fill("https://app.example.com\nnot an origin");
        await proxy.getByRole("spinbutton", { name: "Length of a code" }).fill("12");
        await save.click();
        await proxy.getByText("This must be at most 9").waitFor();
        await proxy.getByRole("spinbutton", { name: "Length of a code" }).fill("8");
        await save.click();
        await proxy.getByText("This must be an origin such as https://app.example.com, or * for any").waitFor();
        const origins = proxy.getByRole("textbox", { name: "Origins" });
        assert.equal(await origins.getAttribute("aria-invalid"), "true");
        await assertAccessible(page, "Sign-in with an error at its field");
        await origins.fill("https://app.example.com\n\nhttps://shop.example.com");
        await proxy.getByRole("checkbox", { name: /^Codes contain letters as well as digits/ }).uncheck();
        await proxy.getByRole("textbox", { name: "Name of the app" }).fill("Shop");
        await proxy.getByRole("textbox", { name: "Client ID at Google", exact: true }).fill("shop.example");
        await save.click();
        await proxy.getByText("Saved.").waitFor();
        const settings = {
          allowedOrigins: ["https://app.example.com", "https://shop.example.com"],
          otpLength: 8,
          otpAlphanumeric: false,
          emailCustomizationParams: { appName: "Shop" },
          walletKitSettings: { enabledSocialProviders: [], oauthClientIds: { google: "shop.example" } },
        };
        const { configId, ...set } = await config();
        assert.deepEqual(set, { enabled: false, ...settings });

        await proxy.getByRole("button", { name: "Enable" }).click();
        await dialog.getByRole("button", { name: "Enable" }).click();
        await proxy.getByText("On", { exact: true }).waitFor();
        await proxy.getByTitle(configId).waitFor();
        // Another one sets something meanwhile, which stays.
        await root.result("update_auth_proxy_config", { sessionExpirationSeconds: 600 });
        await origins.fill("");
        await save.click();
        await proxy.getByText("Nothing has changed.").waitFor();
        const { enabled, sessionExpirationSeconds, allowedOrigins, otpLength } = await config();
        assert.deepEqual([enabled, sessionExpirationSeconds, allowedOrigins, otpLength], [true, 600, [], 8]);
        const { activities } = await root.read("list_activities");
        assert.ok(activities.some(({ type }: Json) => type === "ACTIVITY_TYPE_ENABLE_AUTH_PROXY"));
        await proxy.getByRole("button", { name: "Disable" }).click();
        const disable = dialog.getByRole("button", { name: "Disable" });
        await dialog.getByText("It can be enabled again, with another key").waitFor();
        assert.ok(await disable.isDisabled(), "disabled without a name");
        await assertAccessible(page, "Switching off the auth proxy");
        await dialog.getByRole("textbox", { name: "Type World to confirm" }).fill("World");
        await disable.click();
        await proxy.getByText("Off", { exact: true }).waitFor();
        await page.getByText("The auth proxy is disabled. It can be enabled again").waitFor();
        assert.equal((await config()).enabled, false);
      }));

    it("stores, changes and deletes the OAuth 2.0 client that people sign in by", () =>
      stage.tell(async ({ page, root }) => {
        const provider = await oauth2ProviderOfTests();
        const clients = page.getByRole("region", { name: "OAuth 2.0 clients" });
        const dialog = page.getByRole("dialog");
        const clientId = dialog.getByRole("textbox", { name: "Client ID" });
        const secret = requiredField(dialog, "Client secret");
        const stored = async () => (await root.read("list_oauth2_credentials")).oauth2Credentials as Json[];
        const refusesToSignIn = async (id: string): Promise<string> => {
          const [{ oauth2CredentialId }] = (await stored()) as [Json];
          const nonce = "0".repeat(64);
          const signIn = { oauth2CredentialId, ...provider.signIn(id), nonce };
          const { status, body } = await root.submit("oauth2_authenticate", signIn);
          return status === 200 ? "" : body.message;
        };
        await goTo(page, "Sign-in");
        await clients.getByRole("button", { name: "Add a client" }).click();
        await clientId.fill("with a space");
        await secret.fill("another secret");
        await assertAccessible(page, "Adding an OAuth 2.0 client");
        const add = dialog.getByRole("button", { name: "Add client" });
        await add.click();
        await dialog.getByText("This must be a client ID: printable ASCII").waitFor();
        assert.equal(await clientId.getAttribute("aria-invalid"), "true");
        await clientId.fill(HOSTILE_ID);
        await add.click();
        await clients.getByRole("cell", { name: HOSTILE_ID, exact: true }).waitFor();
        const [first] = (await stored()) as [Json];
        assert.deepEqual([first.provider, first.clientId], ["OAUTH2_PROVIDER_X", HOSTILE_ID]);
        assert.match(await refusesToSignIn(HOSTILE_ID), /invalid_client/);

        await clients.getByRole("button", { name: `Change ${HOSTILE_ID}` }).click();
        assert.equal(await secret.inputValue(), "", "a secret was kept");
        await secret.fill(provider.clientSecret);
        await dialog.getByRole("button", { name: "Change client" }).click();
        await dialog.waitFor({ state: "detached" });
        assert.equal(await refusesToSignIn(HOSTILE_ID), "");
        const [second] = (await stored()) as [Json];
        assert.equal(second.oauth2CredentialId, first.oauth2CredentialId);

        await clients.getByRole("button", { name: `Delete ${HOSTILE_ID}` }).click();
        const remove = dialog.getByRole("button", { name: "Delete OAuth 2.0 client" });
        assert.ok(await remove.isDisabled());
        await dialog.getByRole("textbox", { name: /^Type .* to confirm$/ }).fill(HOSTILE_ID);
        await remove.click();
        await clients.getByText("There are none.").waitFor();
        assert.deepEqual(await stored(), []);
        await page.getByText("It can be added again with its secret").waitFor();
        assert.equal(await page.locator("main img, a[href*=evil]").count(), 0);
      }));

    it("stores, changes and deletes the account where people buy crypto", () =>
      stage.tell(async ({ page, root }) => {
        const onRamp = page.getByRole("region", { name: "On-ramp" });
        const dialog = page.getByRole("dialog");
        const field = (name: string) => requiredField(dialog, name);
        const stored = async () => (await root.read("list_fiat_on_ramp_credentials")).fiatOnRampCredentials as Json[];
        await goTo(page, "Products");
        await onRamp.getByRole("button", { name: "Add a provider" }).click();
        await dialog.getByRole("textbox", { name: "Publishable key" }).fill("pk_test_1");
        await field("Secret key").fill(MOONPAY_SECRET);
        await dialog.getByRole("checkbox", { name: "For the provider's sandbox, without real payments" }).check();
        await dialog.getByRole("button", { name: "Add provider" }).click();
        await onRamp.getByRole("row", { name: /^MoonPay .* sandbox/ }).waitFor();
        const purchase = purchaseParams("MOONPAY", { sandboxMode: true });
        const { onRampUrl } = await root.result("init_fiat_on_ramp", purchase);
        assert.equal(openMoonPayUrl(onRampUrl).apiKey, "pk_test_1");

        await onRamp.getByRole("button", { name: "Change pk_test_1" }).click();
        assert.equal(await field("Secret key").inputValue(), "", "a secret was kept");
        await dialog.getByRole("combobox", { name: "Provider" }).click();
        await page.getByRole("option", { name: "Coinbase" }).click();
        const account = (await onRampProviderOfTests()).coinbaseAccount();
        await dialog.getByRole("textbox", { name: "Project's ID" }).fill("a-project");
        await dialog.getByRole("textbox", { name: "API key's ID" }).fill(account.keyId);
        await field("Secret").fill("the other secret");
        await field("Private key").fill("no key");
        await assertAccessible(page, "Changing an on-ramp provider");
        const change = dialog.getByRole("button", { name: "Change provider" });
        await change.click();
        await dialog.getByText("This does not contain a key that can sign for Coinbase").waitFor();
        assert.equal(await field("Private key").getAttribute("aria-invalid"), "true");
        await field("Private key").fill(account.privateKey);
        await change.click();
        await onRamp.getByRole("row", { name: /^Coinbase .* sandbox/ }).waitFor();
        await root.result("init_fiat_on_ramp", purchaseParams("COINBASE", { sandboxMode: true }));
        const [{ sandboxMode, projectId }] = (await stored()) as [Json];
        assert.deepEqual([sandboxMode, projectId], [true, "a-project"]);

        await onRamp.getByRole("button", { name: `Delete ${account.keyId}` }).click();
        const remove = dialog.getByRole("button", { name: "Delete on-ramp provider" });
        assert.ok(await remove.isDisabled());
        await dialog.getByRole("textbox", { name: /^Type .* to confirm$/ }).fill(account.keyId);
        await remove.click();
        await onRamp.getByText("There are no providers.").waitFor();
        assert.deepEqual(await stored(), []);
      }));

    it("enables a vault of the catalog, and has it take no deposits", () =>
      stage.tell(async ({ page, root }) => {
        await richSponsor(stage.server.baseUrl, testEarnNode());
        const { addresses } = await newEvmWallet(root, testEarnNode());
        const [feeWallet] = addresses as [string];
        const earn = page.getByRole("region", { name: "Earn" });
        const dialog = page.getByRole("dialog");
        const choose = async (field: string, option: string) => {
          await dialog.getByRole("combobox", { name: field }).click();
          await page.getByRole("option", { name: option }).click();
        };
        await goTo(page, "Products");
        await earn.getByRole("button", { name: "Enable a vault" }).click();
        await choose("Chain", CHAIN_NAMES[EARN_CHAIN] as string);
        await choose("Token", "Another token");
        await dialog.getByRole("textbox", { name: "Token contract" }).fill(`0x${"12".repeat(20)}`);
        await dialog.getByText("This server's catalog has no vault for this token.").waitFor();
        await dialog.getByRole("textbox", { name: "Token contract" }).fill(EARN_ASSET);
        await choose("Vault", "Test Vault");
        await dialog.getByRole("combobox", { name: "Your fee goes to" }).fill(`0x${"34".repeat(20)}`);
        await dialog.getByRole("textbox", { name: "Your fee (percent)" }).fill("45");
        await assertAccessible(page, "Enabling a vault");
        const enable = dialog.getByRole("button", { name: "Enable vault" });
        await enable.click();
        await dialog.getByText("This must be at most 4000 basis points").waitFor();
        await dialog.getByRole("textbox", { name: "Your fee (percent)" }).fill("12.5");
        await enable.click();
        await dialog.getByText("This is not the address of a wallet account of the organization").waitFor();
        await dialog.getByRole("combobox", { name: "Your fee goes to" }).fill(feeWallet);
        await enable.click();
        await earn.getByRole("row", { name: /^Test Vault .* completed 12.5 % / }).waitFor();
        const [vault] = (await root.read("list_earn_enabled_vaults")).enabledVaults as [Json];
        assert.deepEqual([vault.clientFeeBps, vault.clientFeeWallet.toLowerCase()], ["1250", feeWallet.toLowerCase()]);
        await earn.getByRole("button", { name: "Refuse deposits: Test Vault" }).click();
        await earn.getByText("takes no deposits", { exact: true }).waitFor();
        await assertAccessible(page, "Products with a vault");
      }));

    it("lists the deployments of an app with their states", () =>
      stage.tell(async ({ page, root }) => {
        const alice = newOperator("alice");
        const app = await newDeployment(root, [alice], { app: { name: HOSTILE } });
        const params = await deploymentParams(app.appId, someProgram, { nonce: 7 });
        const second = await root.result("create_tvc_deployment", params);
        const waits = await root.result("create_tvc_deployment", { ...params, nonce: 8 });
        await root.result("create_tvc_manifest_approvals", await approvalParams(root, { ...app, ...second }, [alice]));
        await root.result("delete_tvc_deployment", { deploymentId: app.deploymentId });
        await goTo(page, "Products");
        const card = page.getByRole("region", { name: HOSTILE_SHOWN });
        await card.getByText("live", { exact: true }).waitFor();
        await card.getByRole("button", { name: "Deployments" }).click();
        const row = (id: string) => card.getByRole("row").filter({ has: page.getByTitle(id) });
        await row(waits.deploymentId).getByText("waits for approvals (0 of 1)").waitFor();
        await row(second.deploymentId).getByText("live, and not ready").waitFor();
        await row(app.deploymentId).getByText("deleted").waitFor();
        await row(second.deploymentId).getByText(params.pivotContainerImageUrl).waitFor();
        await assertAccessible(page, "Deployments of an app");
        const dialog = page.getByRole("dialog", { name: "Search" });
        for (const [text, name] of [
          ["onerror=", HOSTILE_SHOWN],
          [app.appId, HOSTILE_SHOWN],
          [waits.deploymentId, params.pivotContainerImageUrl],
        ] as const) {
          await goTo(page, "Overview");
          await page.keyboard.press("Control+k");
          await dialog.getByRole("textbox").fill(text);
          await dialog.getByRole("link", { name, exact: true }).waitFor();
          await page.keyboard.press("Enter");
          await openedPage(page, "Products");
          await row(waits.deploymentId).getByText("waits for approvals (0 of 1)").waitFor();
        }
        assert.equal(await page.locator("main img, a[href*=evil]").count(), 0);
      }));

    it("tells another service, and shows what became of it", () =>
      stage.tell(async ({ page, root }) => {
        const receiver = await startReceiver();
        try {
          await goTo(page, "Webhooks");
          await page.getByRole("button", { name: "New endpoint" }).click();
          await page.getByRole("textbox", { name: "Name" }).fill("Ledger");
          await page.getByRole("textbox", { name: "URL" }).fill(receiver.url);
          await page.getByRole("button", { name: "Create endpoint" }).click();
          const ledger = page.getByRole("region", { name: "Ledger" });
          await ledger.getByText("Receives activity updates.").waitFor();
          await root.result("create_user_tag", { userTagName: "told of", userIds: [] });
          await ledger.getByRole("button", { name: "Deliveries" }).click();
          await ledger
            .getByRole("row", { name: /activity updates delivered 1, the last: answered 200/ })
            .first()
            .waitFor();
          await ledger.getByRole("button", { name: "Send a test" }).click();
          await ledger.getByText("A test event is being sent.").waitFor();
          await ledger
            .getByRole("row", { name: /webhook endpoint test delivered 1, the last: answered 200/ })
            .waitFor();
          assert.ok(receiver.received.some(({ body }) => JSON.parse(body).type === "webhooks:endpoint_test"));
          await assertAccessible(page, "Webhooks with a test");
          await ledger.getByRole("button", { name: "Send again" }).first().click();
          await ledger
            .getByRole("row", { name: /2, the last: answered 200/ })
            .first()
            .waitFor();
          await ledger.getByText("All attempts").first().click();
          await ledger
            .getByRole("listitem")
            .filter({ hasText: /[0-9]+ ms: answered 200/ })
            .nth(1)
            .waitFor();
          const { endpointId } = await root.result("create_webhook_endpoint", { name: "Unused", url: receiver.url });
          await root.result("update_webhook_endpoint", { endpointId, isActive: false });
          await goTo(page, "Overview");
          await page.getByText("1 active, 1 off").waitFor();
          await page.getByRole("main").getByText("Server", { exact: true }).waitFor();
        } finally {
          await receiver.close();
        }
      }));

    it("draws what was counted of each day, and tells it as a table", () =>
      stage.tell(async ({ page, root }) => {
        await root.result("create_user_tag", { userTagName: "counted", userIds: [] });
        // Counting begins some seconds after it happened.
        clockAheadMs += 60_000;
        await until(async () => (await root.read("get_activity_counts")).outcomes.length > 0);
        const charts = page.getByRole("region", { name: "The last 30 days" });
        await charts.getByRole("img", { name: /^Activities, from .* at most [0-9]+ on a day/ }).waitFor();
        await charts.getByText(/Completed: [0-9]+/).waitFor();
        await charts.getByText("None in this period.").first().waitFor();
        await charts.getByText("Activities as a table").click();
        await charts.getByRole("row", { name: /^[0-9]{4}-[0-9]{2}-[0-9]{2} [1-9]/ }).waitFor();
        await assertAccessible(page, "Overview with charts");
      }));
  },
  { clock: () => Date.now() + clockAheadMs },
);
