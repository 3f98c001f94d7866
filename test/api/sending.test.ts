import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { ApiKeyStamper } from "@turnkey/api-key-stamper";
import { createActivityPoller, TurnkeyClient } from "@turnkey/http";
import { serializeTransaction } from "viem";
import { MAX_BROADCAST_REFUSALS, SETTLED_BLOCKS } from "../../src/kernel/limits.ts";
import { TEST_CHAIN_ID } from "../support/anvil.ts";
import { balanceOf, ended, TEST_CHAIN, testNode } from "../support/chain.ts";
import type { Client, Json } from "../support/client.ts";
import { startReceiver } from "../support/receiver.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { newSender, type SignedTransfer } from "../support/sender.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { createWorld } from "../support/world.ts";

const PATH = "eth_send_raw_transaction";
const TYPE = "ACTIVITY_TYPE_ETH_SEND_RAW_TRANSACTION";
const OTHER_CHAIN = "eip155:8453";
const KEY = "9f0c2b7a51d8secret";
const RESULT = "ethSendRawTransactionResult";

for (const engine of oneEngine("postgres")) {
  describe(`${PATH} (${engine})`, () => {
    const node = testNode();
    let front: RpcNode;
    /** Says that it serves yet another chain. */
    let wrong: RpcNode;
    let server: TestServer;
    let root: Client;

    before(async () => {
      front = await startRpcNode(node, `/v2/${KEY}`);
      wrong = await startRpcNode(node);
      server = await startTestServer(engine, {
        chains: { [TEST_CHAIN]: { rpcUrls: [front.url], pollMs: 1000 }, [OTHER_CHAIN]: { rpcUrls: [wrong.url] } },
        settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" },
      });
      ({ root } = server);
    });
    after(async () => {
      await server.close();
      await Promise.all([front.close(), wrong.close()]);
    });

    const transfer = async (more?: object): Promise<SignedTransfer> => (await newSender(node)).sign(more);
    const parametersOf = ({ signedTransaction }: SignedTransfer) => ({ signedTransaction, caip2: TEST_CHAIN });
    /** Submits as whoever it is, and expects it to be on its way. */
    const submit = async (client: Client, transaction: SignedTransfer): Promise<Json> => {
      const { status, body } = await client.submit(PATH, parametersOf(transaction));
      assert.equal(status, 200, JSON.stringify(body));
      return body.activity;
    };
    const assertSent = async (activity: Json, { hash, to }: SignedTransfer) => {
      assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED", JSON.stringify(activity));
      assert.deepEqual(activity.result, { [RESULT]: { transactionHash: hash } });
      assert.equal((await node.receipt(hash)).status, "0x1");
      assert.equal(await balanceOf(node, to), 1n);
    };
    const sendsOf = ({ signedTransaction }: SignedTransfer): number =>
      front.calls.filter(({ method, params }) => method === "eth_sendRawTransaction" && params[0] === signedTransaction)
        .length;

    it("answers at once that it is on its way and later with the hash; webhooks tell of each status once", async () => {
      const receiver = await startReceiver();
      const { root } = await createWorld(server);
      const subscriptions = [{ eventType: "ACTIVITY_UPDATES", filtersJson: JSON.stringify({ type: TYPE }) }];
      await root.client.result("create_webhook_endpoint", { url: receiver.url, name: "hook", subscriptions });
      const transaction = await transfer();
      const pending = await submit(root.client, transaction);
      assert.equal(pending.status, "ACTIVITY_STATUS_PENDING");
      assert.deepEqual(pending.result, {});
      await assertSent(await ended(root.client, pending.id), transaction);
      const told = (await receiver.waitFor(2)).map(({ body }) => JSON.parse(body) as Json);
      assert.deepEqual(
        told.map(({ id, status }) => [id, status]),
        [
          [pending.id, "ACTIVITY_STATUS_PENDING"],
          [pending.id, "ACTIVITY_STATUS_COMPLETED"],
        ],
      );
      assert.deepEqual(told[1].result, { [RESULT]: { transactionHash: transaction.hash } });
      await receiver.close();
    });

    it("takes hex without a prefix, and the same body again is the same activity", async () => {
      const transaction = await transfer({
        type: "legacy",
        gasPrice: 10n ** 10n,
        maxFeePerGas: undefined,
        maxPriorityFeePerGas: undefined,
      });
      const bare = { ...parametersOf(transaction), signedTransaction: transaction.signedTransaction.slice(2) };
      const body = root.submitBody(PATH, bare);
      const [one, other] = await Promise.all([root.post(url, body), root.post(url, body)]);
      assert.equal(one.body.activity.id, other.body.activity.id);
      await assertSent(await ended(root, one.body.activity.id), transaction);
      const again = await root.post(url, body);
      assert.equal(again.body.activity.status, "ACTIVITY_STATUS_COMPLETED");
      assert.equal(sendsOf(transaction), 1);
    });

    it("is what the published SDK polls for", async () => {
      const { publicKey, privateKey } = root.key;
      const stamper = new ApiKeyStamper({ apiPublicKey: publicKey, apiPrivateKey: privateKey });
      const client = new TurnkeyClient({ baseUrl: server.baseUrl }, stamper);
      const requestFn = client.ethSendRawTransaction;
      const poll = createActivityPoller({ client, requestFn, refreshIntervalMs: 10 });
      const transaction = await transfer();
      const parameters = parametersOf(transaction);
      const { organizationId } = root;
      const activity = await poll({ type: TYPE, timestampMs: String(Date.now()), organizationId, parameters });
      assert.equal(activity.result.ethSendRawTransactionResult?.transactionHash, transaction.hash);
      front.when("eth_sendRawTransaction", { error: { code: -32_000, message: "insufficient funds" } });
      const refused = poll({
        type: TYPE,
        timestampMs: String(Date.now()),
        organizationId,
        parameters: parametersOf(await transfer()),
      });
      await assert.rejects(refused, /failed/);
      front.when("eth_sendRawTransaction", "pass on");
    });

    describe("policies decide on what is sent", () => {
      it("by where it goes to, and nothing that is denied reaches a node", async () => {
        const { root, user } = await createWorld(server);
        const [allowed, denied] = [await transfer(), await transfer()];
        const condition = `eth.tx.to == '${allowed.to.toLowerCase()}' && eth.tx.from == '${allowed.from.toLowerCase()}' && eth.tx.value == 1`;
        await allow(root.client, condition);
        const refusal = await user.client.submit(PATH, parametersOf(denied));
        assert.equal(refusal.status, 403, JSON.stringify(refusal.body));
        const pending = await submit(user.client, allowed);
        await assertSent(await ended(user.client, pending.id), allowed);
        assert.equal(sendsOf(denied), 0);
        assert.equal(await balanceOf(node, denied.to), 0n);
      });

      it("by the organization's own key, if it is one, and by the contract's interface", async () => {
        const { root, user } = await createWorld(server);
        const account = { curve: "CURVE_SECP256K1", pathFormat: "PATH_FORMAT_BIP32", path: "m/44'/60'/0'/0/0" };
        const accounts = [{ ...account, addressFormat: "ADDRESS_FORMAT_ETHEREUM" }];
        const wallet = await root.client.result("create_wallet", { walletName: "Hot", accounts });
        const [from] = wallet.addresses;
        await node.call("anvil_setBalance", from, `0x${(10n ** 20n).toString(16)}`);
        const to = `0x${"c0".repeat(20)}` as const;
        await root.client.result("create_smart_contract_interface", {
          smartContractAddress: to,
          smartContractInterface: JSON.stringify([{ type: "function", name: "poke", inputs: [], outputs: [] }]),
          type: "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM",
          label: "Contract",
          notes: "",
        });
        const condition = `wallet.label == 'Hot' && eth.tx.function_name == 'poke'`;
        await allow(root.client, condition);
        const unsigned = {
          type: "eip1559",
          chainId: TEST_CHAIN_ID,
          nonce: 0,
          gas: 60_000n,
          to,
          data: "0x18178358",
        } as const;
        const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n };
        const { signedTransaction } = await root.client.result("sign_transaction", {
          signWith: from,
          unsignedTransaction: serializeTransaction({ ...unsigned, ...fees }),
          type: "TRANSACTION_TYPE_ETHEREUM",
        });
        const { status, body } = await user.client.submit(PATH, { signedTransaction, caip2: TEST_CHAIN });
        assert.equal(status, 200, JSON.stringify(body));
        assert.equal((await ended(user.client, body.activity.id)).status, "ACTIVITY_STATUS_COMPLETED");
      });

      it("with a plan that stays as it is while approvals are missing", async () => {
        const { root, user, organizationId } = await createWorld(server);
        const transaction = await transfer();
        const condition = `eth.tx.to == '${transaction.to.toLowerCase()}'`;
        const consensus = "approvers.count() == 2";
        await allow(root.client, condition, consensus);
        const waiting = await submit(user.client, transaction);
        assert.equal(waiting.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
        const planOf = async () => {
          const rows = await server.opened.database.read
            .selectFrom("activities")
            .select("plan")
            .where("organization_id", "=", organizationId)
            .where("id", "=", waiting.id)
            .execute();
          return JSON.parse(rows[0]?.plan ?? "null") as unknown;
        };
        const plan = { caip2: TEST_CHAIN, from: transaction.from, transactionHash: transaction.hash };
        assert.deepEqual(await planOf(), plan);
        assert.equal(sendsOf(transaction), 0);
        const { fingerprint } = waiting;
        const approved = await root.client.submit("approve_activity", { fingerprint });
        assert.equal(approved.body.activity.status, "ACTIVITY_STATUS_PENDING", JSON.stringify(approved.body));
        await assertSent(await ended(root.client, waiting.id), transaction);
        assert.deepEqual(await planOf(), plan);
        assert.equal(sendsOf(transaction), 1);
      });

      it("and simulate_policy makes the plan as a request does", async () => {
        const { root, user } = await createWorld(server);
        const transaction = await transfer();
        const condition = `eth.tx.to == '${transaction.to.toLowerCase()}'`;
        await allow(root.client, condition);
        const simulate = (parameters: object) =>
          root.client.query("simulate_policy", { activity: { type: TYPE, parameters }, userIds: [user.userId] });
        assert.equal((await simulate(parametersOf(transaction))).body.outcome, "ALLOW");
        assert.equal((await simulate(parametersOf(await transfer()))).body.outcome, "DENY");
        const unplanned = await simulate({ ...parametersOf(transaction), caip2: "eip155:10" });
        assert.equal(unplanned.status, 400);
        assert.match(unplanned.body.message, /is for the chain eip155:11155111, not for eip155:10/);
        assert.equal(sendsOf(transaction), 0);
      });
    });

    describe("refuses", () => {
      const cases: [name: string, parameters: () => Promise<object>, status: number, message: RegExp][] = [
        [
          "a transaction of another chain",
          async () => parametersOf(await (await newSender(node)).sign({ chainId: 1 })),
          400,
          /`parameters.signedTransaction` is for the chain eip155:1, not for eip155:11155111/,
        ],
        [
          "one that is not signed",
          async () => ({
            signedTransaction: serializeTransaction({ type: "eip1559", chainId: TEST_CHAIN_ID }),
            caip2: TEST_CHAIN,
          }),
          400,
          /cannot be sent: it is not signed/,
        ],
        [
          "what is no hex",
          async () => ({ signedTransaction: "0x02zz", caip2: TEST_CHAIN }),
          400,
          /`parameters.signedTransaction` must be an even number of hex digits/,
        ],
        [
          "a chain without nodes, naming the setting",
          async () => ({ ...parametersOf(await (await newSender(node)).sign({ chainId: 10 })), caip2: "eip155:10" }),
          400,
          /no nodes for eip155:10; its operator can configure them under `chains`/,
        ],
        [
          "a chain whose node serves another one",
          async () => ({ ...parametersOf(await (await newSender(node)).sign({ chainId: 8453 })), caip2: OTHER_CHAIN }),
          503,
          /eip155:8453 is not available: 127\.0\.0\.1:\d+ serves eip155:11155111 and not eip155:8453/,
        ],
      ];
      for (const [name, parameters, status, message] of cases) {
        it(`${name}, and stores nothing`, async () => {
          const { root, organizationId } = await createWorld(server);
          const answer = await root.client.submit(PATH, await parameters());
          assert.equal(answer.status, status, JSON.stringify(answer.body));
          assert.match(answer.body.message, message);
          const { activities } = await root.client.read("list_activities", { filterByType: [TYPE] });
          assert.deepEqual(activities, [], organizationId);
        });
      }
    });

    describe("when the node", () => {
      const sent = async (meanwhile: (transaction: SignedTransfer) => Promise<unknown>) => {
        const { root } = await createWorld(server);
        const transaction = await transfer();
        const pending = await submit(root.client, transaction);
        assert.equal(pending.status, "ACTIVITY_STATUS_PENDING");
        await meanwhile(transaction);
        await assertSent(await ended(root.client, pending.id), transaction);
        return transaction;
      };

      it("is down, waits until it is back, and the server stays ready", async () => {
        await front.down();
        await sent(async () => {
          await until(
            async () => (await chainsOf(server))[TEST_CHAIN].status === "unavailable",
            "the node to be missed",
          );
          await until(async () => (await fetch(`${server.baseUrl}/readyz`)).status === 200, "the server to be ready");
          await front.up();
        });
        await until(async () => (await chainsOf(server))[TEST_CHAIN].status === "ready", "the node to be seen again");
      });

      it("hangs, goes on when it answers again", async () => {
        front.when("eth_sendRawTransaction", "hang");
        await sent(async (transaction) => {
          await until(() => sendsOf(transaction) === 1, "it to be sent");
          front.when("eth_sendRawTransaction", "pass on");
          await until(() => sendsOf(transaction) === 2, "it to be sent again");
        });
      });

      it("takes it and gives no answer, does not pay twice", async () => {
        front.when("eth_sendRawTransaction", async ({ params }) => {
          front.when("eth_sendRawTransaction", "pass on");
          await node.call("eth_sendRawTransaction", params[0]);
          return { status: 504, body: "" };
        });
        const transaction = await sent(async () => {});
        assert.equal(sendsOf(transaction), 1, "it is found by its hash");
      });

      for (const [name, reply] of [
        ["garbage", { status: 200, body: "<html>" }],
        ["a huge answer", { status: 200, body: Buffer.alloc(2 * 1024 * 1024, "a") }],
        ["another transaction's hash", { result: `0x${"00".repeat(32)}` }],
      ] as const) {
        it(`answers ${name}, believes nothing of it and tries again`, async () => {
          front.when("eth_sendRawTransaction", () => {
            front.when("eth_sendRawTransaction", "pass on");
            return reply;
          });
          await sent(async () => {});
        });
      }

      it('answers "already known", is done', async () => {
        const { root } = await createWorld(server);
        const transaction = await transfer();
        await node.call("eth_sendRawTransaction", transaction.signedTransaction);
        front.when("eth_getTransactionByHash", { result: null });
        front.when("eth_sendRawTransaction", { error: { code: -32_000, message: "already known" } });
        const { id } = await submit(root.client, transaction);
        const activity = await ended(root.client, id);
        front.when("eth_getTransactionByHash", "pass on");
        front.when("eth_sendRawTransaction", "pass on");
        await assertSent(activity, transaction);
      });

      it("refuses it again and again, ends as failed in the node's words, and sends nothing of it later", async () => {
        const { root } = await createWorld(server);
        const sender = await newSender(node);
        const first = await sender.sign();
        await ended(root.client, (await submit(root.client, first)).id);
        const stale = await sender.sign({ value: 2n });
        const { id } = await submit(root.client, stale);
        const activity = await ended(root.client, id);
        assert.equal(activity.status, "ACTIVITY_STATUS_FAILED", JSON.stringify(activity));
        assert.deepEqual(activity.result, {});
        assert.equal(activity.failure.code, 3);
        assert.match(
          activity.failure.message,
          /^the nodes of eip155:11155111 rejected the transaction: .*nonce too low/i,
        );
        assert.equal(sendsOf(stale), 4);
        assert.equal(await balanceOf(node, stale.to), 0n);
      });
    });

    describe("when a node may have it that did not say so", () => {
      const refuses = { error: { code: -32_000, message: "nonce too low: next nonce 1, tx nonce 0" } };
      /** From now on: it gives no answer to the first, and refuses what comes after that. */
      const loseAnswer = (take: (bytes: unknown) => Promise<unknown>) => {
        front.when("eth_sendRawTransaction", async ({ params: [bytes] }) => {
          front.when("eth_sendRawTransaction", refuses);
          await take(bytes);
          return { status: 504, body: "" };
        });
      };
      afterEach(() => front.passOnAll());

      it("however often it is refused afterwards, is sent", async () => {
        const { root } = await createWorld(server);
        const transaction = await transfer();
        loseAnswer((bytes) => node.call("eth_sendRawTransaction", bytes));
        front.when("eth_getTransactionByHash", { result: null });
        const { id } = await submit(root.client, transaction);
        await until(() => sendsOf(transaction) > MAX_BROADCAST_REFUSALS + 1, "it to be refused again and again");
        front.passOnAll();
        await assertSent(await ended(root.client, id), transaction);
      });

      it("and another has its nonce for good, is refused", async () => {
        const { root } = await createWorld(server);
        const sender = await newSender(node);
        const [transaction, other] = [await sender.sign(), await sender.sign({ value: 2n })];
        loseAnswer(() => node.call("eth_sendRawTransaction", other.signedTransaction));
        const { id } = await submit(root.client, transaction);
        await until(() => sendsOf(transaction) > 1, "it to be refused");
        await node.call("anvil_mine", `0x${(SETTLED_BLOCKS + 1).toString(16)}`);
        const { status, failure } = await ended(root.client, id);
        assert.equal(status, "ACTIVITY_STATUS_FAILED");
        assert.match(
          failure.message,
          new RegExp(`nonce too low.*; another transaction.*${other.hash}.* took the nonce 0`),
        );
        assert.equal(await balanceOf(node, transaction.to), 0n);
      });
    });

    it("/readyz names hosts and no keys; neither does the log", async () => {
      const { host } = new URL(front.url);
      const chains = await chainsOf(server);
      assert.deepEqual(chains[TEST_CHAIN], { status: "ready", nodes: [{ host, status: "ready" }] });
      assert.equal(chains[OTHER_CHAIN].status, "wrong chain");
      assert.ok(!JSON.stringify(chains).includes(KEY));
      assert.match(server.log(), /a node serves another chain and is not used/);
      assert.match(server.log(), /a node is unavailable/);
      assert.ok(!server.log().includes(KEY));
    });
  });
}

const allow = (root: Client, condition: string, consensus = "true"): Promise<Json> =>
  root.result("create_policy", { policyName: "policy", effect: "EFFECT_ALLOW", condition, consensus, notes: "" });

const url = `/public/v1/submit/${PATH}`;

async function chainsOf({ baseUrl }: TestServer): Promise<Json> {
  return ((await (await fetch(`${baseUrl}/readyz`)).json()) as Json).chains;
}
