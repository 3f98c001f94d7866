import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, it } from "node:test";
import { encryptOnRampSecret } from "@turnkey/crypto";
import { examplesIn, runExample } from "../support/guide.ts";
import { onRampProviderOfTests } from "../support/on-ramp-provider.ts";
import { apiClientOf } from "../support/sdk.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { addSubOrganization } from "../support/world.ts";

/** The example of the guide, run as it stands there with the published clients. */

const [example = ""] = examplesIn("on-ramp")("From the account to the purchase");

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
  const { transactionStatus } = await runExample(example, given, "transactionStatus");
  assert.equal(transactionStatus, "COMPLETED");
  assert.match(opened[0] ?? "", /^https:\/\/pay-sandbox\.coinbase\.com\//);
  assert.deepEqual(provider.sessions.at(-1)?.body.addresses, [{ address: walletAddress, blockchains: ["base"] }]);
});
