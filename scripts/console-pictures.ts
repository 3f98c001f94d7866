import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { noBrowser } from "../test/support/browser.ts";
import { addUser, type Client } from "../test/support/client.ts";
import { activityThatWaits, openStage } from "../test/support/console.ts";
import { credentialsOf, goTo, openedPage, signInWithText } from "../test/support/console-page.ts";

/** The pictures of the console in the documentation: `npm run docs:pictures` takes them again, once its pages look otherwise. */

const IMAGES = join(dirname(fileURLToPath(import.meta.url)), "..", "docs", "images");

const ACCOUNTS = [
  ["CURVE_SECP256K1", "ADDRESS_FORMAT_ETHEREUM", "m/44'/60'/0'/0/0", "Payments"],
  ["CURVE_SECP256K1", "ADDRESS_FORMAT_ETHEREUM", "m/44'/60'/0'/0/1", "Payroll"],
  ["CURVE_ED25519", "ADDRESS_FORMAT_SOLANA", "m/44'/501'/0'/0'", "Payments"],
  ["CURVE_SECP256K1", "ADDRESS_FORMAT_BITCOIN_MAINNET_P2WPKH", "m/84'/0'/0'/0/0", "Reserve"],
].map(([curve, addressFormat, path, name]) => ({ curve, pathFormat: "PATH_FORMAT_BIP32", path, addressFormat, name }));

/** What happens in an organization in its first minutes; one activity waits for the root user. */
async function beginWork(root: Client, userId: string): Promise<{ walletId: string }> {
  await root.result("update_organization_name", { organizationName: "Acme Treasury" });
  await root.result("update_user_name", { userId, userName: "Ada" });
  const { walletId, addresses } = await root.result("create_wallet", { walletName: "Treasury", accounts: ACCOUNTS });
  await activityThatWaits(root);
  for (const signWith of addresses.slice(0, 2)) {
    await root.result("sign_raw_payload", {
      signWith,
      payload: "Invoice 2041",
      encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
      hashFunction: "HASH_FUNCTION_KECCAK256",
    });
  }
  const { client } = await addUser(root, "Linus");
  await client.submit("create_user_tag", { userTagName: "Finance", userIds: [] });
  return { walletId };
}

async function take(page: Page, name: string, width: number, height: number): Promise<void> {
  await page.setViewportSize({ width, height });
  await page.getByLabel("Loading").first().waitFor({ state: "hidden" });
  // What has the focus, or is under the mouse, would be drawn otherwise.
  await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(IMAGES, `console-${name}.png`) });
}

if (noBrowser) throw new Error(noBrowser);
const stage = await openStage("sqlite");
try {
  await stage.tell(
    async ({ page, world, root }) => {
      const { walletId } = await beginWork(root, world.root.userId);
      await signInWithText(page, credentialsOf(root));
      await openedPage(page, "Overview");
      await take(page, "overview", 1200, 760);
      await take(page, "phone", 390, 760);
      await page.setViewportSize({ width: 1200, height: 760 });
      await page.getByRole("region", { name: "Waiting for you" }).getByRole("link", { name: "Create wallet" }).click();
      await page.getByText("Your approval counts").waitFor();
      await take(page, "activity", 1200, 760);
      await page.goto(`${stage.url}/#/wallets/${walletId}`);
      await openedPage(page, "Treasury");
      await take(page, "wallet", 1200, 600);
      await page.setViewportSize({ width: 1280, height: 900 });
      await goTo(page, "Policies");
      await page.getByRole("link", { name: "Two make wallets" }).click();
      await openedPage(page, "Two make wallets");
      await page.getByRole("combobox", { name: "Start from an earlier activity" }).click();
      await page
        .getByRole("option", { name: /^Create wallet/ })
        .first()
        .click();
      await page.getByRole("button", { name: "Simulate" }).click();
      await page.getByText(/With the saved policies/).waitFor();
      await take(page, "policy", 1280, 900);
    },
    { isSignedOut: true },
  );
} finally {
  await stage.close();
}
