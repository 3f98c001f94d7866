import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, it } from "node:test";
import { encryptOnRampSecret } from "@turnkey/crypto";
import { onRampProviderOfTests } from "../support/on-ramp-provider.ts";
import { apiClientOf } from "../support/sdk.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { addSubOrganization } from "../support/world.ts";

/** The example of the guide, run as it stands there with the published clients. */

const guide = readFileSync(new URL("../../docs/guide/on-ramp.md", import.meta.url), "utf8");
const [, example = ""] = /```js\n([\s\S]*?)```/.exec(guide) ?? [];

let server: TestServer;
before(async () => {
  server = await startTestServer("sqlite");
});
after(() => server.close());

it("buys with the account of the parent, for a wallet of a sub-organization", async () => {
  const { baseUrl, root } = server;
  const { client: user } = await addSubOrganization(root);
  const provider = await onRampProviderOfTests();
  const { keyId, privateKey } = provider.coinbaseAccount("EdDSA");
  const opened: string[] = [];
  const walletAddress = "0xde0b295669a9fd93d5f28d9ec85e40f4cb697bae";
  const given = {
    baseUrl,
    parent: apiClientOf(root),
    user: apiClientOf(user),
    account: { projectId: randomUUID(), keyId, secret: "a secret", privateKey },
    walletAddress,
    openInBrowser: async (url: string) => {
      opened.push(url);
      const transactionId = new URL(url).searchParams.get("partnerUserRef") ?? "";
      provider.tell(transactionId, [{ status: "ONRAMP_TRANSACTION_STATUS_SUCCESS", partnerUserRef: transactionId }]);
    },
    encryptOnRampSecret,
  };
  const AsyncFunction = (async () => {}).constructor as new (
    ...parts: string[]
  ) => (...values: unknown[]) => Promise<string>;
  const run = new AsyncFunction(...Object.keys(given), `${example}\nreturn transactionStatus;`);
  assert.equal(await run(...Object.values(given)), "COMPLETED");
  assert.match(opened[0] ?? "", /^https:\/\/pay-sandbox\.coinbase\.com\//);
  assert.deepEqual(provider.sessions.at(-1)?.body.addresses, [{ address: walletAddress, blockchains: ["base"] }]);
});
