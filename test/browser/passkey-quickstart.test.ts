import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { keccak256, recoverAddress, toBytes } from "viem";
import { type AppPage, startAppPage } from "../support/app-page.ts";
import { noBrowser, startBrowser } from "../support/browser.ts";
import type { Json } from "../support/client.ts";
import { visit } from "../support/console.ts";
import { evmSignature } from "../support/evm-signature.ts";
import { examplesIn, runExample } from "../support/guide.ts";
import { apiClientOf } from "../support/sdk.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { addAuthenticator } from "../support/virtual-authenticator.ts";

/** The quickstart of passkeys, its module in a real browser and its server's part here, as they stand there. */

const [ofPage = "", ofServer = ""] = examplesIn("quickstarts")("A passkey in a browser");
const BASE_URL = "http://localhost:8080";

/** What the module exports, and the test's page has for all to see. */
interface Exported {
  register(organizationId: string, name: string): Promise<Json>;
  sign(subOrganizationId: string, message: string): Promise<Json>;
}
type Page = { quickstart: Exported };

describe("the quickstart of passkeys", { skip: noBrowser }, () => {
  let server: TestServer;
  let browser: Browser;
  let app: AppPage;
  before(async () => {
    server = await startTestServer("sqlite");
    assert.ok(ofPage.includes(BASE_URL));
    const script = `${ofPage.replace(BASE_URL, server.baseUrl)}\nglobalThis.quickstart = { register, sign };`;
    [browser, app] = await Promise.all([startBrowser(), startAppPage(script)]);
  });
  after(async () => {
    await browser.close();
    app.close();
    await server.close();
  });

  it("signs by a passkey in a browser", async () => {
    const { root, baseUrl } = server;
    const { page, context, faults } = await visit(browser, app.url, baseUrl);
    await addAuthenticator(page);
    await page.waitForFunction(() => "quickstart" in globalThis);
    const registered = await page.evaluate(
      (id) => (globalThis as unknown as Page).quickstart.register(id, "Ada"),
      root.organizationId,
    );
    const turnkey = apiClientOf(root);
    const { subOrganizationId } = await runExample(ofServer, { turnkey, ...registered }, "subOrganizationId");
    const { address, ...parts } = await page.evaluate(
      (id) => (globalThis as unknown as Page).quickstart.sign(id, "hello"),
      subOrganizationId,
    );
    const signature = evmSignature(parts);
    assert.equal(await recoverAddress({ hash: keccak256(toBytes("hello")), signature }), address);
    const sub = root.with({ organizationId: subOrganizationId });
    const { activities } = await sub.read("list_activities", { filterByType: ["ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2"] });
    assert.deepEqual(
      activities.flatMap(({ votes }: Json) => votes.map(({ scheme }: Json) => scheme)),
      ["SIGNATURE_SCHEME_TK_WEBAUTHN"],
    );
    await context.close();
    assert.deepEqual(faults, []);
  });
});
