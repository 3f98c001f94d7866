import assert from "node:assert/strict";
import { after, before, describe, it, mock } from "node:test";
import { parseTransaction } from "viem";
import { takeNonce } from "../../src/capabilities/sending/evm/nonces.ts";
import { addSend, findOwnSends, requireSend } from "../../src/capabilities/sending/store.ts";
import { planSponsored, sponsorSend } from "../../src/capabilities/sponsoring/store.ts";
import { createAssetBook } from "../../src/chains/evm/assets.ts";
import { DEPLOYMENT_PROXY } from "../../src/chains/evm/create2.ts";
import { GAS_STATION_ADDRESS } from "../../src/chains/evm/gas-station.ts";
import { HOUR_MS } from "../../src/kernel/durations.ts";
import { KeysteadError } from "../../src/kernel/errors.ts";
import { newId } from "../../src/kernel/ids.ts";
import { MAX_OPEN_SENDS } from "../../src/kernel/limits.ts";
import { type Anvil, startAnvil, TEST_CHAIN_ID } from "../support/anvil.ts";
import { balanceOf, TEST_CHAIN } from "../support/chain.ts";
import type { Client } from "../support/client.ts";
import { giveEther, includedHash, newAddress, newEvmWallet, sendStatus, transactionOf } from "../support/evm-sender.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { nodesFor, richSponsor, usedMicros } from "../support/sponsor.ts";
import { until } from "../support/until.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

const PATH = "eth_send_transaction";
/** Of the chain's native asset, in US dollars. */
const PRICE = 2000n;
const GAS = 21_000n;
const HIGH_BASE_FEE = 100n * 10n ** 9n;

/** Whose turn it is with the account that pays for all, and what one organization can keep from the others there. */
for (const engine of oneEngine("sqlite")) {
  describe(`turns at the sponsor (${engine})`, () => {
    let node: Anvil;
    let front: RpcNode;
    let server: TestServer;
    let nodes: ReturnType<typeof nodesFor>;
    let root: Client;
    let sponsor: string;

    before(async () => {
      node = await startAnvil({ chainId: TEST_CHAIN_ID });
      front = await startRpcNode(node);
      server = await startTestServer(engine, {
        // Blocks here come to cost 2,000 gwei.
        chains: { [TEST_CHAIN]: { rpcUrls: [front.url], txFeeCap: "10", sponsoredTxFeeCap: "10" } },
        prices: { [`${TEST_CHAIN}/slip44:60`]: `${PRICE}.00` },
        settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" },
      });
      nodes = nodesFor(node.url);
      ({ root } = server);
      sponsor = await richSponsor(server.baseUrl, node);
    });
    after(async () => {
      await nodes.close();
      await server.close();
      await front.close();
      await node.stop();
    });

    const newAccount = async (client = root, wei = 10n ** 18n): Promise<string> => {
      const [address] = (await newEvmWallet(client, node)).addresses as [string];
      await giveEther(node, address, wei);
      return address;
    };
    const send = async (parameters: object, client = root): Promise<string> =>
      (await client.result(PATH, { caip2: TEST_CHAIN, ...parameters })).sendTransactionStatusId;
    const sponsored = (from: string, to: string, client = root) =>
      send({ from, sponsor: true, calls: [{ to, value: "1" }] }, client);
    const newOrganization = async (): Promise<Client> => (await addSubOrganization(root)).client;
    const rowOf = (client: Client, id: string) => requireSend(server.opened.database.read, client.organizationId, id);
    /** Once the node has it; there is no block that could. */
    async function onItsWay(client: Client, id: string): Promise<void> {
      const status = await sendStatus(client, id, ["BROADCASTING", "INCLUDED", "FAILED"]);
      assert.equal(status.txStatus, "BROADCASTING", JSON.stringify(status));
      await until(async () => (await transactionOf(node, status.eth.txHash)) !== null, "the node to have it");
    }
    const signedOf = async (client: Client, id: string) =>
      ((await rowOf(client, id)).progress as { signed: { nonce: number; fees: { maxFeePerGas: string } } }).signed;

    /** A transaction of the sponsor's for an activity, as it is planned at this moment. */
    async function plannedFor(client: Client, to = newAddress()) {
      const { activity } = (await client.submit("create_user_tag", { userTagName: newId(), userIds: [] })).body;
      const { organizationId, id: activityId } = activity;
      const read = server.opened.database.read;
      const sponsoring = { evm: nodes.evm, assets: createAssetBook({}, {}), read, organizationId };
      const plan = await planSponsored(sponsoring, { chain: TEST_CHAIN, to, value: 1n, gasLimit: GAS });
      return { activityId, plan: { ...plan, nativePrice: String(PRICE) } };
    }

    async function queue(client: Client, planned: Awaited<ReturnType<typeof plannedFor>>): Promise<string> {
      const { organizationId } = client;
      const organization = { id: organizationId, parentId: root.organizationId };
      const id = newId();
      await server.opened.database.transact(organizationId, (tx) =>
        sponsorSend(tx, { organization, id, purpose: PATH, ...planned, now: Date.now() }),
      );
      return id;
    }

    /** Calls of accounts that have another transaction on its way, and never an end of it; so many for each account. */
    async function jam(client: Client, accounts: readonly string[], each: number, now = Date.now()): Promise<string> {
      const { database } = server.opened;
      const { organizationId } = client;
      const organization = { id: organizationId, parentId: root.organizationId };
      const { activityId, plan } = await plannedFor(client, GAS_STATION_ADDRESS);
      let id = "";
      for (const account of accounts) {
        const execution = { account, calls: [] };
        const sent = { organization, activityId, purpose: PATH, plan: { ...plan, execution }, now };
        await database.transact(organizationId, async (tx) => {
          await takeNonce(tx, { organizationId, caip2: TEST_CHAIN, from: account }, 0, newId(), now);
        });
        // Few in one transaction, which has its time also on a busy machine.
        for (let count = 0; count < each; count += 10) {
          await database.transact(organizationId, async (tx) => {
            for (let next = count; next < Math.min(each, count + 10); next++) {
              id = newId();
              await sponsorSend(tx, { ...sent, id });
            }
          });
        }
      }
      return id;
    }

    it("deploys the station though its organization has as many on their way as it may", async () => {
      const client = await newOrganization();
      const from = await newAccount(client);
      const { organizationId } = client;
      await server.opened.database.transact(organizationId, async (tx) => {
        const signedAs = { signedTransaction: Buffer.alloc(0), transactionHash: "" };
        const row = { organizationId, activityId: newId(), caip2: "eip155:1", ...signedAs, now: Date.now() };
        for (let count = 1; count < MAX_OPEN_SENDS; count++) await addSend(tx, { ...row, id: newId() });
      });
      const to = newAddress();
      await includedHash(client, await sponsored(from, to, client));
      assert.equal(await balanceOf(node, to), 1n);
      assert.notEqual(await node.call("eth_getCode", GAS_STATION_ADDRESS, "latest"), "0x");
    });

    it("tries the station's deployment once for those that wait for it, and says why it failed", async () => {
      const client = await newOrganization();
      const from = await newAccount(client);
      const code = await node.call("eth_getCode", GAS_STATION_ADDRESS, "latest");
      await node.call("anvil_setCode", GAS_STATION_ADDRESS, "0x");
      let attempts = 0;
      front.when("eth_estimateGas", ({ params }) => {
        if ((params[0] as { to: string }).to !== DEPLOYMENT_PROXY) return "pass on";
        attempts++;
        return { error: { code: 3, message: "execution reverted" } };
      });
      const { txStatus, txError } = await sendStatus(client, await sponsored(from, newAddress(), client));
      front.when("eth_estimateGas", "pass on");
      await node.call("anvil_setCode", GAS_STATION_ADDRESS, code);
      assert.equal(txStatus, "FAILED");
      assert.match(txError, /the gas station, through which its calls go, could not be deployed: .*would revert/);
      assert.equal(attempts, 1);
      await includedHash(client, await sponsored(from, newAddress(), client));
    });

    it("lets others go while the turn of many does not come, and ends these after an hour", async () => {
      const [first, second, third] = [await newOrganization(), await newOrganization(), await newOrganization()];
      await jam(first, Array.from({ length: 140 }, newAddress), 1);
      await jam(second, [newAddress()], 140);
      const to = newAddress();
      await includedHash(third, await sponsored(await newAccount(third), to, third));
      assert.equal(await balanceOf(node, to), 1n);
      const late = await jam(third, [newAddress()], 1, Date.now() - HOUR_MS);
      const { txStatus, txError } = await sendStatus(third, late);
      assert.deepEqual(
        [txStatus, txError],
        ["FAILED", "its turn did not come within an hour; the account may have other transactions on their way"],
      );
      // The others are of no more use.
      await server.opened.database.transact(undefined, (tx) =>
        tx.updateTable("send_transactions").set({ created_at: 0 }).where("status", "=", "INITIALIZED").execute(),
      );
    });

    it("lets others go before what else is sent by those whose transaction nodes refuse", {
      timeout: 120_000,
    }, async () => {
      const parent = (await createWorld(server)).root.client;
      const first = (await addSubOrganization(parent)).client;
      const second = (await addSubOrganization(parent)).client;
      const other = await newOrganization();
      const refused = [
        { client: first, from: await newAccount(first) },
        { client: first, from: await newAccount(first) },
        { client: second, from: await newAccount(second) },
      ];
      const from = await newAccount(other);
      const accounts = [...refused.map((one) => one.from), from];
      const given: string[] = [];
      const released = Promise.withResolvers<void>();
      front.when("eth_sendRawTransaction", async ({ params }) => {
        const account = accounts.find((each) => String(params[0]).includes(each.slice(2).toLowerCase()));
        if (account !== undefined && !given.includes(account)) given.push(account);
        if (account === undefined || account === from) return "pass on";
        // Until all of them wait.
        await released.promise;
        return { error: { code: -32_000, message: "authority already reserved" } };
      });
      try {
        const ids: string[] = [];
        for (const one of refused) ids.push(await sponsored(one.from, newAddress(), one.client));
        const id = await sponsored(from, newAddress(), other);
        released.resolve();
        await includedHash(other, id);
        for (const [index, one] of refused.entries()) {
          const { txStatus, txError } = await sendStatus(one.client, ids[index] as string);
          assert.deepEqual(
            [txStatus, /rejected the transaction: authority already reserved/.test(txError)],
            ["FAILED", true],
          );
        }
        const [a, b, c] = refused.map((one) => one.from);
        assert.deepEqual(given, [a, from, c, b], "another parent's, then another sub-organization's, then its own");
      } finally {
        released.resolve();
        front.when("eth_sendRawTransaction", "pass on");
      }
    });

    it("signs nothing by the word of a node that does not have the account's last calls yet", async () => {
      const from = await newAccount();
      await includedHash(root, await sponsored(from, newAddress()));
      const behind = "0x0000000000000000000000000000000000000000000000000000000000000000";
      let asked = 0;
      front.when("eth_getStorageAt", ({ params: [account] }) => {
        if (String(account).toLowerCase() !== from.toLowerCase() || ++asked > 3) return "pass on";
        return { result: behind };
      });
      try {
        const to = newAddress();
        await includedHash(root, await sponsored(from, to));
        assert.equal(await balanceOf(node, to), 1n);
        assert.equal(asked, 4);
      } finally {
        front.when("eth_getStorageAt", "pass on");
      }
    });

    it("goes on with others while one organization's work waits for the signer", async () => {
      const [busy, other] = [await newOrganization(), await newOrganization()];
      const [from, next] = [await newAccount(busy), await newAccount(other)];
      const { signer } = server.opened;
      const ask = signer.ask.bind(signer);
      let refused = 0;
      const turns = new Set<string | undefined>();
      const slow = mock.method(signer, "ask", (...[request, asker, ...rest]: Parameters<typeof ask>) => {
        if (request.verb === "signSponsorTransaction") turns.add(asker?.organizationId);
        if (request.verb !== "sign" || request.organizationId !== busy.organizationId)
          return ask(request, asker, ...rest);
        refused++;
        throw new KeysteadError("SIGNER_BUSY", { retryAfterSeconds: 1 }, []);
      });
      try {
        const waiting = await sponsored(from, newAddress(), busy);
        await until(() => refused > 0, "the signer to be asked");
        await includedHash(other, await sponsored(next, newAddress(), other));
        slow.mock.restore();
        await includedHash(busy, waiting);
        assert.deepEqual([...turns], ["service"], "the sponsor's own signatures wait for no organization's work");
      } finally {
        slow.mock.restore();
      }
    });

    /** Has the next block, and what is estimated for it, cost so much. */
    const setBaseFee = (fee: bigint) => node.call("anvil_setNextBlockBaseFeePerGas", `0x${fee.toString(16)}`);
    async function makeExpensive(): Promise<void> {
      await setBaseFee(HIGH_BASE_FEE);
      await node.call("evm_mine");
      // What the server was told before serves for a moment.
      const asked = front.count("eth_maxPriorityFeePerGas");
      const from = await newAccount();
      await until(async () => {
        await send({ from, calls: [{ to: newAddress(), value: "1" }], nonce: "0" });
        return front.count("eth_maxPriorityFeePerGas") > asked;
      }, "the server to ask for fees again");
    }

    it("sends with the fees of now what was planned when it was cheap, and counts what it may cost", async () => {
      const client = await newOrganization();
      const planned = await plannedFor(client);
      await makeExpensive();
      await node.call("evm_setAutomine", false);
      try {
        const id = await queue(client, planned);
        await onItsWay(client, id);
        const { maxFeePerGas } = (await signedOf(client, id)).fees;
        assert.ok(BigInt(maxFeePerGas) > BigInt(planned.plan.highest.maxFeePerGas), "above what was planned at most");
        const greatest = (GAS * BigInt(maxFeePerGas) * PRICE * 10n ** 6n) / 10n ** 18n;
        assert.ok((await usedMicros(client)) >= greatest);
        await node.call("evm_mine");
        await includedHash(client, id);
        assert.ok((await usedMicros(client)) < greatest);
      } finally {
        await node.call("evm_setAutomine", true);
      }
    });

    it("replaces what is stuck with the fees of now, with what its account signed as it is", {
      timeout: 900_000,
    }, async () => {
      const client = await newOrganization();
      const from = await newAccount(client);
      const { signer } = server.opened;
      const ask = signer.ask.bind(signer);
      let signatures = 0;
      const counting = mock.method(signer, "ask", (...[request, ...rest]: Parameters<typeof ask>) => {
        if (request.verb === "sign" && request.organizationId === client.organizationId) signatures++;
        return ask(request, ...rest);
      });
      // It has become cheap again.
      await setBaseFee(10n ** 9n);
      await node.call("evm_mine");
      await node.call("evm_setAutomine", false);
      const raws: string[] = [];
      front.when("eth_sendRawTransaction", ({ params }) => {
        raws.push(String(params[0]));
        return "pass on";
      });
      try {
        const to = newAddress();
        const id = await sponsored(from, to, client);
        await onItsWay(client, id);
        const { nonce } = await signedOf(client, id);
        await until(async () => {
          await setBaseFee(HIGH_BASE_FEE * 20n);
          await node.call("evm_mine");
          return (await rowOf(client, id)).status !== "BROADCASTING";
        }, "a block to have it");
        await includedHash(client, id);
        assert.equal(await balanceOf(node, to), 1n);
        const all = raws.map((raw) => parseTransaction(raw as `0x04${string}`)).filter((one) => one.nonce === nonce);
        const parts = new Set(all.map(({ data, authorizationList }) => `${data} ${authorizationList?.[0]?.r}`));
        assert.equal(parts.size, 1);
        assert.ok(new Set(all.map(({ maxFeePerGas }) => maxFeePerGas)).size > 1, "with other fees");
        assert.equal(signatures, 2, "its calls and the authorization");
      } finally {
        front.when("eth_sendRawTransaction", "pass on");
        await node.call("evm_setAutomine", true);
        counting.mock.restore();
        await setBaseFee(10n ** 9n);
        await node.call("evm_mine");
      }
    });

    it("is noted in the account's history as paid for by the service", async () => {
      const from = await newAccount();
      const hashes = [
        await includedHash(root, await sponsored(from, newAddress())),
        await includedHash(root, await send({ from, calls: [{ to: newAddress(), value: "1" }] })),
      ];
      const own = await findOwnSends(server.opened.database.read, root.organizationId, TEST_CHAIN, hashes);
      assert.deepEqual(
        hashes.map((hash) => own.get(hash)?.sponsored),
        [true, false],
      );
      assert.equal(((await transactionOf(node, hashes[0] as string)) as unknown as { from: string }).from, sponsor);
    });

    it("leaves no gap behind an authorization whose nonce a stranger took", async () => {
      const from = await newAccount();
      const [to, next] = [newAddress(), newAddress()];
      const call = { to, value: "1" };
      await node.call("evm_setAutomine", false);
      try {
        const batch = await send({ from, calls: [call, call] });
        await onItsWay(root, batch);
        const plain = await send({ from, calls: [{ to: next, value: "1" }] });
        // What comes after it has been looked at.
        await front.waitFor("eth_blockNumber", front.count("eth_blockNumber") + 6);
        // However dear it was when the fees were asked for: a node takes another one with the nonce for more alone.
        const fee = `0x${(2n * BigInt((await signedOf(root, batch)).fees.maxFeePerGas)).toString(16)}`;
        await node.call("anvil_impersonateAccount", from);
        const transfer = { from, to: newAddress(), value: "0x1", nonce: "0x0" };
        await node.call("eth_sendTransaction", { ...transfer, maxFeePerGas: fee, maxPriorityFeePerGas: fee });
        await node.call("anvil_mine", "0xe");
        await node.call("evm_setAutomine", true);
        for (const id of [batch, plain]) await includedHash(root, id);
        assert.deepEqual([await balanceOf(node, to), await balanceOf(node, next)], [2n, 1n]);
      } finally {
        await node.call("evm_setAutomine", true);
      }
    });

    it("lets plain transactions fill the gap that keeps an authorization back, and none go beyond it", async () => {
      const from = await newAccount();
      const targets = Array.from({ length: 4 }, newAddress) as [string, string, string, string];
      const call = (to: string) => ({ to, value: "1" });
      const ahead = await send({ from, calls: [call(targets[0])], nonce: "1" });
      await onItsWay(root, ahead);
      const batch = await send({ from, calls: [call(targets[1]), call(targets[1])] });
      const filling = await send({ from, calls: [call(targets[2])] });
      const last = await send({ from, calls: [call(targets[3])] });
      const nonces: number[] = [];
      for (const id of [filling, ahead, batch, last]) {
        nonces.push(Number((await transactionOf(node, await includedHash(root, id))).nonce));
      }
      assert.deepEqual(nonces, [0, 1, 2, 4], "in the order of the requests, but for the gap");
      assert.equal(await balanceOf(node, targets[1]), 2n);
    });
  });
}
