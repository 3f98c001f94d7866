import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { TurnkeyApiTypes } from "@turnkey/sdk-server";
import { netYield, sampleEarnSharePrices, shownYield, yieldOf } from "../../src/capabilities/earn/share-prices.ts";
import type { EvmChain } from "../../src/chains/evm/networks.ts";
import { type Anvil, EARN_CHAIN_ID, startAnvil } from "../support/anvil.ts";
import { EARN_CHAIN, earnEntry } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import { type EarnWorld, earnEnded, newEarnWorld } from "../support/earn.ts";
import { newEvmWallet } from "../support/evm-sender.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { nodesFor, richSponsor } from "../support/sponsor.ts";
import { until } from "../support/until.ts";

const HOUR = 3600;
const YEAR = 365 * 24 * HOUR;
const UNIT = 1_000_000n;

for (const engine of engines) {
  describe(`yearly yields of vaults (${engine})`, () => {
    let node: Anvil;
    let server: TestServer;
    let world: EarnWorld;
    let nodes: ReturnType<typeof nodesFor>;
    let earn: object;

    before(async () => {
      node = await startAnvil({ chainId: EARN_CHAIN_ID });
      world = await newEarnWorld(node);
      nodes = nodesFor(node.url, EARN_CHAIN);
      await world.token.write(world.maker, "mint", world.maker, 1000n * UNIT);
      await world.token.write(world.maker, "approve", world.vault.address, 1000n * UNIT);
      await world.vault.write(world.maker, "deposit", 1000n * UNIT, world.maker);
      earn = { serviceFeeBps: 1000, vaults: [earnEntry(world.vault.address)] };
      server = await startTestServer(engine, {
        chains: { [EARN_CHAIN]: { rpcUrls: [node.url] } },
        settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" },
        prices: { [`${EARN_CHAIN}/erc20:${world.token.address}`]: "1.00" },
        earn,
      });
      await richSponsor(server.baseUrl, node);
      const clientFeeWallet = (await newEvmWallet(server.root, node)).addresses[0] as string;
      const terms = {
        vaultAddress: world.vault.address,
        chainCaip2: EARN_CHAIN,
        clientFeeBps: "2000",
        clientFeeWallet,
      };
      const { deployRequestId } = await server.root.result("earn_deploy_wrapper", terms);
      await earnEnded(server.root, "get_earn_deploy_status", { deployRequestId });
    });
    after(async () => {
      await server.close();
      await nodes.close();
      await node.stop();
    });

    const samples = () =>
      server.opened.database.read.selectFrom("earn_share_prices").selectAll().orderBy("block_timestamp").execute();
    const blockTime = async (number: number | "latest"): Promise<number> => {
      const tag = number === "latest" ? number : `0x${number.toString(16)}`;
      return Number(((await node.call("eth_getBlockByNumber", tag, false)) as Json).timestamp);
    };
    const price = async (): Promise<bigint> =>
      world.vault.read("convertToAssets", 10n ** BigInt(await world.vault.read<number>("decimals")));
    /** What the job does when its time comes. */
    async function sample(at: "latest" | number = "latest"): Promise<void> {
      const seconds = at === "latest" ? await blockTime(at) : at;
      const vaults = [{ ...earnEntry(world.vault.address), vaultAddress: world.vault.address.toLowerCase() }];
      const context = {
        database: server.opened.database,
        evm: nodes.evm,
        earn: { ...earn, vaults },
        clock: () => seconds * 1000,
      };
      await sampleEarnSharePrices.run(context as never);
    }
    const passes = async (seconds: number) => {
      await node.call("evm_increaseTime", seconds);
      await node.call("anvil_mine", "0x1");
    };
    async function listed(): Promise<[string | undefined, string | undefined, string | undefined]> {
      const caip19 = `${EARN_CHAIN}/erc20:${world.token.address}`;
      const all: TurnkeyApiTypes["v1ListEarnVaultsResponse"] = await server.root.read("list_earn_vaults", { caip19 });
      const enabled: TurnkeyApiTypes["v1ListEarnEnabledVaultsResponse"] = await server.root.read(
        "list_earn_enabled_vaults",
        {},
      );
      const [one] = enabled.enabledVaults ?? [];
      return [all.vaults?.[0]?.apyPct, one?.apyPct, one?.netApyPct];
    }

    it("are the compounded growth of a share, told once there are prices a day apart", async () => {
      await until(async () => (await samples()).length > 0, "the server's own first price");
      const [first] = await samples();
      assert.equal(first?.assets_per_share, String(await price()));
      const start = await blockTime(Number(first?.block_number));
      assert.equal(first?.block_timestamp, start);
      const before = await price();

      await passes(12 * HOUR);
      await world.token.write(world.maker, "mint", world.vault.address, UNIT);
      await sample();
      assert.equal((await samples()).length, 2);
      assert.deepEqual(await listed(), [undefined, undefined, undefined]);

      await passes(36 * HOUR);
      await sample();
      const grown = Number(await price()) / Number(before);
      assert.ok(grown > 1);
      const expected = Math.expm1((Math.log(grown) * YEAR) / ((await blockTime("latest")) - start));
      const [apy, ofWrapper, net] = await listed();
      assert.match(apy ?? "", /^0\.\d{6}$/);
      assert.ok(Math.abs(Number(apy) - expected) < 2e-6, `${apy} is not ${expected}`);
      assert.equal(ofWrapper, apy);
      assert.ok(Math.abs(Number(net) - expected * 0.7) < 2e-6, `${net} is not 70 percent of ${expected}`);
    });

    it("are not told of values that nobody has added to for a day, nor are fees taken of a loss", async () => {
      const vault = { chain: EARN_CHAIN as EvmChain, address: world.vault.address.toLowerCase() };
      const newest = (await samples()).at(-1)?.block_timestamp as number;
      const { read } = server.opened.database;
      assert.ok((await yieldOf(read, vault, (newest + 24 * HOUR) * 1000)) as number);
      assert.equal(await yieldOf(read, vault, (newest + 24 * HOUR + 1) * 1000), undefined);
      assert.equal(shownYield(netYield(0.1, 3000)), "0.070000");
      assert.equal(shownYield(netYield(-0.1, 3000)), "-0.100000");
    });

    it("ignore a block that is not later, and one ahead of time; nothing beyond belief is told", async () => {
      const known = await samples();
      await sample();
      const ahead = await blockTime("latest");
      await passes(24 * HOUR);
      await sample(ahead);
      assert.deepEqual(await samples(), known);
      await world.token.write(world.maker, "mint", world.vault.address, 10_000n * UNIT);
      await sample();
      assert.equal((await samples()).length, known.length + 1);
      assert.deepEqual(await listed(), [undefined, undefined, undefined]);
    });

    it("are of the last seven days, and prices are kept for 31", async () => {
      await passes(8 * 24 * HOUR);
      await sample();
      assert.deepEqual(await listed(), [undefined, undefined, undefined]);
      await passes(2 * 24 * HOUR);
      await sample();
      assert.deepEqual(await listed(), ["0.000000", "0.000000", "0.000000"]);
      await sample((await blockTime("latest")) + 31 * 24 * HOUR);
      assert.equal((await samples()).length, 1);
    });
  });
}
