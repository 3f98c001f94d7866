import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { type Anvil, EARN_CHAIN_ID, startAnvil } from "../support/anvil.ts";
import { EARN_CHAIN, earnEntry } from "../support/chain.ts";
import type { Client, Json } from "../support/client.ts";
import { type EarnWorld, newEarnWorld } from "../support/earn.ts";
import { newEvmWallet } from "../support/evm-sender.ts";
import { examplesIn, runExample } from "../support/guide.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { richSponsor } from "../support/sponsor.ts";
import { until } from "../support/until.ts";
import { addSubOrganization } from "../support/world.ts";

/** The example of the guide, run as it stands there. */

const [example = ""] = examplesIn("earn")("From the vault to the fee");

let node: Anvil;
let world: EarnWorld;
let server: TestServer;
before(async () => {
  node = await startAnvil({ chainId: EARN_CHAIN_ID });
  world = await newEarnWorld(node);
  server = await startTestServer("sqlite", {
    chains: { [EARN_CHAIN]: { rpcUrls: [node.url] } },
    earn: { vaults: [earnEntry(world.vault.address)] },
  });
  await richSponsor(server.baseUrl, node);
});
after(async () => {
  await server.close();
  await node.stop();
});

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

it("deploys, deposits, earns, withdraws and claims", async () => {
  const { root } = server;
  const { client: user } = await addSubOrganization(root);
  const [clientFeeWallet] = (await newEvmWallet(root, node)).addresses as [string];
  const [walletAddress] = (await newEvmWallet(user, node)).addresses as [string];
  await world.token.write(world.maker, "mint", walletAddress, 600_000_000n);
  const given = {
    parent: clientOf(root),
    user: clientOf(user),
    caip19: `${EARN_CHAIN}/erc20:${world.token.address}`,
    chainCaip2: EARN_CHAIN,
    clientFeeWallet,
    walletAddress,
    timePasses: () => world.token.write(world.maker, "mint", world.vault.address, 100_000_000n),
    until: async (look: () => Promise<Json>) => {
      let status: Json = {};
      await until(async () => {
        status = await look();
        return status.status !== "PENDING";
      }, "the end of a request");
      assert.equal(status.status, "COMPLETED", JSON.stringify(status));
    },
  };
  const { positions } = await runExample(example, given, "positions");
  const [position] = positions;
  // Of 100 earned: 20 for the client, 10 for the service.
  const within = (actual: bigint, expected: bigint) => assert.ok(actual <= expected && actual >= expected - 4n);
  within(BigInt(position.currentValue), 670_000_000n);
  within(await world.token.read("balanceOf", walletAddress), 670_000_000n);
  within(await world.token.read("balanceOf", clientFeeWallet), 20_000_000n);
});
