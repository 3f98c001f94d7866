import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { type Anvil, EARN_CHAIN_ID, startAnvil } from "../support/anvil.ts";
import { EARN_CHAIN, earnEntry } from "../support/chain.ts";
import type { Client, Json } from "../support/client.ts";
import { type Contract, contractAt, deployContract } from "../support/deployed-contracts.ts";
import { type EarnWorld, earnEnded, newEarnWorld } from "../support/earn.ts";
import { newEvmWallet } from "../support/evm-sender.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { richSponsor } from "../support/sponsor.ts";

/** Vaults that are good while a request is planned and approved, and play a trick when it is carried out. */

const ASSETS = 1_000_000n;
/** As `contracts/test/HostileVault.sol` numbers them. */
const TRICKS = { NONE: 0, SILENT: 1, BOASTS: 2, REVERTS: 4, STEALS: 5, LEAVES: 6, SHORTCHANGES: 7, OVERTAKES: 8 };
type Trick = keyof typeof TRICKS;
/** While it is away in this, transactions are planned and not signed. */
const LOOK = "eth_blockNumber";
const AWAY = { error: { code: -32_603, message: "away" } } as const;

for (const engine of oneEngine("sqlite")) {
  describe(`earn over hostile vaults (${engine})`, () => {
    let node: Anvil;
    let front: RpcNode;
    let server: TestServer;
    let root: Client;
    let world: EarnWorld;
    let vault: Contract;
    let wrapper: Contract;

    before(async () => {
      node = await startAnvil({ chainId: EARN_CHAIN_ID });
      front = await startRpcNode(node);
      world = await newEarnWorld(node);
      vault = await deployContract(node, world.maker, "HostileVault", world.token.address);
      server = await startTestServer(engine, {
        chains: { [EARN_CHAIN]: { rpcUrls: [front.url] } },
        settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" },
        earn: { serviceFeeBps: 1000, vaults: [earnEntry(vault.address)] },
      });
      ({ root } = server);
      await richSponsor(server.baseUrl, node);
      const [clientFeeWallet] = (await newEvmWallet(root, node)).addresses as [string];
      const { deployRequestId, wrapperAddress } = await root.result("earn_deploy_wrapper", {
        vaultAddress: vault.address,
        chainCaip2: EARN_CHAIN,
        clientFeeBps: "1000",
        clientFeeWallet,
      });
      assert.equal((await earnEnded(root, "get_earn_deploy_status", { deployRequestId })).status, "COMPLETED");
      wrapper = contractAt(node, "MorphoFeeWrapper", wrapperAddress);
      // Others' money, which is to stay theirs.
      await put(await newDepositor(false), ASSETS);
    });
    after(async () => {
      await server.close();
      await front.close();
      await node.stop();
    });
    afterEach(async () => {
      front.passOnAll();
      await play("NONE");
    });

    const play = (trick: Trick) => vault.write(world.maker, "play", TRICKS[trick], "0x");
    interface Depositor {
      address: string;
      sponsor: boolean;
    }
    async function newDepositor(sponsor: boolean): Promise<Depositor> {
      const [address] = (await newEvmWallet(root, node)).addresses as [string];
      await world.token.write(world.maker, "mint", address, 10n * ASSETS);
      return { address, sponsor };
    }
    const askDeposit = ({ address, sponsor }: Depositor, assets: bigint): Promise<Json> =>
      root.result("earn_deposit", { ...common(address), sponsor, assets: String(assets) });
    const common = (signWith: string) => ({ wrapperAddress: wrapper.address, signWith, chainCaip2: EARN_CHAIN });
    async function put(depositor: Depositor, assets: bigint): Promise<void> {
      const ids = await askDeposit(depositor, assets);
      const status = await earnEnded(root, "get_earn_deposit_status", ids);
      assert.equal(status.status, "COMPLETED", JSON.stringify(status));
    }
    /** What a request comes to that is planned while the vault is good, and carried out when it plays a trick. */
    async function tricked(trick: Trick, path: string, ask: () => Promise<Json>): Promise<Json> {
      front.when(LOOK, AWAY);
      const ids = await ask();
      await play(trick);
      front.when(LOOK, "pass on");
      return earnEnded(root, path, ids);
    }
    const has = async (who: string) => ({
      assets: await world.token.read("balanceOf", who),
      shares: await wrapper.read("balanceOf", who),
    });
    const totals = async (who: string): Promise<string[]> => {
      const { positions } = await root.read("list_earn_positions", { walletAddress: who });
      return positions.flatMap((one: Json) => [one.totalDeposited, one.totalWithdrawn]);
    };

    it("fails to deploy a wrapper over a vault that has another asset by then, and takes it when asked to again", async () => {
      const [clientFeeWallet] = (await newEvmWallet(root, node)).addresses as [string];
      const other = await newEarnWorld(node);
      const double = await deployContract(node, other.maker, "HostileVault", other.token.address);
      const [code, others] = await Promise.all(
        [vault, double].map(({ address }) => node.call("eth_getCode", address, "latest")),
      );
      const become = (as: unknown) => node.call("anvil_setCode", vault.address, as);
      const terms = { vaultAddress: vault.address, chainCaip2: EARN_CHAIN, clientFeeBps: "7", clientFeeWallet };
      front.when(LOOK, AWAY);
      const { deployRequestId, wrapperAddress } = await root.result("earn_deploy_wrapper", terms);
      await become(others);
      try {
        front.when(LOOK, "pass on");
        const failed = await earnEnded(root, "get_earn_deploy_status", { deployRequestId });
        assert.equal(failed.status, "FAILED", JSON.stringify(failed));
        assert.match(failed.error, new RegExp(`${world.token.address}.*${other.token.address}`, "i"));
        const depositor = await newDepositor(false);
        const into = { wrapperAddress, signWith: depositor.address, chainCaip2: EARN_CHAIN, assets: String(ASSETS) };
        const refused = await root.submit("earn_deposit", into);
        assert.equal(refused.status, 400, JSON.stringify(refused.body));
        assert.match(refused.body.message, /cannot be used.*send earn_deploy_wrapper again/);

        await become(code);
        const apart = await root.submit("earn_deploy_wrapper", terms);
        assert.equal(apart.status, 400, JSON.stringify(apart.body));
        assert.match(apart.body.message, new RegExp(`${world.token.address}.*${other.token.address}`, "i"));

        await become(others);
        const again = await root.result("earn_deploy_wrapper", terms);
        assert.equal(again.wrapperAddress, wrapperAddress);
        const ids = { deployRequestId: again.deployRequestId };
        assert.equal((await earnEnded(root, "get_earn_deploy_status", ids)).status, "COMPLETED");
        await other.token.write(other.maker, "mint", depositor.address, ASSETS);
        const deposit = await earnEnded(root, "get_earn_deposit_status", await root.result("earn_deposit", into));
        assert.equal(deposit.status, "COMPLETED", JSON.stringify(deposit));
      } finally {
        await become(code);
      }
    });

    for (const sponsor of [false, true]) {
      const whose = sponsor ? "paid for by the service" : "paid for by the wallet";

      it(`takes no deposit for fewer shares than it is worth, nor a part of it (${whose})`, async () => {
        for (const trick of ["STEALS", "LEAVES", "REVERTS", "SILENT"] as const) {
          const depositor = await newDepositor(sponsor);
          const before = await has(depositor.address);
          const status = await tricked(trick, "get_earn_deposit_status", () => askDeposit(depositor, ASSETS));
          assert.equal(status.status, "FAILED", `${trick} ${JSON.stringify(status)}`);
          assert.deepEqual(await has(depositor.address), before, trick);
          assert.deepEqual(await totals(depositor.address), [], trick);
          await play("NONE");
          // Whatever the first one has left approved, the next one deposits its own amount.
          await put(depositor, 2n * ASSETS);
          assert.equal(await world.token.read("allowance", depositor.address, wrapper.address), 0n);
          assert.equal((await has(depositor.address)).assets, before.assets - 2n * ASSETS);
        }
      });

      it(`withdraws the amount that was asked for or nothing, and of nobody else's (${whose})`, async () => {
        const depositor = await newDepositor(sponsor);
        await put(depositor, 4n * ASSETS);
        const withdraw = (amountValue: string) =>
          root.result("earn_withdraw", { ...common(depositor.address), sponsor, amountValue });
        const before = await has(depositor.address);
        for (const trick of ["SHORTCHANGES", "REVERTS"] as const) {
          const ask = () => withdraw(String(ASSETS));
          const status = await tricked(trick, "get_earn_withdraw_status", ask);
          assert.equal(status.status, "FAILED", `${trick} ${JSON.stringify(status)}`);
          assert.deepEqual(await has(depositor.address), before, trick);
          await play("NONE");
        }
        const all = await tricked("OVERTAKES", "get_earn_withdraw_status", () => withdraw("MAX"));
        assert.equal(all.status, "FAILED", "it would take a share of somebody else's");
        assert.deepEqual(await has(depositor.address), before);
        await play("NONE");
        const status = await earnEnded(root, "get_earn_withdraw_status", await withdraw(String(ASSETS)));
        assert.equal(status.status, "COMPLETED", JSON.stringify(status));
        assert.equal((await has(depositor.address)).assets, before.assets + ASSETS);
        assert.deepEqual(await totals(depositor.address), [String(4n * ASSETS), String(ASSETS)]);
        // An amount is a floor; MAX has none, so that everybody gets out of a vault that pays less (ADR 0088).
        const less = await tricked("SHORTCHANGES", "get_earn_withdraw_status", () => withdraw("MAX"));
        assert.equal(less.status, "COMPLETED", JSON.stringify(less));
        const after = await has(depositor.address);
        const brought = after.assets - before.assets - ASSETS;
        assert.ok(brought > ASSETS && brought < 2n * ASSETS && after.shares === 0n, `${brought} of ${3n * ASSETS}`);
      });
    }
  });
}
