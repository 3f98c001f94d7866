import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Anvil, startAnvil, TEST_CHAIN_ID } from "../support/anvil.ts";
import { TEST_CHAIN } from "../support/chain.ts";
import type { Client, Json } from "../support/client.ts";
import { giveEther, includedHash, newAddress, newEvmWallet, sendStatus } from "../support/evm-sender.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { richSponsor, sendIdOf, usedMicros } from "../support/sponsor.ts";
import { until } from "../support/until.ts";
import { addSubOrganization } from "../support/world.ts";

const UPSERT = "upsert_gas_usage_config";
const SEND = "eth_send_transaction";
/** Of the chain's native asset, in US dollars. */
const PRICE = 2000n;
const MICRO_USD_PER_WEI = { numerator: PRICE * 10n ** 6n, denominator: 10n ** 18n };
const config = (orgWindowLimitUsd: string, subOrgWindowLimitUsd = "0", more: object = {}) => ({
  orgWindowLimitUsd,
  subOrgWindowLimitUsd,
  windowDurationMinutes: "60",
  ...more,
});

for (const engine of engines) {
  describe(`limits of what sponsoring costs (${engine})`, () => {
    let node: Anvil;
    let front: RpcNode;
    let server: TestServer;
    let aheadMs = 0;
    let root: Client;

    before(async () => {
      node = await startAnvil({ chainId: TEST_CHAIN_ID });
      front = await startRpcNode(node);
      server = await startTestServer(engine, {
        chains: { [TEST_CHAIN]: { rpcUrls: [front.url] } },
        prices: { [`${TEST_CHAIN}/slip44:60`]: `${PRICE}.00` },
        settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" },
        clock: () => Date.now() + aheadMs,
      });
      await richSponsor(server.baseUrl, node);
      root = server.root;
    });
    after(async () => {
      await server.close();
      await front.close();
      await node.stop();
    });

    const usage = async (client = root): Promise<Json> => client.read("get_gas_usage");
    const newAccount = async (client = root): Promise<string> => {
      const { addresses } = await newEvmWallet(client, node);
      await giveEther(node, addresses[0] as string, 1000n);
      return addresses[0] as string;
    };
    const sponsored = (from: string, client = root, more: object = {}) =>
      client.submit(SEND, {
        from,
        caip2: TEST_CHAIN,
        sponsor: true,
        calls: [{ to: newAddress(), value: "1" }],
        gasLimit: "300000",
        ...more,
      });
    /** What the chain took for a transaction, in millionths of a US dollar. */
    async function paidFor(id: string, client = root): Promise<bigint> {
      const receipt = (await node.receipt(await includedHash(client, id))) as unknown as Json;
      const wei = BigInt(receipt.gasUsed) * BigInt(receipt.effectiveGasPrice);
      const { numerator, denominator } = MICRO_USD_PER_WEI;
      return (wei * numerator + denominator - 1n) / denominator;
    }

    it("are none without a configuration, and usage is what was paid, without the station's deployment", async () => {
      assert.deepEqual(await usage(), { windowDurationMinutes: 1440, windowLimitUsd: "0", usageUsd: "0.00" });
      const id = sendIdOf(await sponsored(await newAccount()));
      const paid = await paidFor(id);
      assert.equal(await usedMicros(root), paid);
    });

    it("are held against what the block takes that has it after a reorganization", async () => {
      const before = await usedMicros(root);
      const from = await newAccount();
      const id = sendIdOf(await sponsored(from));
      const paid = await paidFor(id);
      assert.equal(await usedMicros(root), before + paid);
      // Given to the chain again, it comes into a later block, whose base fee is lower.
      await node.call("anvil_reorg", 1, []);
      await until(async () => (await usedMicros(root)) !== before + paid, "what the other block took to be counted");
      assert.equal(await usedMicros(root), before + (await paidFor(id)));
      // From here on the base fee stays: it falls with each block until it is as low as it gets, and what is sent at another moment costs the same.
      await node.call("anvil_mine", "0x100");
    });

    it("hold for twenty sends at once: the greatest cost of each is counted until its own is known", async () => {
      const accounts = await Promise.all(Array.from({ length: 4 }, () => newAccount()));
      const before = await usedMicros(root);
      await node.call("evm_setAutomine", false);
      const first = sendIdOf(await sponsored(accounts[0] as string));
      const greatest = (await usedMicros(root)) - before;
      const limit = before + greatest * 8n + greatest / 2n;
      await root.result(UPSERT, config(usdOf(limit)));
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => sponsored(accounts[index % 4] as string)),
      );
      const taken = answers.filter(({ status }) => status === 200);
      const refused = answers.filter(({ status }) => status !== 200);
      assert.equal(taken.length, 7, "eight with the first");
      for (const { status, body } of refused) {
        assert.deepEqual([status, body.code], [429, 8], JSON.stringify(body));
        assert.match(body.message, /no more than [\d.]+ US dollars in 60 minutes.*nothing was sent/);
      }
      assert.equal(await usedMicros(root), before + greatest * 8n);
      await node.call("evm_setAutomine", true);
      await node.call("evm_mine");
      let paid = before;
      for (const id of [first, ...taken.map(sendIdOf)]) paid += await paidFor(id);
      assert.equal(await usedMicros(root), paid, "corrected after inclusion");
      assert.ok(paid < before + greatest * 8n);
    });

    it("let go of what is never sent", async () => {
      const before = await usedMicros(root);
      const id = sendIdOf(await sponsored(await newAccount(), root, { deadline: "1" }));
      assert.equal((await sendStatus(root, id)).txStatus, "FAILED");
      assert.equal(await usedMicros(root), before);
    });

    it("are held against what a block has that its nodes refused", async () => {
      const before = await usedMicros(root);
      let refused: unknown;
      front.when("eth_sendRawTransaction", ({ params }) => {
        refused = params[0];
        return { error: { code: -32_000, message: "words of a node that keeps what it refuses" } };
      });
      const id = sendIdOf(await sponsored(await newAccount()));
      assert.equal((await sendStatus(root, id)).txStatus, "FAILED");
      assert.equal(await usedMicros(root), before);
      await node.call("eth_sendRawTransaction", refused);
      await until(async () => (await usedMicros(root)) !== before, "what the block took to be counted");
      assert.equal((await usedMicros(root)) - before, await paidFor(id));
      front.when("eth_sendRawTransaction", "pass on");
    });

    it("hold for a sub-organization by itself, and for all together", async () => {
      const { client: sub } = await addSubOrganization(root);
      const { client: other } = await addSubOrganization(root);
      const from = await newAccount(sub);
      await root.result(UPSERT, config("0", "0.000001"));
      assert.equal((await sponsored(from, sub)).body.code, 8);
      assert.deepEqual(await usage(sub), { windowDurationMinutes: 60, windowLimitUsd: "0.000001", usageUsd: "0.00" });
      await root.result(UPSERT, config("0", "100.00"));
      const before = await usedMicros(root);
      const paid = await paidFor(sendIdOf(await sponsored(from, sub)), sub);
      assert.equal(await usedMicros(sub), paid);
      assert.equal(await usedMicros(root), before + paid, "the parent's has it too");
      assert.equal(await usedMicros(other), 0n);
      // All together are at their limit: so is one that has used nothing.
      await root.result(UPSERT, config(usdOf(before + paid)));
      assert.equal((await sponsored(await newAccount(other), other)).body.code, 8);
      assert.equal((await other.submit(UPSERT, config("0"))).status, 400);
    });

    it("leave what is older than the window out", async () => {
      assert.ok((await usedMicros(root)) > 0n);
      await root.result(UPSERT, config("100.00", "0", { windowDurationMinutes: "1" }));
      aheadMs += 3 * 60_000;
      assert.deepEqual(await usage(), { windowDurationMinutes: 1, windowLimitUsd: "100.00", usageUsd: "0.00" });
      await includedHash(root, sendIdOf(await sponsored(await newAccount())));
      assert.ok((await usedMicros(root)) > 0n);
    });

    it("can be nothing at all: sponsoring is turned off and on, and stays so where that is not said", async () => {
      const from = await newAccount();
      const { gasUsageConfigId } = await root.result(UPSERT, config("0", "0", { enabled: false }));
      assert.deepEqual(await root.result(UPSERT, config("0")), { gasUsageConfigId });
      const { status, body } = await sponsored(from);
      assert.equal(status, 400);
      assert.match(body.message, /has turned sponsoring off/);
      await root.result(UPSERT, config("0", "0", { enabled: true }));
      await includedHash(root, sendIdOf(await sponsored(from)));
    });

    it("are refused where they mean nothing, and change nothing", async () => {
      const before = await usage();
      for (const [bad, reason] of [
        [config("-1"), /orgWindowLimitUsd/],
        [config("1", "1e3"), /subOrgWindowLimitUsd/],
        [config("1", "0", { windowDurationMinutes: "43201" }), /at most 43200 minutes/],
        [config("1", "0", { windowDurationMinutes: "0" }), /windowDurationMinutes/],
        [config("1", "0", { solanaConfig: { rentPrefundEnabled: true } }), /does not pay rent, because `sponsorRent`/],
      ] as const) {
        const { status, body } = await root.submit(UPSERT, bad);
        assert.equal(status, 400);
        assert.match(body.message, reason);
      }
      assert.deepEqual(await usage(), before);
    });
  });

  describe(`limits of what sponsoring costs while the native price is unknown (${engine})`, () => {
    let node: Anvil;
    let server: TestServer;

    before(async () => {
      node = await startAnvil({ chainId: TEST_CHAIN_ID });
      server = await startTestServer(engine, {
        chains: { [TEST_CHAIN]: { rpcUrls: [node.url] } },
        settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" },
      });
    });
    after(async () => {
      await server.close();
      await node.stop();
    });

    it("are refused with what is missing; none at all is taken", async () => {
      const { root } = server;
      for (const limited of [config("1.00"), config("0", "1.00")]) {
        const { status, body } = await root.submit(UPSERT, limited);
        assert.equal(status, 400);
        assert.match(body.message, new RegExp(`native asset of ${TEST_CHAIN} is unknown.*\`prices\``));
      }
      await root.result(UPSERT, config("0"));
      const windowed = { windowDurationMinutes: 60, windowLimitUsd: "0", usageUsd: "0.00" };
      const uncountedChains = [TEST_CHAIN];
      assert.deepEqual(await root.read("get_gas_usage"), { ...windowed, uncountedChains }, "usage does not claim more");
    });
  });
}

function usdOf(micros: bigint): string {
  const digits = micros.toString().padStart(7, "0");
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}
