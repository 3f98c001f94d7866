import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import { actions } from "../../src/capabilities/earn/contracts.ts";
import { planTransactions, queueRequest } from "../../src/capabilities/earn/own-transactions.ts";
import { findOpenSends } from "../../src/capabilities/sending/store.ts";
import { newId } from "../../src/kernel/ids.ts";
import { type Anvil, EARN_CHAIN_ID, startAnvil } from "../support/anvil.ts";
import { EARN_CHAIN, earnEntry } from "../support/chain.ts";
import { addUser, type Client, type Json } from "../support/client.ts";
import { assertSameDump, dumpDatabase } from "../support/database-dump.ts";
import { type Contract, contractAt, deployContract, newCaller } from "../support/deployed-contracts.ts";
import { type EarnWorld, earnEnded, newEarnWorld } from "../support/earn.ts";
import { newAddress, newEvmWallet } from "../support/evm-sender.ts";
import { type RpcCall, type RpcNode, type RpcReply, startRpcNode } from "../support/rpc-node.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { runKeystead } from "../support/server-process.ts";
import { nodesFor, richSponsor } from "../support/sponsor.ts";
import { until } from "../support/until.ts";
import { addSubOrganization } from "../support/world.ts";

const UNIT = 1_000_000n;

/** Calls that a node passes on only when they are let go; `begun` resolves when one waits. */
function held(isHeld: (call: RpcCall) => boolean) {
  const [begun, letGo] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const reply = async (call: RpcCall): Promise<RpcReply> => {
    if (isHeld(call)) {
      begun.resolve();
      await letGo.promise;
    }
    return "pass on";
  };
  return { reply, begun: begun.promise, letGo: () => letGo.resolve() };
}

for (const engine of oneEngine("sqlite")) {
  describe(`earn (${engine})`, () => {
    let node: Anvil;
    let front: RpcNode;
    let server: TestServer;
    let root: Client;
    let world: EarnWorld;
    let nodes: ReturnType<typeof nodesFor>;
    let aave: Contract;
    let feeWallet: string;
    let sponsor: string;
    const nobody = newAddress();

    before(async () => {
      node = await startAnvil({ chainId: EARN_CHAIN_ID });
      front = await startRpcNode(node);
      nodes = nodesFor(node.url, EARN_CHAIN);
      world = await newEarnWorld(node);
      aave = await deployContract(node, world.maker, "TestVault", world.token.address);
      const caip19 = `${EARN_CHAIN}/erc20:${world.token.address}`;
      server = await startTestServer(engine, {
        chains: { [EARN_CHAIN]: { rpcUrls: [front.url] } },
        settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" },
        prices: { [caip19]: "1.00" },
        earn: {
          serviceFeeBps: 1000,
          vaults: [
            earnEntry(world.vault.address),
            earnEntry(aave.address, { provider: "EARN_PROVIDER_AAVE", curator: "", name: "Aave's" }),
            earnEntry(nobody, { name: "Nobody's" }),
            earnEntry(world.token.address, { name: "A token" }),
            earnEntry(world.vault.address, { chainCaip2: "eip155:1", name: "Elsewhere" }),
          ],
        },
      });
      ({ root } = server);
      sponsor = await richSponsor(server.baseUrl, node);
      feeWallet = (await newEvmWallet(root, node)).addresses[0] as string;
    });
    after(async () => {
      await nodes.close();
      await server.close();
      await front.close();
      await node.stop();
    });

    const termsOf = (more: object = {}) => ({
      vaultAddress: world.vault.address,
      chainCaip2: EARN_CHAIN,
      clientFeeBps: "2000",
      clientFeeWallet: feeWallet,
      ...more,
    });
    async function deployed(more: object = {}): Promise<{ wrapperAddress: string; splitterAddress: string }> {
      const { deployRequestId, ...addresses } = await root.result("earn_deploy_wrapper", termsOf(more));
      const status = await earnEnded(root, "get_earn_deploy_status", { deployRequestId });
      assert.equal(status.status, "COMPLETED", JSON.stringify(status));
      return addresses;
    }
    async function newDepositor(client = root, amount = 1000n * UNIT): Promise<string> {
      const [address] = (await newEvmWallet(client, node)).addresses as [string];
      await world.token.write(world.maker, "mint", address, amount);
      return address;
    }
    const balance = (account: string): Promise<bigint> => world.token.read("balanceOf", account);
    const deposit = async (client: Client, parameters: object) => {
      const { depositRequestId } = await client.result("earn_deposit", { chainCaip2: EARN_CHAIN, ...parameters });
      return earnEnded(client, "get_earn_deposit_status", { depositRequestId });
    };
    const withdraw = async (client: Client, parameters: object) => {
      const { withdrawRequestId } = await client.result("earn_withdraw", { chainCaip2: EARN_CHAIN, ...parameters });
      return earnEnded(client, "get_earn_withdraw_status", { withdrawRequestId });
    };
    const claim = async (wrapperAddress: string) => {
      const { claimRequestId } = await root.result("claim_earn_fees", { wrapperAddress });
      return earnEnded(root, "get_claim_earn_fees_status", { claimRequestId });
    };
    const positions = async (client: Client, walletAddress: string): Promise<Json[]> =>
      (await client.read("list_earn_positions", { walletAddress })).positions;
    const rejected = async (path: string, parameters: object, reason: RegExp, client = root) => {
      const { status, body } = await client.submit(path, parameters);
      assert.equal(status, 400, JSON.stringify(body));
      assert.match(body.message, reason);
    };

    it("lists the vaults of the catalog that their chain confirms, the largest first", async () => {
      const caip19 = `${EARN_CHAIN}/erc20:${world.token.address.toLowerCase()}`;
      const before = (await root.read("list_earn_vaults", { caip19 })).vaults as Json[];
      assert.deepEqual(before.map(({ name }) => name).sort(), ["Aave's", "Test Vault"]);
      await world.token.write(world.maker, "mint", world.maker, 5n * UNIT);
      await world.token.write(world.maker, "approve", aave.address, 5n * UNIT);
      await aave.write(world.maker, "deposit", 5n * UNIT, world.maker);
      const { vaults, pageInfo } = await root.read("list_earn_vaults", { caip19 });
      assert.equal(vaults[0].name, "Aave's");
      assert.equal(vaults[0].tvl, await balance(aave.address).then(String));
      assert.equal(pageInfo.hasNextPage, false);
      const first = await root.read("list_earn_vaults", { caip19, paginationOptions: { limit: "1" } });
      assert.deepEqual([first.vaults.length, first.pageInfo.hasNextPage], [1, true]);
      const { endCursor: cursor } = first.pageInfo;
      const second = await root.read("list_earn_vaults", { caip19, paginationOptions: { limit: "1", after: cursor } });
      assert.deepEqual([...first.vaults, ...second.vaults], vaults);
      const morpho = await root.read("list_earn_vaults", { caip19, provider: "EARN_PROVIDER_MORPHO" });
      assert.deepEqual(
        morpho.vaults.map(({ name }: Json) => name),
        ["Test Vault"],
      );
      const other = await root.read("list_earn_vaults", { caip19: `${EARN_CHAIN}/erc20:${newAddress()}` });
      assert.deepEqual(other.vaults, []);
    });

    it("deploys a wrapper at the addresses that it answers, once for the same terms", async () => {
      const first = await root.result("earn_deploy_wrapper", termsOf());
      const again = await root.result("earn_deploy_wrapper", termsOf());
      assert.deepEqual(again, first);
      const status = await earnEnded(root, "get_earn_deploy_status", { deployRequestId: first.deployRequestId });
      assert.deepEqual(status, { status: "COMPLETED", deployTxHash: status.deployTxHash });
      assert.equal((await node.receipt(status.deployTxHash)).from, sponsor);
      assert.deepEqual(await root.result("earn_deploy_wrapper", termsOf()), first);
      const wrapper = contractAt(node, "MorphoFeeWrapper", first.wrapperAddress);
      const splitter = contractAt(node, "PaymentSplitter", first.splitterAddress);
      assert.equal(await wrapper.read("performanceFeeRecipient"), first.splitterAddress);
      assert.equal(await wrapper.read("performanceFeeBps"), 3000n);
      assert.equal((await wrapper.read<string>("vault")).toLowerCase(), world.vault.address.toLowerCase());
      assert.equal(String(await splitter.read("client")).toLowerCase(), feeWallet.toLowerCase());
      assert.equal(String(await splitter.read("service")).toLowerCase(), sponsor);
      const other = await deployed({ clientFeeBps: "2001" });
      assert.notEqual(other.wrapperAddress, first.wrapperAddress);
      const { enabledVaults } = await root.read("list_earn_enabled_vaults", {});
      const shown = enabledVaults.find((one: Json) => one.wrapperAddress === first.wrapperAddress);
      assert.deepEqual(
        [
          shown.clientFeeBps,
          shown.depositsDisabled,
          shown.deployStatus,
          shown.totalDeposited,
          shown.claimableClientFee,
        ],
        ["2000", false, "COMPLETED", "0", "0"],
      );
      assert.equal(shown.clientFeeWallet.toLowerCase(), feeWallet.toLowerCase());
    });

    for (const provider of ["EARN_PROVIDER_MORPHO", "EARN_PROVIDER_AAVE"]) {
      it(`deposits, earns, withdraws and claims over a vault of ${provider}`, async () => {
        const vault = provider === "EARN_PROVIDER_AAVE" ? aave : world.vault;
        const { wrapperAddress } = await deployed({ vaultAddress: vault.address, clientFeeBps: "1500" });
        const depositor = await newDepositor();
        const inVault = await balance(vault.address);
        const total = await vault.read("totalSupply");
        const status = await deposit(root, { wrapperAddress, signWith: depositor, assets: String(600n * UNIT) });
        assert.equal(status.status, "COMPLETED", JSON.stringify(status));
        assert.equal((await node.receipt(status.depositTxHash)).to, wrapperAddress.toLowerCase());
        assert.equal(await balance(depositor), 400n * UNIT);
        const [position] = (await positions(root, depositor)) as [Json];
        assertWithin(BigInt(position.currentValue), 600n * UNIT, 2n);
        assert.deepEqual([position.totalDeposited, position.totalWithdrawn], [String(600n * UNIT), "0"]);
        assert.equal(position.display.totalDepositedCrypto, "600");

        await world.token.write(world.maker, "mint", vault.address, 100n * UNIT);
        // The wrapper's part of the yield, by what it holds of the vault; and what is left of that after 25 percent.
        const shares = (await vault.read("totalSupply")) - total;
        const gain = (100n * UNIT * shares) / (total + shares);
        assert.ok(gain > 0n && inVault >= 0n);
        const fee = (gain * 2500n) / 10_000n;
        const clientFee = (fee * 1500n) / 2500n;
        const [grown] = (await positions(root, depositor)) as [Json];
        assertWithin(BigInt(grown.currentValue), 600n * UNIT + gain - fee, 3n);
        const enabled = (await root.read("list_earn_enabled_vaults", { provider })).enabledVaults as Json[];
        const shown = enabled.find((one) => one.wrapperAddress === wrapperAddress) as Json;
        assertWithin(BigInt(shown.claimableClientFee), clientFee, 3n);

        const some = await withdraw(root, { wrapperAddress, signWith: depositor, amountValue: String(50n * UNIT) });
        assert.equal(some.status, "COMPLETED", JSON.stringify(some));
        assert.equal(await balance(depositor), 450n * UNIT);
        assert.equal((await positions(root, depositor))[0]?.totalWithdrawn, String(50n * UNIT));

        const had = await balance(feeWallet);
        const claimed = await claim(wrapperAddress);
        assert.equal(claimed.status, "COMPLETED", JSON.stringify(claimed));
        assert.equal((await node.receipt(claimed.claimTxHash)).from, sponsor);
        assertWithin((await balance(feeWallet)) - had, clientFee, 3n);
        await rejected("claim_earn_fees", { wrapperAddress }, /no fees to claim/);

        const all = await withdraw(root, { wrapperAddress, signWith: depositor, amountValue: "MAX" });
        assert.equal(all.status, "COMPLETED", JSON.stringify(all));
        assertWithin(await balance(depositor), 1000n * UNIT + gain - fee, 4n);
        assert.deepEqual(await positions(root, depositor), []);
        await rejected(
          "earn_withdraw",
          { wrapperAddress, signWith: depositor, chainCaip2: EARN_CHAIN, amountValue: "1" },
          /holds nothing for/,
        );
      });
    }

    it("lets sub-organizations use their parent's wrappers, and neither deploy nor claim nor pause", async () => {
      const { wrapperAddress } = await deployed();
      const { client: sub } = await addSubOrganization(root);
      const depositor = await newDepositor(sub);
      const assets = String(10n * UNIT);
      assert.equal((await deposit(sub, { wrapperAddress, signWith: depositor, assets })).status, "COMPLETED");
      assert.equal((await positions(sub, depositor))[0]?.totalDeposited, assets);
      const { enabledVaults } = await sub.read("list_earn_enabled_vaults", {});
      const shown = enabledVaults.find((one: Json) => one.wrapperAddress === wrapperAddress);
      assert.deepEqual(
        Object.keys(shown).filter((name) => /claimable|FeeWallet/.test(name)),
        [],
      );
      const attempts = {
        earn_deploy_wrapper: termsOf(),
        claim_earn_fees: { wrapperAddress },
        earn_set_wrapper_state: { wrapperAddress, depositsDisabled: true },
      };
      for (const [path, parameters] of Object.entries(attempts)) {
        const { status } = await sub.submit(path, parameters);
        assert.ok(status >= 400 && status < 500, `${path}: ${status}`);
      }
      assert.equal(
        (await withdraw(sub, { wrapperAddress, signWith: depositor, amountValue: "MAX" })).status,
        "COMPLETED",
      );
    });

    it("pauses deposits, and never withdrawals", async () => {
      const { wrapperAddress } = await deployed({ clientFeeBps: "100" });
      const depositor = await newDepositor();
      const assets = String(10n * UNIT);
      const parameters = { wrapperAddress, signWith: depositor, assets, chainCaip2: EARN_CHAIN };
      assert.equal((await deposit(root, parameters)).status, "COMPLETED");
      const paused = { wrapperAddress, depositsDisabled: true };
      assert.deepEqual(await root.result("earn_set_wrapper_state", paused), paused);
      await rejected("earn_deposit", parameters, /does not accept deposits now/);
      assert.equal((await positions(root, depositor))[0]?.depositsDisabled, true);
      const out = { wrapperAddress, signWith: depositor, amountValue: String(4n * UNIT) };
      assert.equal((await withdraw(root, out)).status, "COMPLETED");
      await root.result("earn_set_wrapper_state", { wrapperAddress, depositsDisabled: false });
      assert.equal((await deposit(root, parameters)).status, "COMPLETED");
    });

    it("takes vaults into the catalog by `keystead earn import`, all of a file or none", async () => {
      const vault = await deployContract(node, world.maker, "TestVault", world.token.address);
      const caip19 = `${EARN_CHAIN}/erc20:${world.token.address}`;
      const names = async () =>
        ((await root.read("list_earn_vaults", { caip19 })).vaults as Json[]).map((one) => one.name);
      const settings = {
        KEYSTEAD_DATA_DIR: server.dataDir,
        DATABASE_URL: server.databaseUrl,
        KEYSTEAD_CONFIG: join(server.dataDir, "chains.json"),
        KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
      };
      const file = join(server.dataDir, "vaults.json");
      const importing = (content: unknown) => {
        writeFileSync(file, JSON.stringify(content));
        return runKeystead(["earn", "import", file], settings);
      };
      const before = await names();
      const good = earnEntry(vault.address, { name: "Imported" });
      for (const [bad, reason] of [
        [earnEntry(newAddress()), /vault 1, 0x[0-9a-f]{40} is no contract on eip155:8453/],
        [earnEntry(world.token.address), /is no ERC-4626 vault on eip155:8453/],
        [earnEntry(vault.address, { chainCaip2: "eip155:1" }), /this server has no nodes for eip155:1/],
        [earnEntry(vault.address, { chainCaip2: "eip155:143" }), /must contain a list of vaults/],
        [good, /a second time/],
      ] as const) {
        const refused = await importing([good, bad]);
        assert.equal(refused.code, 1, refused.stdout);
        assert.match(refused.stderr, reason);
        assert.deepEqual(await names(), before);
      }
      const done = await importing([good]);
      assert.equal(done.code, 0, done.stderr);
      assert.deepEqual(JSON.parse(done.stdout), { imported: 1, vaults: 1 });
      assert.deepEqual((await names()).sort(), [...before, "Imported"].sort());
      const renamed = await importing([{ ...good, name: "Renamed" }]);
      assert.equal(renamed.code, 0, renamed.stderr);
      assert.deepEqual((await names()).sort(), [...before, "Renamed"].sort());
    });

    it("refuses bad terms with the reason, and neither deploys nor stores anything", async () => {
      const { database } = server.opened;
      const paid = () => database.read.selectFrom("sponsored_sends").select("id").orderBy("id").execute();
      const sent = () => node.call("eth_getTransactionCount", sponsor, "pending");
      const [before, ...beside] = [await dumpDatabase(database, [root.organizationId]), await paid(), await sent()];
      for (const clientFeeBps of ["4001", "-1", "1e3", "0x10", `1${"0".repeat(30)}`, "", " 1", "1.5", "01"]) {
        await rejected("earn_deploy_wrapper", termsOf({ clientFeeBps }), /clientFeeBps/);
      }
      const cases: [object, RegExp][] = [
        [{ vaultAddress: newAddress() }, /not in this server's catalog/],
        [{ vaultAddress: aave.address, chainCaip2: "eip155:1" }, /is a vault on eip155:8453/],
        [{ chainCaip2: "eip155:1" }, /has no nodes for eip155:1/],
        [{ chainCaip2: "eip155:143" }, /chainCaip2/],
        [{ vaultAddress: world.token.address }, /is no ERC-4626 vault/],
        [{ vaultAddress: nobody }, /is no contract/],
        [{ vaultAddress: "0x1234" }, /vaultAddress/],
        [{ clientFeeWallet: newAddress() }, /clientFeeWallet/],
        [{ clientFeeWallet: `0x${"00".repeat(20)}` }, /clientFeeWallet/],
        [{ clientFeeBps: 2000 }, /clientFeeBps/],
        [{ serviceFeeBps: "0" }, /serviceFeeBps/],
      ];
      for (const [more, reason] of cases) await rejected("earn_deploy_wrapper", termsOf(more), reason);
      assertSameDump(before, await dumpDatabase(database, [root.organizationId]), "bad terms");
      assert.deepEqual([await paid(), await sent()], beside);
    });

    it("leaves the client no more than what the service leaves of the half that both may take", async () => {
      const dearer = await startTestServer(engine, {
        chains: { [EARN_CHAIN]: { rpcUrls: [node.url] } },
        settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" },
        earn: { serviceFeeBps: 1500, vaults: [earnEntry(world.vault.address)] },
      });
      try {
        const terms = (clientFeeBps: string) => termsOf({ clientFeeBps, clientFeeWallet: newAddress() });
        const reason = /at most 3500 basis points: the service takes 1500, and both at most 5000/;
        for (const fee of ["3501", "4000"]) await rejected("earn_deploy_wrapper", terms(fee), reason, dearer.root);
        // What is wrong with this one is its wallet alone.
        await rejected("earn_deploy_wrapper", terms("3500"), /clientFeeWallet/, dearer.root);
      } finally {
        await dearer.close();
      }
    });

    it("keeps the transactions of one request together, and has a gate for each chain", async () => {
      const { database } = server.opened;
      const { organizationId } = root;
      const { wrapperAddress } = await deployed();
      const depositor = await newDepositor();
      const now = Date.now();
      let order: string[] = [];
      let gates: string[] = [];
      const activities = ["first", "second"] as const;
      const undone = database.transact(organizationId, async (tx) => {
        // What fails after it wrote may be run twice.
        gates = [];
        for (const activityId of activities) {
          const planning = { evm: nodes.evm, read: tx, organizationId };
          const account = { chain: EARN_CHAIN as "eip155:8453", from: depositor.toLowerCase() };
          const plan = await planTransactions(planning, account, [
            actions.approve(world.token.address, wrapperAddress, 1n),
            actions.approve(world.token.address, wrapperAddress, 2n),
          ]);
          const organization = { id: organizationId, parentId: null };
          const requested = { tx, organization, activityId, plan, id: () => newId(), now };
          const id = await queueRequest(requested, { kind: "DEPOSIT", amount: "1" });
          const lane = tx.selectFrom("job_lanes").select("gate").where("lane", "=", `earn:${organizationId}:${id}`);
          gates = [...gates, ...(await lane.execute()).map(({ gate }) => gate)];
        }
        const open = await findOpenSends(tx, organizationId, EARN_CHAIN);
        order = open.map(({ activityId }) => activityId).filter((id) => activities.some((each) => each === id));
        throw new Error("undone");
      });
      await assert.rejects(undone, /undone/);
      assert.deepEqual(order, ["first", "first", "second", "second"]);
      assert.deepEqual(gates, [`earn:${EARN_CHAIN}`, `earn:${EARN_CHAIN}`]);
    });

    it("counts a deposit once that is in one block with the withdrawal of all before it", async () => {
      const { wrapperAddress } = await deployed({ clientFeeBps: "300" });
      const depositor = await newDepositor();
      const parameters = { wrapperAddress, signWith: depositor, chainCaip2: EARN_CHAIN };
      const first = await deposit(root, { ...parameters, assets: String(10n * UNIT) });
      assert.equal(first.status, "COMPLETED", JSON.stringify(first));
      await node.call("evm_setAutomine", false);
      try {
        const all = await root.result("earn_withdraw", { ...parameters, amountValue: "MAX" });
        const before = Number(await node.call("eth_getTransactionCount", depositor, "latest"));
        const waiting = async (count: number) =>
          Number(await node.call("eth_getTransactionCount", depositor, "pending")) === before + count;
        // So that it is planned on top of that.
        await until(() => waiting(1), "the withdrawal to wait for a block");
        const more = await root.result("earn_deposit", { ...parameters, assets: String(20n * UNIT) });
        await until(() => waiting(3), "all of them to wait for a block");
        await node.call("evm_mine");
        for (const [path, ids] of [
          ["get_earn_withdraw_status", all],
          ["get_earn_deposit_status", more],
        ] as const) {
          const status = await earnEnded(root, path, ids);
          assert.equal(status.status, "COMPLETED", JSON.stringify(status));
        }
      } finally {
        await node.call("evm_setAutomine", true);
      }
      const [position] = (await positions(root, depositor)) as [Json];
      assertWithin(BigInt(position.totalDeposited), 20n * UNIT, 2n);
      assert.equal(position.totalWithdrawn, "0");
    });

    /** While it is away in this, transactions are planned and not signed. */
    const LOOK = "eth_blockNumber";
    const AWAY = { error: { code: -32_603, message: "away" } } as const;
    afterEach(() => front.when(LOOK, "pass on"));

    it("deposits what two requests ask for that were planned on one allowance", async () => {
      const { wrapperAddress } = await deployed({ clientFeeBps: "500" });
      const depositor = await newDepositor();
      await node.call("anvil_impersonateAccount", depositor);
      await world.token.write(depositor as `0x${string}`, "approve", wrapperAddress, 15n * UNIT);
      const parameters = { wrapperAddress, signWith: depositor, chainCaip2: EARN_CHAIN, assets: String(10n * UNIT) };
      front.when(LOOK, AWAY);
      const both = [await root.result("earn_deposit", parameters), await root.result("earn_deposit", parameters)];
      front.when(LOOK, "pass on");
      for (const ids of both) {
        const status = await earnEnded(root, "get_earn_deposit_status", ids);
        assert.equal(status.status, "COMPLETED", JSON.stringify(status));
      }
      assert.equal((await positions(root, depositor))[0]?.totalDeposited, String(20n * UNIT));
      await world.token.write(depositor as `0x${string}`, "approve", wrapperAddress, 2n ** 256n - 1n);
      const before = Number(await node.call("eth_getTransactionCount", depositor, "latest"));
      assert.equal((await deposit(root, parameters)).status, "COMPLETED");
      assert.equal(
        Number(await node.call("eth_getTransactionCount", depositor, "latest")),
        before + 1,
        "as it is enough",
      );
    });

    it("deposits what was asked for before another deposit whose approval is signed already, and that one too", async () => {
      const { wrapperAddress } = await deployed({ clientFeeBps: "550" });
      const parameters = { wrapperAddress, signWith: await newDepositor(), chainCaip2: EARN_CHAIN };
      const [PLAN, SEND] = ["eth_estimateGas", "eth_sendRawTransaction"];
      const planning = held(() => true);
      front.when(PLAN, planning.reply);
      const earlier = root.result("earn_deposit", { ...parameters, assets: String(2n * UNIT) });
      await planning.begun;
      front.when(PLAN, "pass on");
      // Its approval is signed and refused once, so the deposit itself is signed in a later round.
      front.when(SEND, () => {
        front.when(SEND, "pass on");
        front.when(LOOK, AWAY);
        return { error: { code: -32_000, message: "txpool is full" } };
      });
      const sent = front.count(SEND);
      const later = await root.result("earn_deposit", { ...parameters, assets: String(3n * UNIT) });
      await front.waitFor(SEND, sent + 1);
      planning.letGo();
      const both = [await earlier, later];
      front.when(LOOK, "pass on");
      for (const ids of both) {
        const status = await earnEnded(root, "get_earn_deposit_status", ids);
        assert.equal(status.status, "COMPLETED", JSON.stringify(status));
      }
    });

    it("counts a deposit that was asked for before a withdrawal of all, and is in a block after what that left was read", async () => {
      const { wrapperAddress } = await deployed({ clientFeeBps: "560" });
      const depositor = await newDepositor();
      const parameters = { wrapperAddress, signWith: depositor, chainCaip2: EARN_CHAIN };
      assert.equal((await deposit(root, { ...parameters, assets: String(9n * UNIT) })).status, "COMPLETED");
      const [PLAN, READ] = ["eth_estimateGas", "eth_call"];
      const [planning, reading] = [held(() => true), held(({ params }) => /^0x[0-9a-f]+$/.test(String(params[1])))];
      front.when(PLAN, planning.reply);
      const earlier = root.result("earn_deposit", { ...parameters, assets: String(5n * UNIT) });
      await planning.begun;
      front.when(PLAN, "pass on");
      front.when(READ, reading.reply);
      const all = await root.result("earn_withdraw", { ...parameters, amountValue: "MAX" });
      await reading.begun;
      planning.letGo();
      const counted = await earnEnded(root, "get_earn_deposit_status", await earlier);
      reading.letGo();
      front.when(READ, "pass on");
      const withdrawn = await earnEnded(root, "get_earn_withdraw_status", all);
      assert.deepEqual([counted.status, withdrawn.status], ["COMPLETED", "COMPLETED"]);
      const [position] = (await positions(root, depositor)) as [Json];
      assertWithin(BigInt(position.totalDeposited), 5n * UNIT, 2n);
      assert.equal(position.totalWithdrawn, "0");
    });

    it("deposits again what a withdrawal of all brings that is not on its way yet", async () => {
      const { wrapperAddress } = await deployed({ clientFeeBps: "600" });
      const depositor = await newDepositor(root, 10n * UNIT);
      const parameters = { wrapperAddress, signWith: depositor, chainCaip2: EARN_CHAIN };
      assert.equal((await deposit(root, { ...parameters, assets: String(9n * UNIT) })).status, "COMPLETED");
      front.when(LOOK, AWAY);
      const all = await root.result("earn_withdraw", { ...parameters, amountValue: "MAX" });
      const again = await root.result("earn_deposit", { ...parameters, assets: String(UNIT) });
      front.when(LOOK, "pass on");
      for (const [path, ids] of [
        ["get_earn_withdraw_status", all],
        ["get_earn_deposit_status", again],
      ] as const) {
        const status = await earnEnded(root, path, ids);
        assert.equal(status.status, "COMPLETED", JSON.stringify(status));
      }
    });

    it("books a withdrawal of all as of its own block where a node is behind", async () => {
      const { wrapperAddress } = await deployed({ clientFeeBps: "700" });
      const depositor = await newDepositor();
      const parameters = { wrapperAddress, signWith: depositor, chainCaip2: EARN_CHAIN };
      assert.equal((await deposit(root, { ...parameters, assets: String(10n * UNIT) })).status, "COMPLETED");
      front.when(LOOK, { result: await node.call(LOOK) });
      assert.equal((await withdraw(root, { ...parameters, amountValue: "MAX" })).status, "COMPLETED");
      front.when(LOOK, "pass on");
      assert.equal((await deposit(root, { ...parameters, assets: String(20n * UNIT) })).status, "COMPLETED");
      assert.equal((await positions(root, depositor))[0]?.totalDeposited, String(20n * UNIT));
    });

    it("tells nothing of what a vault does not say, and what a withdrawal of all left once it says that", async () => {
      const { wrapperAddress } = await deployed({ clientFeeBps: "750" });
      const wrapper = contractAt(node, "MorphoFeeWrapper", wrapperAddress);
      const depositor = await newDepositor();
      const giver = await newCaller(node);
      await world.token.write(world.maker, "mint", giver, 20n * UNIT);
      await world.token.write(giver, "approve", wrapperAddress, 20n * UNIT);
      const parameters = { wrapperAddress, signWith: depositor, chainCaip2: EARN_CHAIN };
      assert.equal((await deposit(root, { ...parameters, assets: String(10n * UNIT) })).status, "COMPLETED");
      const code = await node.call("eth_getCode", world.vault.address, "latest");
      const RECEIPT = "eth_getTransactionReceipt";
      try {
        front.when(LOOK, AWAY);
        const ids = await root.result("earn_withdraw", { ...parameters, amountValue: "MAX" });
        const had = await wrapper.read("balanceOf", depositor);
        await wrapper.write(giver, "deposit", 20n * UNIT, depositor);
        const has = await wrapper.read("balanceOf", depositor);
        front.when(RECEIPT, AWAY);
        front.when(LOOK, "pass on");
        await until(async () => (await wrapper.read("balanceOf", depositor)) === has - had, "the withdrawal's block");
        await node.call("anvil_setCode", world.vault.address, "0xfe");
        front.when(RECEIPT, "pass on");
        assert.equal((await earnEnded(root, "get_earn_withdraw_status", ids)).status, "COMPLETED");
        const [position] = (await positions(root, depositor)) as [Json];
        assert.equal(position.totalDeposited, String(10n * UNIT), "as what is left is not known");
        assert.equal(position.currentValue, undefined);
        assert.deepEqual(
          Object.keys(position.display).filter((name) => name.startsWith("currentValue")),
          [],
        );
        const { enabledVaults } = await root.read("list_earn_enabled_vaults", {});
        const shown = enabledVaults.find((one: Json) => one.wrapperAddress === wrapperAddress);
        const told = ["totalDeposited", "claimableClientFee", "claimableClientFeeDisplay"];
        assert.deepEqual(
          told.filter((name) => name in shown),
          [],
        );
        assert.deepEqual(shown.display, {});
      } finally {
        front.when(RECEIPT, "pass on");
        await node.call("anvil_setCode", world.vault.address, code);
      }
      let shown: Json = {};
      await until(async () => {
        [shown] = (await positions(root, depositor)) as [Json];
        return shown.totalDeposited !== String(10n * UNIT);
      }, "what was left to be counted");
      assertWithin(BigInt(shown.totalDeposited), 20n * UNIT, 2n);
      assertWithin(BigInt(shown.currentValue), 20n * UNIT, 2n);
      assert.equal(shown.totalWithdrawn, "0");
    });

    it("pays for deposits and withdrawals of a wallet without ether, and counts that", async () => {
      const { wrapperAddress } = await deployed({ clientFeeBps: "800" });
      const depositor = await newDepositor();
      await node.call("anvil_setBalance", depositor, "0x0");
      const common = { wrapperAddress, signWith: depositor, sponsor: true };
      const put = await deposit(root, { ...common, assets: String(10n * UNIT) });
      assert.equal(put.status, "COMPLETED", JSON.stringify(put));
      assert.equal((await node.receipt(put.depositTxHash)).from, sponsor);
      assert.equal((await positions(root, depositor))[0]?.totalDeposited, String(10n * UNIT));
      assert.equal(await world.token.read("allowance", depositor, wrapperAddress), 0n);
      const got = await withdraw(root, { ...common, amountValue: "MAX" });
      assert.equal(got.status, "COMPLETED", JSON.stringify(got));
      assert.equal((await node.receipt(got.withdrawTxHash)).from, sponsor);
      assertWithin(await balance(depositor), 1000n * UNIT, 2n);
    });

    it("carries out no claim that was asked for before another one", async () => {
      const { wrapperAddress } = await deployed({ clientFeeBps: "400" });
      const depositor = await newDepositor();
      const assets = String(100n * UNIT);
      assert.equal((await deposit(root, { wrapperAddress, signWith: depositor, assets })).status, "COMPLETED");
      await world.token.write(world.maker, "mint", world.vault.address, 100n * UNIT);
      const { userId, client } = await addUser(root);
      const { policyId } = await root.result("create_policy", {
        policyName: newId(),
        effect: "EFFECT_ALLOW",
        consensus: `approvers.any(user, user.id == '${userId}') && approvers.count() >= 2`,
        notes: "",
      });
      const { activity } = (await client.submit("claim_earn_fees", { wrapperAddress })).body;
      assert.equal(activity?.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED", JSON.stringify(activity));
      assert.equal((await claim(wrapperAddress)).status, "COMPLETED");
      const nonce = await node.call("eth_getTransactionCount", sponsor, "pending");
      const late = await root.submit("approve_activity", { fingerprint: activity.fingerprint });
      assert.match(JSON.stringify(late.body), /has paid its fees since this claim was submitted/);
      assert.equal(await node.call("eth_getTransactionCount", sponsor, "pending"), nonce, "nothing was sent");
      await root.result("delete_policy", { policyId });
    });

    it("is decided on by policies, as the calls that a wallet makes", async () => {
      const { wrapperAddress } = await deployed({ clientFeeBps: "900" });
      const [mine, other] = [await newDepositor(), await newDepositor()];
      const { userId, client } = await addUser(root);
      const allow = (condition: string) =>
        root.submit("create_policy", {
          policyName: newId(),
          effect: "EFFECT_ALLOW",
          consensus: `approvers.any(user, user.id == '${userId}')`,
          condition,
          notes: "",
        });
      for (const name of ["vault_address", "client_fee_bps", "assets", "amount_value"]) {
        const { status, body } = await allow(`activity.params.${name} == '1'`);
        assert.equal(status, 400, JSON.stringify(body));
        assert.match(body.message, new RegExp(`field does not exist: ${name}`));
      }
      const asked = async (path: string, signWith: string, more: object) => {
        const parameters = { wrapperAddress, chainCaip2: EARN_CHAIN, signWith, ...more };
        return (await client.submit(path, parameters)).status;
      };
      const assets = { assets: String(10n * UNIT) };
      // It is an approval and a deposit, to two contracts.
      await allow(`activity.kind == 'EARN_DEPOSIT' && eth.tx.to == '${wrapperAddress}'`);
      assert.equal(await asked("earn_deposit", mine, assets), 403);
      const here = `eth.tx.chain_id == ${EARN_CHAIN_ID} && wallet_account.address == '${mine}'`;
      await allow(`activity.kind == 'EARN_DEPOSIT' && ${here}`);
      assert.equal(await asked("earn_deposit", mine, assets), 200);
      assert.equal(await asked("earn_deposit", other, assets), 403);
      await until(async () => (await positions(root, mine)).length === 1, "the deposit");
      await allow(`activity.kind == 'EARN_WITHDRAW' && ${here} && eth.tx.to == '${wrapperAddress}'`);
      assert.equal(await asked("earn_withdraw", mine, { amountValue: "MAX" }), 200);
      assert.equal((await client.submit("earn_deploy_wrapper", termsOf())).status, 403);
    });

    it("says what is missing before anything can be deposited", async () => {
      const depositor = await newDepositor();
      const common = { signWith: depositor, chainCaip2: EARN_CHAIN };
      const nowhere = { wrapperAddress: newAddress(), ...common };
      await rejected("earn_deposit", { ...nowhere, assets: "1" }, /EARN_SETUP_REQUIRED/);
      await rejected("earn_withdraw", { ...nowhere, amountValue: "MAX" }, /EARN_SETUP_REQUIRED/);
      await rejected("claim_earn_fees", { wrapperAddress: newAddress() }, /EARN_SETUP_REQUIRED/);
      const { wrapperAddress } = await deployed();
      const there = { wrapperAddress, ...common };
      for (const amount of ["", "0", "-1", "1e3", "0x10", "1.5", " 1", "01", "9".repeat(79)]) {
        await rejected("earn_deposit", { ...there, assets: amount }, /`parameters\.assets` must be/);
        await rejected("earn_withdraw", { ...there, amountValue: amount }, /`parameters\.amountValue` must be/);
      }
      await rejected("earn_deposit", { ...there, assets: "9".repeat(78) }, /256 bits/);
      await rejected("earn_withdraw", { ...there, amountValue: "9".repeat(78) }, /256 bits/);
      for (const assets of [String(1001n * UNIT), `1${"0".repeat(30)}`]) {
        await rejected("earn_deposit", { ...there, assets }, /is more than the 1000000000/);
      }
      await rejected("earn_deposit", { ...there, assets: "1", chainCaip2: "eip155:1" }, /is not the wrapper's chain/);
      await rejected("earn_withdraw", { ...there, amountValue: "max" }, /amountValue/);
      const stranger = { ...there, signWith: newAddress(), assets: "1" };
      const { status } = await root.submit("earn_deposit", stranger);
      assert.ok(status >= 400 && status < 500);
      assert.deepEqual(await positions(root, depositor), []);
    });

    it("sends nothing where the deposit would revert, and says why", async () => {
      const { wrapperAddress } = await deployed();
      const depositor = await newDepositor();
      // Less than a share of the vault costs.
      const status = await deposit(root, { wrapperAddress, signWith: depositor, assets: "1" });
      assert.equal(status.status, "FAILED");
      assert.match(status.error, /would revert/);
      assert.equal(BigInt((await node.call("eth_getTransactionCount", depositor, "latest")) as string), 0n);
      assert.deepEqual(await positions(root, depositor), []);
    });
  });
}

function assertWithin(actual: bigint, expected: bigint, tolerance: bigint) {
  const difference = actual > expected ? actual - expected : expected - actual;
  assert.ok(difference <= tolerance, `${actual} is not within ${tolerance} of ${expected}`);
}
