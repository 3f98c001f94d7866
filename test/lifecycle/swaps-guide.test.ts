import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { testEarnNode } from "../support/chain.ts";
import type { Client, Json } from "../support/client.ts";
import { examplesIn, runExample } from "../support/guide.ts";
import { relayOfTests } from "../support/relay.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { richSponsor } from "../support/sponsor.ts";
import { assetOf, newSwapper, SWAP_INPUT, SWAP_OUTPUT, tokenBalance } from "../support/swap-world.ts";
import { until } from "../support/until.ts";
import { addSubOrganization } from "../support/world.ts";

/** The example of the guide, run as it stands there. */

const [example = ""] = examplesIn("swaps")("From the quote to the asset");

let server: TestServer;
before(async () => {
  server = await startTestServer("sqlite");
  await richSponsor(server.baseUrl, testEarnNode());
});
after(() => server.close());

/** Calls operations by their names in camel case, as SDKs do. */
const clientOf = (client: Client): Json =>
  new Proxy(
    {},
    {
      get: (_, name: string) => (parameters: object) => {
        const path = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
        return /^(get|list)_/.test(path) ? client.read(path, parameters) : client.result(path, parameters);
      },
    },
  );

it("quotes, executes, and claims the fees", async () => {
  const { root } = server;
  const { client: user } = await addSubOrganization(root);
  const relay = await relayOfTests();
  const feeReceiverWalletAddress = await newSwapper(root, 0n);
  const walletAddress = await newSwapper(user, 1_000_000n);
  relay.accrue(feeReceiverWalletAddress, "2500");
  const given = {
    parent: clientOf(root),
    user: clientOf(user),
    feeReceiverWalletAddress,
    walletAddress,
    inputToken: assetOf(SWAP_INPUT),
    outputToken: assetOf(SWAP_OUTPUT),
    until: async (look: () => Promise<Json>) => {
      let status: Json = {};
      await until(async () => {
        status = await look();
        return status.outputAmount !== undefined;
      }, "the end of the swap");
      return status;
    },
  };
  const { swap, requestId } = await runExample(example, given, "swap, requestId");
  assert.equal(swap.outputAmount, "997500", "of a million, less the fee");
  assert.equal(await tokenBalance(SWAP_OUTPUT, walletAddress), 997_500n);
  assert.equal(await tokenBalance(SWAP_INPUT, walletAddress), 0n);
  assert.equal(relay.claims.get(feeReceiverWalletAddress.toLowerCase()), requestId);
});
