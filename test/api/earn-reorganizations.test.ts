import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { encodeFunctionData, keccak256, parseTransaction } from "viem";
import { DEPLOYMENT_PROXY } from "../../src/chains/evm/create2.ts";
import { type Anvil, EARN_CHAIN_ID, startAnvil } from "../support/anvil.ts";
import { EARN_CHAIN, earnEntry } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import { type Contract, contractAt, deployContract } from "../support/deployed-contracts.ts";
import { type EarnWorld, earnEnded, newEarnWorld } from "../support/earn.ts";
import { newEvmWallet } from "../support/evm-sender.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
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

for (const engine of oneEngine("postgres")) {
  describe(`earn on a chain that is reorganized (${engine})`, () => {
    let node: Anvil;
    let front: RpcNode;
    let server: TestServer;
    let world: EarnWorld;
    let vault: Contract;
    let wrapperAddress: string;
    let terms: { vaultAddress: string; chainCaip2: string; clientFeeBps: string; clientFeeWallet: string };

    before(async () => {
      node = await startAnvil({ chainId: EARN_CHAIN_ID });
      front = await startRpcNode(node);
      world = await newEarnWorld(node);
      vault = await deployContract(node, world.maker, "HostileVault", world.token.address);
      server = await startTestServer(engine, {
        chains: { [EARN_CHAIN]: { rpcUrls: [front.url] } },
        settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" },
        prices: { [`${EARN_CHAIN}/erc20:${world.token.address}`]: "1.00" },
        earn: { serviceFeeBps: 1000, vaults: [earnEntry(vault.address)] },
      });
      await richSponsor(server.baseUrl, node);
      const clientFeeWallet = (await newEvmWallet(server.root, node)).addresses[0] as string;
      terms = { vaultAddress: vault.address, chainCaip2: EARN_CHAIN, clientFeeBps: "0", clientFeeWallet };
      const { deployRequestId, ...addresses } = await server.root.result("earn_deploy_wrapper", terms);
      await earnEnded(server.root, "get_earn_deploy_status", { deployRequestId });
      ({ wrapperAddress } = addresses);
    });
    after(async () => {
      await server.close();
      await front.close();
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
    type Kind = keyof typeof kinds;
    async function asked(kind: Kind, signWith: string, more: object): Promise<string> {
      const parameters = { wrapperAddress, signWith, chainCaip2: EARN_CHAIN, ...more };
      return (await server.root.result(kinds[kind].path, parameters))[kinds[kind].id];
    }
    /** A request that is completed. */
    const made = async (kind: Kind, signWith: string, more: object): Promise<Made> =>
      completed(kind, await asked(kind, signWith, more));
    async function completed(kind: Kind, id: string): Promise<Made> {
      const names = kinds[kind];
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
    /** Signed, what comes before the last transaction of a request. */
    async function approvalOf(id: string): Promise<string> {
      const { read } = server.opened.database;
      const rows = await read
        .selectFrom("send_transactions as last")
        .innerJoin("send_transactions as first", "first.activity_id", "last.activity_id")
        .select("first.signed_transaction")
        .where("last.id", "=", id)
        .where("first.id", "!=", id)
        .execute();
      assert.equal(rows.length, 1);
      return `0x${Buffer.from(rows[0]?.signed_transaction ?? []).toString("hex")}`;
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

    /** What is sent meanwhile is in one block. */
    async function inOneBlock(send: () => Promise<void>): Promise<void> {
      await node.call("evm_setAutomine", false);
      try {
        await send();
        await node.call("evm_mine");
      } finally {
        await node.call("evm_setAutomine", true);
      }
    }
    async function sentBy(account: string, count: number, send: () => Promise<unknown>): Promise<void> {
      const before = Number(await node.call("eth_getTransactionCount", account, "latest"));
      await send();
      const nonce = async () => Number(await node.call("eth_getTransactionCount", account, "pending"));
      await until(async () => (await nonce()) === before + count, `${count} transactions to wait for a block`);
    }
    const comesTo = (walletAddress: string, deposited: bigint) =>
      until(async () => {
        const [row] = await booked(walletAddress);
        // A vault rounds in its own favour.
        return row?.[1] === "0" && [0n, 1n, 2n].includes(deposited - BigInt(row[0] ?? -1));
      }, `${deposited} to be booked as deposited`);

    it("books anew what a withdrawal of everything left, where its transaction stays and its block is another", async () => {
      const depositor = await newDepositor();
      await made("deposit", depositor, { assets: units(100n) });
      const wrapper = contractAt(node, "MorphoFeeWrapper", wrapperAddress);
      await world.token.write(world.maker, "mint", world.maker, 20n * UNIT);
      await world.token.write(world.maker, "approve", wrapperAddress, 20n * UNIT);
      let id = "";
      await inOneBlock(async () => {
        await sentBy(depositor, 1, async () => {
          id = await asked("withdraw", depositor, { amountValue: "MAX" });
        });
        const data = wrapper.data("deposit", 20n * UNIT, depositor);
        const gift = { from: world.maker, to: wrapperAddress, data, gas: "0xf4240" };
        await sentBy(world.maker, 1, () => node.call("eth_sendTransaction", gift));
      });
      const all = await completed("withdraw", id);
      await comesTo(depositor, 20n * UNIT);
      await node.call("anvil_reorg", await all.depth(), [[all.signed, 0]]);
      await comesTo(depositor, 0n);
      assert.equal(await all.status(), "COMPLETED");
      await made("deposit", depositor, { assets: units(5n) });
      assert.deepEqual(await totals(depositor), [[units(5n), "0"]]);
    });

    it("has a deposit that was read with what a withdrawal of everything left wherever it is then, and not where it failed", async () => {
      const depositor = await newDepositor();
      await made("deposit", depositor, { assets: units(100n) });
      const ids = { all: "", more: "" };
      await inOneBlock(async () => {
        await sentBy(depositor, 1, async () => {
          ids.all = await asked("withdraw", depositor, { amountValue: "MAX" });
        });
        await sentBy(depositor, 3, async () => {
          ids.more = await asked("deposit", depositor, { assets: units(20n) });
        });
      });
      const all = await completed("withdraw", ids.all);
      const more = await completed("deposit", ids.more);
      await comesTo(depositor, 20n * UNIT);
      const approval = await approvalOf(ids.more);
      await node.call("anvil_reorg", await all.depth(), [
        [all.signed, 0],
        [approval, 0],
        [refusal(), 0],
        [more.signed, 0],
      ]);
      await until(async () => (await more.status()) === "FAILED", "the deposit to have failed");
      await comesTo(depositor, 0n);
      await node.call("evm_mine");
      await node.call("anvil_reorg", await all.depth(), [
        [all.signed, 0],
        [approval, 0],
        [more.signed, 1],
      ]);
      await until(async () => (await more.status()) === "COMPLETED", "the deposit to be there again");
      await comesTo(depositor, 20n * UNIT);
    });

    it("writes down once that a wrapper is there, where somebody else's deployment made it and its own failed", async () => {
      const held = "eth_blockNumber";
      front.when(held, { error: { code: -32_603, message: "away" } });
      const wanted = await server.root.result("earn_deploy_wrapper", { ...terms, clientFeeBps: "1" });
      const { deployRequestId: id } = wanted;
      const { read } = server.opened.database;
      const { plan } = await read
        .selectFrom("sponsored_sends")
        .select("plan")
        .where("id", "=", id)
        .executeTakeFirstOrThrow();
      const { to, data } = JSON.parse(plan) as Json;
      await sentBy(world.maker, 1, () => node.call("eth_sendTransaction", { from: world.maker, to, data }));
      front.when(held, "pass on");
      const status = await earnEnded(server.root, "get_earn_deploy_status", { deployRequestId: id });
      assert.equal(status.status, "COMPLETED", JSON.stringify(status));
      const receipt = (await node.call("eth_getTransactionReceipt", status.deployTxHash)) as Json;
      assert.equal(receipt.status, "0x0");
      const row = () => read.selectFrom("earn_requests").selectAll().where("id", "=", id).executeTakeFirstOrThrow();
      const looks = () =>
        front.calls.filter(
          ({ method, params: [address] }) =>
            method === "eth_getCode" && String(address).toLowerCase() === wanted.wrapperAddress.toLowerCase(),
        ).length;
      const [before, seen] = [await row(), looks()];
      await until(() => looks() > seen + 2, "more looks");
      assert.deepEqual(await row(), before);
    });

    it("has failed to deploy a wrapper where its vault has another asset in the block that counts", async () => {
      const other = await newEarnWorld(node);
      const double = await deployContract(node, other.maker, "HostileVault", other.token.address);
      const [code, others] = await Promise.all(
        [vault, double].map(({ address }) => node.call("eth_getCode", address, "latest")),
      );
      const { deployRequestId } = await server.root.result("earn_deploy_wrapper", { ...terms, clientFeeBps: "3" });
      const status = async (): Promise<Json> => server.root.read("get_earn_deploy_status", { deployRequestId });
      const there = await earnEnded(server.root, "get_earn_deploy_status", { deployRequestId });
      assert.equal(there.status, "COMPLETED", JSON.stringify(there));
      const sent = front.calls.filter(({ method }) => method === "eth_sendRawTransaction");
      const signed = sent.find(({ params: [raw] }) => keccak256(raw as `0x${string}`) === there.deployTxHash);
      const { blockNumber } = (await node.call("eth_getTransactionReceipt", there.deployTxHash)) as Json;
      const held = "eth_blockNumber";
      front.when(held, { error: { code: -32_603, message: "away" } });
      await node.call("anvil_rollback", Number(await node.call("eth_blockNumber")) - Number(blockNumber) + 1);
      await node.call("anvil_setCode", vault.address, others);
      try {
        await node.call("eth_sendRawTransaction", signed?.params[0]);
        const receipt = (await node.call("eth_getTransactionReceipt", there.deployTxHash)) as Json;
        assert.equal(receipt.status, "0x1");
        front.when(held, "pass on");
        await until(async () => (await status()).status === "FAILED", "the deployment to have failed");
        assert.match((await status()).error, new RegExp(`${world.token.address}.*${other.token.address}`, "i"));
      } finally {
        await node.call("anvil_setCode", vault.address, code);
        front.when(held, "pass on");
      }
    });

    /** Has nodes refuse what goes to this address until it has FAILED; resolves to what they refused, the newest last. */
    async function refusedTo(to: string, ask: () => Promise<() => Promise<Json>>): Promise<string[]> {
      const refused: string[] = [];
      front.when("eth_sendRawTransaction", ({ params: [raw] }) => {
        if (parseTransaction(raw as `0x${string}`).to?.toLowerCase() !== to.toLowerCase()) return "pass on";
        refused.push(String(raw));
        return { error: { code: -32_000, message: "words of a node that keeps what it refuses" } };
      });
      try {
        const failed = await (await ask())();
        assert.equal(failed.status, "FAILED", JSON.stringify(failed));
      } finally {
        front.when("eth_sendRawTransaction", "pass on");
      }
      return refused;
    }

    it("completes what nodes refused where a block has it all the same, and counts it", async () => {
      const depositor = await newDepositor();
      await made("deposit", depositor, { assets: units(100n) });
      const cases = [
        ["deposit", { assets: units(20n) }, [units(120n), "0"]],
        ["withdraw", { amountValue: units(30n) }, [units(120n), units(30n)]],
        ["withdraw", { amountValue: "MAX" }, ["0", "0"]],
      ] as const;
      let counted = [units(100n), "0"];
      for (const [kind, more, then] of cases) {
        let id = "";
        const refused = await refusedTo(wrapperAddress, async () => {
          id = await asked(kind, depositor, more);
          return () => earnEnded(server.root, kinds[kind].status, { [kinds[kind].id]: id });
        });
        assert.deepEqual(await booked(depositor), [counted], `a ${kind} that failed counts for nothing`);
        await node.call("eth_sendRawTransaction", refused.at(-1));
        const status = () => server.root.read(kinds[kind].status, { [kinds[kind].id]: id });
        await until(async () => (await status()).status === "COMPLETED", `the ${kind} to be found in its block`);
        assert.equal((await status()).error, undefined);
        assert.deepEqual(await booked(depositor), [then]);
        counted = [...then];
      }
    });

    it("has a wrapper whose deployment nodes refused and a block has all the same", async () => {
      const wanted = { ...terms, clientFeeBps: "2" };
      let made: Json = {};
      const [refused] = (
        await refusedTo(DEPLOYMENT_PROXY, async () => {
          made = await server.root.result("earn_deploy_wrapper", wanted);
          return () => earnEnded(server.root, "get_earn_deploy_status", { deployRequestId: made.deployRequestId });
        })
      ).slice(-1);
      await node.call("eth_sendRawTransaction", refused);
      const { deployRequestId } = made;
      const status = () => server.root.read("get_earn_deploy_status", { deployRequestId });
      await until(async () => (await status()).status === "COMPLETED", "the wrapper to be found");
      assert.equal((await server.root.result("earn_deploy_wrapper", wanted)).deployRequestId, deployRequestId);
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
