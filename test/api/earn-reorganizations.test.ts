import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { encodeFunctionData } from "viem";
import { type Anvil, EARN_CHAIN_ID, startAnvil } from "../support/anvil.ts";
import { EARN_CHAIN, earnEntry } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import { type Contract, deployContract } from "../support/deployed-contracts.ts";
import { type EarnWorld, earnEnded, newEarnWorld } from "../support/earn.ts";
import { newEvmWallet } from "../support/evm-sender.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { richSponsor } from "../support/sponsor.ts";
import { until } from "../support/until.ts";

const UNIT = 1_000_000n;
/** Of the vault: it neither takes nor gives. */
const REVERTS = 4;
const PLAY = {
  type: "function",
  name: "play",
  stateMutability: "nonpayable",
  inputs: [{ type: "uint8" }, { type: "bytes" }],
  outputs: [],
} as const;

for (const engine of engines) {
  describe(`earn on a chain that is reorganized (${engine})`, () => {
    let node: Anvil;
    let server: TestServer;
    let world: EarnWorld;
    let vault: Contract;
    let wrapperAddress: string;

    before(async () => {
      node = await startAnvil({ chainId: EARN_CHAIN_ID });
      world = await newEarnWorld(node);
      vault = await deployContract(node, world.maker, "HostileVault", world.token.address);
      server = await startTestServer(engine, {
        chains: { [EARN_CHAIN]: { rpcUrls: [node.url] } },
        settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" },
        prices: { [`${EARN_CHAIN}/erc20:${world.token.address}`]: "1.00" },
        earn: { serviceFeeBps: 1000, vaults: [earnEntry(vault.address)] },
      });
      await richSponsor(server.baseUrl, node);
      const clientFeeWallet = (await newEvmWallet(server.root, node)).addresses[0] as string;
      const terms = { vaultAddress: vault.address, chainCaip2: EARN_CHAIN, clientFeeBps: "0", clientFeeWallet };
      const { deployRequestId, ...addresses } = await server.root.result("earn_deploy_wrapper", terms);
      await earnEnded(server.root, "get_earn_deploy_status", { deployRequestId });
      ({ wrapperAddress } = addresses);
    });
    after(async () => {
      await server.close();
      await node.stop();
    });

    async function newDepositor(): Promise<string> {
      const [address] = (await newEvmWallet(server.root, node)).addresses as [string];
      await world.token.write(world.maker, "mint", address, 1000n * UNIT);
      return address;
    }
    const kinds = {
      deposit: {
        path: "earn_deposit",
        id: "depositRequestId",
        status: "get_earn_deposit_status",
        hash: "depositTxHash",
      },
      withdraw: {
        path: "earn_withdraw",
        id: "withdrawRequestId",
        status: "get_earn_withdraw_status",
        hash: "withdrawTxHash",
      },
    } as const;
    interface Made {
      id: string;
      status: () => Promise<string>;
      /** The transaction as it was signed, and how many blocks there are from its own on. */
      signed: string;
      depth: () => Promise<number>;
    }
    /** A request that is completed. */
    async function made(kind: keyof typeof kinds, signWith: string, more: object): Promise<Made> {
      const names = kinds[kind];
      const parameters = { wrapperAddress, signWith, chainCaip2: EARN_CHAIN, ...more };
      const { [names.id]: id } = await server.root.result(names.path, parameters);
      const ended = await earnEnded(server.root, names.status, { [names.id]: id });
      assert.equal(ended.status, "COMPLETED", JSON.stringify(ended));
      const { signed_transaction: bytes } = await server.opened.database.read
        .selectFrom("send_transactions")
        .select("signed_transaction")
        .where("transaction_hash", "=", ended[names.hash])
        .executeTakeFirstOrThrow();
      return {
        id,
        status: async () => (await server.root.read(names.status, { [names.id]: id })).status,
        signed: `0x${Buffer.from(bytes).toString("hex")}`,
        depth: async () => {
          const { blockNumber } = (await node.call("eth_getTransactionReceipt", ended[names.hash])) as Json;
          return Number(await node.call("eth_blockNumber")) - Number(blockNumber) + 1;
        },
      };
    }
    const refusal = () => ({
      from: world.maker,
      to: vault.address,
      data: encodeFunctionData({ abi: [PLAY], args: [REVERTS, "0x"] }),
    });
    const totals = async (walletAddress: string) => {
      const { positions } = await server.root.read("list_earn_positions", { walletAddress });
      return (positions as Json[]).map(({ totalDeposited, totalWithdrawn }) => [totalDeposited, totalWithdrawn]);
    };
    const booked = async (walletAddress: string) => {
      const rows = await server.opened.database.read
        .selectFrom("earn_positions")
        .select(["total_deposited", "total_withdrawn"])
        .where("wallet_address", "=", walletAddress.toLowerCase())
        .execute();
      return rows.map((row) => [row.total_deposited, row.total_withdrawn]);
    };
    const units = (count: bigint): string => String(count * UNIT);

    it("counts a deposit no more that another block has as failed, and again where it succeeded after all", async () => {
      const depositor = await newDepositor();
      const first = await made("deposit", depositor, { assets: units(100n) });
      const second = await made("deposit", depositor, { assets: units(20n) });
      assert.deepEqual(await totals(depositor), [[units(120n), "0"]]);
      await node.call("anvil_reorg", await second.depth(), [
        [refusal(), 0],
        [second.signed, 0],
      ]);
      await until(async () => (await second.status()) === "FAILED", "the deposit to have failed");
      assert.deepEqual(await totals(depositor), [[units(100n), "0"]]);
      assert.equal(await first.status(), "COMPLETED");
      await node.call("anvil_reorg", await second.depth(), [[second.signed, 0]]);
      await until(async () => (await second.status()) === "COMPLETED", "the deposit to be there again");
      assert.deepEqual(await totals(depositor), [[units(120n), "0"]]);
    });

    it("has what was there before where a withdrawal of everything came to nothing", async () => {
      const depositor = await newDepositor();
      await made("deposit", depositor, { assets: units(100n) });
      await made("withdraw", depositor, { amountValue: units(30n) });
      const all = await made("withdraw", depositor, { amountValue: "MAX" });
      assert.deepEqual(await totals(depositor), []);
      await node.call("anvil_reorg", await all.depth(), [
        [refusal(), 0],
        [all.signed, 0],
      ]);
      await until(async () => (await all.status()) === "FAILED", "the withdrawal to have failed");
      assert.deepEqual(await totals(depositor), [[units(100n), units(30n)]]);
      await node.call("anvil_reorg", await all.depth(), [[all.signed, 0]]);
      await until(async () => (await all.status()) === "COMPLETED", "the withdrawal to be there again");
      assert.deepEqual(await booked(depositor), [["0", "0"]]);
    });

    it("looks no more once enough blocks are on top", async () => {
      const depositor = await newDepositor();
      const { id } = await made("deposit", depositor, { assets: units(1n) });
      const following = async () =>
        (
          await server.opened.database.read
            .selectFrom("jobs")
            .select("id")
            .where("kind", "=", "follow_earn_request")
            .where("payload", "like", `%${id}%`)
            .execute()
        ).length;
      assert.equal(await following(), 1);
      await node.call("anvil_mine", "0x20");
      await until(async () => (await following()) === 0, "nothing to be left that could change it");
    });
  });
}
