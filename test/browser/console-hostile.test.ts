import assert from "node:assert/strict";
import { it } from "node:test";
import type { Page, Route } from "playwright-core";
import { testNode } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import { HOSTILE, storiesOn } from "../support/console.ts";
import { credentialsOf, goTo, signInWithText } from "../support/console-page.ts";
import { credentialParams } from "../support/oauth2-provider.ts";
import { moonPayParams } from "../support/on-ramp-provider.ts";
import { addSubOrganization } from "../support/world.ts";

/** What others have named, or answered, is text in the console, whatever it is: never markup, and never a link. */

const ETHEREUM_ACCOUNT = {
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: "m/44'/60'/0'/0/0",
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
};

/** Members of answers whose text is somebody else's: people's, another service's, a contract's. */
const OTHERS_WORDS = new Set([
  ...["userName", "username", "userEmail", "organizationName", "walletName", "privateKeyName", "policyName", "tagName"],
  ...["apiKeyName", "receiverUserName", "receiverUserEmail", "name", "notes", "label", "url", "organizationNames"],
  // As others call the organization.
  ...["clientId", "publishableApiKey"],
  // Of tokens, of contracts, of webhooks and of mail.
  ...["symbol", "smartContractInterface", "error", "fromAddress", "diagnosticCode", "eventType"],
]);

/** The same answer with hostile words wherever others' stand. */
function poisoned(value: unknown, name = ""): unknown {
  if (Array.isArray(value)) return value.map((each) => poisoned(each, name));
  if (typeof value === "object" && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, poisoned(member, key)]));
  }
  return typeof value === "string" && OTHERS_WORDS.has(name) ? HOSTILE : value;
}

/** What the world has not seen here: attempts that failed, and what became of mail. */
function answerOf(url: string, body: Json): Json {
  if (url.endsWith("/list_webhook_deliveries")) {
    const attempts = [{ startedAt: { seconds: "1", nanos: "0" }, durationMs: 1, error: "refused" }];
    return { deliveries: body.deliveries.map((delivery: Json) => ({ ...delivery, attempts })) };
  }
  if (url.endsWith("/list_email_events")) {
    const details = { diagnosticCode: "550 no such mailbox" };
    const timestamp = { seconds: "1", nanos: "0" };
    return { emailEvents: [{ id: "1", eventType: "Bounce", fromAddress: "keystead@example.com", details, timestamp }] };
  }
  return body;
}

async function poisonAnswers(page: Page): Promise<void> {
  await page.route("**/public/v1/query/**", async (route: Route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as Json;
    await route.fulfill({ response: answer, json: poisoned(answerOf(route.request().url(), body)) });
  });
}

/** Where the page has the character of the hostile words that turns the direction of what follows, but for fields in which it can be changed. */
function unseenWords(): string[] {
  const isIn = (text: string | null) => text?.includes("\u202e");
  const all = [...document.querySelectorAll("*")].filter((element) => !element.closest("textarea, [contenteditable]"));
  return all.flatMap((element) => {
    const attributes = [...element.attributes].filter(({ name, value }) => name !== "value" && isIn(value));
    const texts = [...element.childNodes].filter(
      ({ nodeType, nodeValue }) => nodeType === Node.TEXT_NODE && isIn(nodeValue),
    );
    return [...attributes.map(({ name }) => name), ...texts.map(({ nodeValue }) => nodeValue)].map(
      (what) => `${element.tagName} ${element.className}: ${what}`,
    );
  });
}

storiesOn("sqlite", "hostile words in the console", (stage) => {
  it("are text on every page that shows them", () =>
    stage.tell(
      async ({ page, root }) => {
        const { walletId, addresses } = await root.result("create_wallet", {
          walletName: "Wallet",
          accounts: [ETHEREUM_ACCOUNT],
        });
        await root.result("create_user_tag", { userTagName: "Tag", userIds: [] });
        const { policyId } = await root.result("create_policy", {
          ...{ policyName: "Policy", effect: "EFFECT_ALLOW", condition: "false", consensus: "true", notes: "Notes" },
        });
        const privateKey = { privateKeyName: "key", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };
        await root.result("create_private_keys", { privateKeys: [privateKey] });
        const { endpointId } = await root.result("create_webhook_endpoint", {
          ...{ name: "Endpoint", url: "https://hooks.example.com/", subscriptions: [] },
        });
        await root.submit("test_webhook_endpoint", { endpointId });
        const { body } = await root.submit("create_smart_contract_interface", {
          ...{ smartContractAddress: `0x${"aa".repeat(20)}`, smartContractInterface: "[]", label: "Token", notes: "" },
          type: "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
        });
        await addSubOrganization(root);
        await root.result("create_oauth2_credential", await credentialParams(stage.server.baseUrl));
        await root.result("create_fiat_on_ramp_credential", await moonPayParams(stage.server.baseUrl));
        const { userId } = await root.read("whoami");
        await testNode().call("anvil_setBalance", addresses[0], "0xde0b6b3a7640000");
        await poisonAnswers(page);
        await signInWithText(page, credentialsOf(root));

        const words = page.getByRole("main").getByText("<img src=x", { exact: false }).filter({ visible: true });
        const assertText = async (what: string) => {
          await words.first().waitFor();
          const taken = page.locator("[src=x], [onerror], a[href*=evil]");
          assert.equal(await taken.count(), 0, `something became markup or a link: ${what}`);
          assert.notEqual(await page.title(), "taken", what);
          assert.deepEqual(await page.evaluate(unseenWords), [], `what cannot be seen is seen, and heard: ${what}`);
        };
        for (const label of [
          "Wallets",
          "Private keys",
          "Users",
          "Organization",
          "Sub-organizations",
          "Policies",
          "Webhooks",
        ]) {
          await goTo(page, label);
          await assertText(label);
        }
        await page.getByRole("button", { name: "Deliveries" }).click();
        await page.getByRole("cell", { name: /^1, the last: <img src=x/ }).waitFor();
        await assertText("deliveries");
        await goTo(page, "Products");
        await assertText("what an account at another service is called");
        await goTo(page, "Sign-in");
        await page.getByRole("cell", { name: /^<img src=x/ }).waitFor();
        await page.getByRole("textbox", { name: "Email address" }).fill("ada@example.com");
        await page.getByRole("button", { name: "Show events" }).click();
        await assertText("what became of mail");
        for (const path of [
          `users/${userId}`,
          `wallets/${walletId}`,
          `policies/${policyId}`,
          `activities/${body.activity.id}`,
        ]) {
          await page.goto(`${stage.url}/#/${path}`);
          await page.getByRole("heading", { level: 1 }).waitFor();
          await assertText(path);
        }
        await page.goto(`${stage.url}/#/wallets/${walletId}/addresses/${addresses[0]}`);
        await page.getByRole("combobox", { name: "Chain" }).fill("Sepolia");
        await page.getByRole("option", { name: "Ethereum Sepolia" }).click();
        await page.getByRole("region", { name: "Balances" }).getByText("<img src=x").first().waitFor();
        await assertText("the symbols of tokens");
      },
      { isSignedOut: true },
    ));
});
