import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { Turnkey } from "@turnkey/sdk-server";
import { testSolana } from "../support/chain.ts";
import { examplesIn, runExample } from "../support/guide.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { lamportsOf, newSolanaWallet, SOL, unsignedTransfer } from "../support/solana-sender.ts";

/** The example of the guide, run as it stands there with the published client. */

const [example = ""] = examplesIn("sending")("`sol_send_transaction`");

let server: TestServer;
before(async () => {
  server = await startTestServer("sqlite");
});
after(() => server.close());

it("sends a transaction and waits for its end", async () => {
  const { baseUrl, credentials, root } = server;
  const wallet = new Turnkey({
    apiBaseUrl: baseUrl,
    apiPublicKey: credentials.apiKey.publicKey,
    apiPrivateKey: credentials.apiKey.privateKey as string,
    defaultOrganizationId: credentials.organizationId,
  }).apiClient();
  const { addresses } = await newSolanaWallet(root, testSolana());
  const { wire, to } = unsignedTransfer(addresses);
  let shown = "";
  const given = {
    wallet,
    transaction: new Uint8Array(wire),
    from: addresses[0],
    pause: (milliseconds: number) => setTimeout(milliseconds),
    show: (signature: string) => {
      shown = signature;
    },
  };
  await runExample(example, given);
  assert.match(shown, /^[1-9A-HJ-NP-Za-km-z]{80,90}$/);
  assert.equal(await lamportsOf(testSolana(), to), SOL);
});
