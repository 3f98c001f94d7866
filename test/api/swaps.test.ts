import assert from "node:assert/strict";
import type { RequestListener } from "node:http";
import { describe, it } from "node:test";
import { testEarnNode } from "../support/chain.ts";
import { addUser, type Client, type Json } from "../support/client.ts";
import { deployContract, newCaller } from "../support/deployed-contracts.ts";
import { RELAY_KEY, relayOfTests, swapsOfTests } from "../support/relay.ts";
import { onOneEngine, startTestServer } from "../support/server.ts";
import { richSponsor } from "../support/sponsor.ts";
import {
  allowanceOf,
  assetOf,
  etherOf,
  NATIVE_ASSET,
  newSwapper,
  quoted,
  quoteParams,
  ROUTER_MODES,
  SWAP_INPUT,
  SWAP_OUTPUT,
  SWAP_ROUTER,
  swapEnded,
  tokenBalance,
} from "../support/swap-world.ts";
import { until } from "../support/until.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

const ELSEWHERE = `eip155:10/erc20:${"0x"}${"12".repeat(20)}`;
const STRANGER = `0x${"ab".repeat(20)}`;

/** Changes one member of an answer. */
const put =
  (path: string, value: unknown) =>
  (answer: Json): void => {
    const names = path.split(".");
    const last = names.pop() as string;
    const holder = names.reduce((one, name) => one[name], answer);
    holder[last] = typeof value === "function" ? value(holder[last]) : value;
  };

onOneEngine("sqlite", "swaps", (server) => {
  const newClient = async (): Promise<Client> => {
    await richSponsor(server().baseUrl, testEarnNode());
    return (await createWorld(server())).root.client;
  };
  /** Takes a quote, executes it, and waits for its end. */
  async function swapped(client: Client, params: ReturnType<typeof quoteParams>, more: object = {}): Promise<Json> {
    const { swapRequestId } = await client.result("execute_swap", await quoted(client, params, more));
    return swapEnded(client, swapRequestId);
  }
  const refusal = async (client: Client, path: string, params: object): Promise<Json> => {
    const { status, body } = await client.submit(path, params);
    assert.ok(status >= 400, JSON.stringify(body));
    return { status, code: body.code, message: body.message as string, error: body.turnkeyErrorCode };
  };

  describe("exchange", () => {
    it("tokens of a wallet that pays for it, and leave nothing allowed", async () => {
      const client = await newClient();
      const wallet = await newSwapper(client);
      const request = await quoted(client, quoteParams(wallet));
      const { swapRequestId, ...more } = await client.result("execute_swap", request);
      assert.deepEqual(more, { provider: "relay", quoteId: request.quoteId });
      const { originTxHash, updatedAt, ...status } = await swapEnded(client, swapRequestId);
      assert.match(originTxHash, /^0x[0-9a-f]{64}$/);
      assert.match(updatedAt, /^[0-9]{13}$/);
      assert.deepEqual(status, {
        status: "COMPLETED",
        swapKind: "SAME_CHAIN",
        provider: "relay",
        inputToken: request.inputToken,
        outputToken: request.outputToken,
        inputAmount: "1000000",
        outputAmount: "1000000",
      });
      assert.equal(await tokenBalance(SWAP_OUTPUT, wallet), 1_000_000n);
      assert.equal(await tokenBalance(SWAP_INPUT, wallet), 10n ** 12n - 1_000_000n);
      assert.equal(await allowanceOf(SWAP_INPUT, wallet), 0n);
    });

    it("them sponsored, from a wallet without ether", async () => {
      const client = await newClient();
      const wallet = await newSwapper(client);
      await testEarnNode().call("anvil_setBalance", wallet, "0x0");
      const status = await swapped(client, quoteParams(wallet), { sponsor: true, gasStationNonce: "0" });
      assert.equal(status.status, "COMPLETED", JSON.stringify(status));
      assert.equal(await tokenBalance(SWAP_OUTPUT, wallet), 1_000_000n);
      assert.equal(await allowanceOf(SWAP_INPUT, wallet), 0n);
    });

    it("ether for tokens in one call with the caller's nonce, and tokens for ether", async () => {
      const client = await newClient();
      const wallet = await newSwapper(client);
      const paying = await swapped(client, quoteParams(wallet, { inputToken: NATIVE_ASSET }), { evmNonce: "0" });
      assert.equal(paying.outputAmount, "1000000");
      assert.equal(await tokenBalance(SWAP_OUTPUT, wallet), 1_000_000n);
      const sent = (await testEarnNode().call("eth_getTransactionByHash", paying.originTxHash)) as Json;
      assert.deepEqual([sent.type, sent.to, BigInt(sent.value)], ["0x2", SWAP_ROUTER.toLowerCase(), 1_000_000n]);
      await testEarnNode().call("anvil_setBalance", wallet, "0x0");
      const paid = await swapped(client, quoteParams(wallet, { outputToken: NATIVE_ASSET }), { sponsor: true });
      assert.equal(paid.outputAmount, "1000000", "of ether, as it moved in the block");
      assert.equal(await etherOf(wallet), 1_000_000n);
    });

    it("tokens whose allowance changes only from or to nothing, and those that charge on transfer", async () => {
      const client = await newClient();
      const node = testEarnNode();
      const maker = await newCaller(node);
      const old = await deployContract(node, maker, "OldToken");
      const charging = await deployContract(node, maker, "FeeToken");
      const wallet = await newSwapper(client);
      await old.write(maker, "mint", wallet, 10n ** 9n);
      await node.call("anvil_impersonateAccount", wallet);
      await old.write(wallet as `0x${string}`, "approve", SWAP_ROUTER, 5n);
      const status = await swapped(client, quoteParams(wallet, { inputToken: assetOf(old.address) }));
      assert.equal(status.status, "COMPLETED", JSON.stringify(status));
      assert.equal(await old.read("allowance", wallet, SWAP_ROUTER), 0n);
      await charging.write(maker, "mint", SWAP_ROUTER, 10n ** 12n);
      const less = await swapped(client, quoteParams(wallet, { outputToken: assetOf(charging.address) }));
      assert.equal(less.outputAmount, "990000", "what came in, and not what was sent");
      const tight = quoteParams(wallet, { outputToken: assetOf(charging.address), slippageBps: "50" });
      const { status: failed, originTxHash, error } = await swapped(client, tight);
      assert.deepEqual([failed, originTxHash], ["FAILED", undefined]);
      assert.match(error.message, /would bring 990000 of the output token, but at least 995000/);
    });
  });

  describe("never sign", () => {
    it("what would not be the swap: a simulation finds it, and nothing is sent", async () => {
      const client = await newClient();
      const relay = await relayOfTests();
      const node = testEarnNode();
      const another = await deployContract(node, await newCaller(node), "TestToken");
      const wallet = await newSwapper(client);
      await node.call("anvil_impersonateAccount", wallet);
      await another.write(wallet as `0x${string}`, "mint", wallet, 100n);
      await another.write(wallet as `0x${string}`, "approve", SWAP_ROUTER, 100n);
      const before = await node.call("eth_getTransactionCount", wallet, "latest");
      for (const [mode, why] of [
        [ROUTER_MODES.reverts, /would revert/],
        [ROUTER_MODES.bringsLess, /would bring 989999 of the output token, but at least 990000 were agreed/],
        [ROUTER_MODES.takesMore, /would revert/],
        [ROUTER_MODES.takesAnother, /would also spend 0x[0-9a-f]{40}/],
      ] as const) {
        relay.mode(wallet, mode, another.address);
        const status = await swapped(client, quoteParams(wallet));
        const { status: failed, originTxHash, error } = status;
        assert.deepEqual([failed, originTxHash], ["FAILED", undefined], JSON.stringify(status));
        assert.equal(error.reason, "ORIGIN_TRANSACTION_FAILED");
        assert.match(error.message, why);
        assert.equal(error.originTxError.message, error.message);
      }
      assert.equal(await node.call("eth_getTransactionCount", wallet, "latest"), before);
      assert.equal(await allowanceOf(SWAP_INPUT, wallet), 0n);
      relay.mode(wallet, ROUTER_MODES.takesLess);
      assert.equal((await swapped(client, quoteParams(wallet))).status, "COMPLETED");
      assert.equal(await allowanceOf(SWAP_INPUT, wallet), 0n, "also where the router leaves something");
    });

    it("what a wallet cannot pay", async () => {
      const client = await newClient();
      const wallet = await newSwapper(client, 5n);
      const { status, originTxHash, error } = await swapped(client, quoteParams(wallet));
      assert.deepEqual([status, originTxHash], ["FAILED", undefined]);
      assert.ok(error.originTxError.revertChain.length > 0);
    });

    it("what a provider makes up", async () => {
      const client = await newClient();
      const relay = await relayOfTests();
      const wallet = await newSwapper(client);
      const swapIn = (place: number, word: string) => (data: string) =>
        `${data.slice(0, 10 + 64 * place)}${word.padStart(64, "0")}${data.slice(74 + 64 * place)}`;
      const approval = "steps.0.items.0.data";
      const main = "steps.1.items.0.data";
      const lies: [(answer: Json) => void, RegExp][] = [
        [put(`${main}.chainId`, 1), /another chain/],
        [put(`${approval}.chainId`, 1), /another chain/],
        [put(`${main}.from`, STRANGER), /another account/],
        [put(`${main}.to`, STRANGER), /not among the contracts on eip155:8453/],
        [put(`${main}.to`, SWAP_INPUT), /not among the contracts/],
        [put(`${main}.value`, "1"), /another amount of the native asset/],
        [put(`${main}.value`, "-1"), /takes along no amount/],
        [put(`${main}.data`, "0x123"), /no call data/],
        [put(`${main}.data`, `0x${"00".repeat(40_000)}`), /no call data/],
        [put(`${approval}.to`, SWAP_OUTPUT), /another token/],
        [put(`${approval}.data`, swapIn(0, STRANGER.slice(2))), /not among the contracts/],
        [put(`${approval}.data`, swapIn(1, "f".repeat(64))), /another amount/],
        [put(`${approval}.data`, (data: string) => `0xa9059cbb${data.slice(10)}`), /another call/],
        [put(`${approval}.value`, "5"), /approval takes along/],
        [put("steps", (steps: Json[]) => [steps[0], ...steps]), /3 steps/],
        [put("steps", (steps: Json[]) => steps.toReversed()), /no swap or deposit/],
        [put("steps", []), /no steps/],
        [put("steps.1.kind", "signature"), /not a transaction/],
        [put("steps.1.items", (items: Json[]) => [...items, ...items]), /2 items/],
        [put("steps.0.id", "authorize"), /no approval/],
        [put("details.recipient", STRANGER), /recipient is another/],
        [put("details.sender", STRANGER), /sender is another/],
        [put("details.currencyIn.amount", "1000001"), /another amount of the input/],
        [put("details.currencyOut.currency.address", STRANGER), /output token is another/],
        [put("details.currencyOut.currency.chainId", 10), /output token is on another chain/],
        [put("details.currencyOut.minimumAmount", "1000001"), /above its output/],
        [put("details.currencyOut.minimumAmount", "1"), /below what the slippage/],
        [put("details.currencyOut.amount", `1${"0".repeat(78)}`), /names no output/],
        [put("details.currencyOut.amount", "1e9"), /names no output/],
      ];
      for (const [lie, why] of lies) {
        relay.lie(wallet, lie);
        const { status, message } = await refusal(
          client,
          "create_swap_quote",
          quoteParams(wallet, { slippageBps: "100" }),
        );
        assert.equal(status, 400, message);
        assert.match(message, /^the quote from relay was refused, and nothing was signed: /);
        assert.match(message, why);
      }
    });
  });

  describe("take requests", () => {
    it("of assets, amounts and wallets that there are, and name what is wrong", async () => {
      const client = await newClient();
      const wallet = await newSwapper(client);
      const solana = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp/slip44:501";
      for (const [more, field, why] of [
        [
          { inputToken: "eip155:11155111/slip44:60" },
          "inputToken",
          /is on eip155:11155111, but this server supports swaps only on/,
        ],
        [{ inputToken: "eip155:8453/slip44:966" }, "inputToken", /is not the native asset of eip155:8453/],
        [{ outputToken: solana }, "outputToken", /swaps between Solana and Ethereum/],
        [{ outputToken: `eip155:8453/erc20:0x${"00".repeat(20)}` }, "outputToken", /does not name a token/],
        [{ outputToken: assetOf(SWAP_INPUT.toLowerCase()) }, "outputToken", /is the same as the input asset/],
        [{ inputAmount: "0" }, "inputAmount", /must be an amount/],
        [{ inputAmount: "9".repeat(78) }, "inputAmount", /must fit into 256 bits/],
        [{ inputAmount: "1e6" }, "inputAmount", /must be an amount/],
        [{ slippageBps: "10001" }, "slippageBps", /must be basis points/],
        [{ slippageBps: "-1" }, "slippageBps", /must be basis points/],
        [{ signWith: "00000000-0000-7000-8000-000000000000" }, "signWith", /must be the address/],
      ] as const) {
        const { status, message } = await refusal(client, "create_swap_quote", quoteParams(wallet, more));
        assert.equal(status, 400);
        assert.match(message, new RegExp(`\`parameters.${field}\``));
        assert.match(message, why);
      }
      const unknown = await refusal(client, "create_swap_quote", quoteParams(STRANGER));
      assert.equal(unknown.status, 404);
      const foreign = await newSwapper((await createWorld(server())).root.client);
      assert.equal((await refusal(client, "create_swap_quote", quoteParams(foreign))).status, 404);
    });

    it("that restate their quote, of the organization that took it", async () => {
      const client = await newClient();
      const wallet = await newSwapper(client);
      const request = await quoted(client, quoteParams(wallet));
      for (const [more, field] of [
        [{ inputAmount: "1000001" }, "inputAmount"],
        [{ quotedOutputAmount: "999999" }, "quotedOutputAmount"],
        [{ minOutputAmount: "989999" }, "minOutputAmount"],
        [{ inputToken: assetOf(SWAP_OUTPUT) }, "inputToken"],
        [{ outputToken: NATIVE_ASSET }, "outputToken"],
        [{ sponsor: true, evmNonce: "0" }, "evmNonce"],
        [{ recentBlockhash: "11111111111111111111111111111111" }, "recentBlockhash"],
        [{ gasStationNonce: String(2n ** 64n) }, "gasStationNonce"],
      ] as const) {
        const { status, message } = await refusal(client, "execute_swap", { ...request, ...more });
        assert.equal(status, 400);
        assert.match(message, new RegExp(`\`parameters.${field}\``));
      }
      const native = await quoted(client, quoteParams(wallet, { inputToken: NATIVE_ASSET }), { gasStationNonce: "0" });
      assert.match((await refusal(client, "execute_swap", native)).message, /gasStationNonce/);
      const { client: other } = (await createWorld(server())).root;
      assert.equal((await refusal(other, "execute_swap", request)).status, 404);
      const first = await client.submit("execute_swap", request, { type: "ACTIVITY_TYPE_EXECUTE_SWAP" });
      assert.equal(first.status, 400);
      assert.match(first.body.message, /ACTIVITY_TYPE_EXECUTE_SWAP_V2/);
      assert.equal((await refusal(other, "execute_swap", { ...request, quoteId: "sq_v1_1" })).status, 400);
      const { swapRequestId } = await client.result("execute_swap", request);
      const foreign = await other.query("get_swap_status", { swapRequestId });
      assert.equal(foreign.status, 404);
    });

    it("once: of 20 at once one is executed, and the same body again is the same swap", async () => {
      const client = await newClient();
      const wallet = await newSwapper(client);
      const request = await quoted(client, quoteParams(wallet));
      const answers = await Promise.all(Array.from({ length: 20 }, () => client.submit("execute_swap", request)));
      const taken = answers.filter(({ status }) => status === 200);
      assert.equal(taken.length, 1);
      for (const { body } of answers.filter(({ status }) => status !== 200)) {
        assert.equal(body.turnkeyErrorCode, "SWAP_QUOTE_ALREADY_USED", body.message);
      }
      const body = client.submitBody("execute_swap", await quoted(client, quoteParams(wallet)));
      const path = "/public/v1/submit/execute_swap";
      const ids = new Set<string>();
      for (let time = 0; time < 3; time++) {
        const { activity } = (await client.post(path, body)).body;
        assert.equal(activity.result.executeSwapResult.swapRequestId, activity.fingerprint);
        ids.add(activity.fingerprint);
      }
      assert.equal(ids.size, 1);
      for (const id of [...ids, taken[0]?.body.activity.fingerprint]) {
        const status = await swapEnded(client, id as string);
        assert.equal(status.status, "COMPLETED", JSON.stringify(status));
      }
      assert.equal(await tokenBalance(SWAP_OUTPUT, wallet), 2_000_000n);
    });

    it("by policies that see what is swapped and by which wallet", async () => {
      const client = await newClient();
      const wallet = await newSwapper(client);
      const user = await addUser(client);
      const policy = (effect: string, condition: string) => ({
        policyName: `swaps ${effect} ${condition}`,
        effect,
        consensus: `approvers.any(user, user.id == '${user.userId}')`,
        condition,
        notes: "",
      });
      const kinds = "activity.kind in ['CREATE_SWAP_QUOTE', 'EXECUTE_SWAP']";
      await client.result("create_policy", policy("EFFECT_ALLOW", `${kinds} && wallet_account.address == '${wallet}'`));
      await client.result(
        "create_policy",
        policy(
          "EFFECT_DENY",
          `activity.kind == 'EXECUTE_SWAP' && activity.params.output_token == '${assetOf(SWAP_INPUT.toLowerCase())}'`,
        ),
      );
      const allowed = await quoted(user.client, quoteParams(wallet));
      await user.client.result("execute_swap", allowed);
      const denied = await quoted(
        user.client,
        quoteParams(wallet, { inputToken: NATIVE_ASSET, outputToken: assetOf(SWAP_INPUT) }),
      );
      assert.equal((await refusal(user.client, "execute_swap", denied)).status, 403, "in any letter case");
      const elsewhere = await newSwapper(client);
      assert.equal((await refusal(user.client, "create_swap_quote", quoteParams(elsewhere))).status, 403);
    });
  });

  describe("between chains", () => {
    const crossing = async (client: Client) => {
      const relay = await relayOfTests();
      const wallet = await newSwapper(client);
      const request = await quoted(client, quoteParams(wallet, { outputToken: ELSEWHERE }));
      const { swapRequestId } = await client.result("execute_swap", request);
      let status: Json = {};
      await until(async () => {
        status = await client.read("get_swap_status", { swapRequestId });
        return status.originTxHash !== undefined;
      }, "the deposit");
      assert.deepEqual([status.status, status.swapKind], ["PENDING", "CROSS_CHAIN"]);
      // Its hash is known before a node has it.
      assert.equal((await testEarnNode().receipt(status.originTxHash)).from, wallet.toLowerCase());
      const requestId = relay.lastRequestOf(wallet);
      await until(
        async () => relay.requests.some(({ path }) => path.endsWith(`/v3?requestId=${requestId}`)),
        "the provider to be asked",
      );
      return {
        relay,
        wallet,
        swapRequestId,
        requestId,
        ended: (is: (one: Json) => boolean) => swapEnded(client, swapRequestId, is),
      };
    };
    const hash = `0x${"cd".repeat(32)}`;

    it("are PENDING until they are filled, with what came in as soon as it is told", async () => {
      const client = await newClient();
      const { relay, requestId, ended, swapRequestId } = await crossing(client);
      relay.tell(requestId, { status: "delayed" });
      const asked = () => relay.requests.filter(({ path }) => path.endsWith(`/v3?requestId=${requestId}`)).length;
      const before = asked();
      // The answer to the first of them has been looked at when the second is asked for.
      await until(() => asked() >= before + 2, "the provider to be asked again");
      const { status } = await client.read("get_swap_status", { swapRequestId });
      assert.equal(status, "PENDING", "what is delayed may still be filled");
      relay.tell(requestId, { status: "success", txHashes: [hash] });
      const filled = await ended(({ status }) => status !== "PENDING");
      assert.deepEqual([filled.status, filled.destinationTxHashes], ["COMPLETED", [hash]]);
      assert.equal(filled.error, undefined);
      const route = { actual: { destination: { outputCurrency: { amount: "998877" } } } };
      relay.tell(requestId, { status: "success", txHashes: [hash] }, { data: { route } });
      const told = await ended(({ outputAmount }) => outputAmount !== undefined);
      assert.equal(told.outputAmount, "998877", swapRequestId);
    });

    it("fail where the provider says so, with the refund when it is told", async () => {
      const { relay, requestId, ended } = await crossing(await newClient());
      relay.tell(requestId, { status: "refund", failReason: "SLIPPAGE" });
      const failed = await ended(({ status }) => status !== "PENDING");
      assert.deepEqual(failed.error, {
        reason: "PROVIDER_FILL_FAILED",
        message: "the provider could not complete the swap on the chain of the output",
        providerReason: "SLIPPAGE",
      });
      assert.deepEqual([failed.status, failed.refund], ["FAILED", undefined]);
      const currency = { chainId: 8453, address: SWAP_INPUT };
      const data = { refundCurrencyData: { currency, amount: "999000" }, outTxs: [{ chainId: 8453, txHash: hash }] };
      relay.tell(requestId, { status: "refund", failReason: "SLIPPAGE" }, { data });
      const { refund } = await ended((one) => one.refund !== undefined);
      assert.deepEqual(refund, { asset: assetOf(SWAP_INPUT), amount: "999000", txHash: hash });
    });
  });

  describe("fees", () => {
    it("are the parent's, for its sub-organizations too, and stay what they were when a quote was taken", async () => {
      const client = await newClient();
      const relay = await relayOfTests();
      const receiver = await newSwapper(client, 0n);
      const sub = (await addSubOrganization(client)).client;
      const wallet = await newSwapper(sub);
      const free = await sub.result("create_swap_quote", quoteParams(wallet));
      assert.equal(free.quotes[0].clientFeeBps, "0");
      const config = { feeReceiverWalletAddress: receiver, feeBps: "100", stableFeeBps: "7" };
      assert.deepEqual(await client.result("upsert_swap_config", config), config);
      const request = await quoted(sub, quoteParams(wallet));
      assert.equal(request.quotedOutputAmount, "990000");
      const asked = relay.requests.findLast(({ body }) => body.user === wallet.toLowerCase())?.body;
      assert.deepEqual(asked.appFees, [{ recipient: receiver.toLowerCase(), fee: "100" }]);
      assert.deepEqual([asked.refundTo, asked.recipient], [asked.user, asked.user]);
      assert.deepEqual(await client.result("upsert_swap_config", {}), {});
      const { swapRequestId } = await sub.result("execute_swap", request);
      assert.equal((await swapEnded(sub, swapRequestId)).outputAmount, "990000");
      const unset = await sub.result("create_swap_quote", quoteParams(wallet));
      assert.equal(unset.quotes[0].clientFeeBps, "0");
      assert.equal((await refusal(sub, "upsert_swap_config", config)).status, 400);
      assert.equal((await refusal(sub, "claim_swap_fees", {})).status, 400);
    });

    it("have a wallet made for them where nobody receives them, the same each time", async () => {
      const client = await newClient();
      const made = await client.result("upsert_swap_config", { feeBps: "50" });
      assert.match(made.feeReceiverWalletAddress, /^0x[0-9a-fA-F]{40}$/);
      assert.equal((await client.read("list_wallets")).wallets.length, 1);
      assert.deepEqual(await client.result("upsert_swap_config", { feeBps: "60" }), { ...made, feeBps: "60" });
      assert.equal((await client.read("list_wallets")).wallets.length, 1);
      for (const feeBps of ["501", "-1", "1e2", "0x10", "05"]) {
        const { status, message } = await refusal(client, "upsert_swap_config", { feeBps });
        assert.equal(status, 400);
        assert.match(message, /`parameters.feeBps`/);
      }
      const foreign = await newSwapper((await createWorld(server())).root.client, 0n);
      for (const feeReceiverWalletAddress of [STRANGER, foreign]) {
        const refused = await refusal(client, "upsert_swap_config", { feeReceiverWalletAddress, feeBps: "5" });
        assert.match(
          refused.message,
          /is not the Ethereum address of a wallet account or a private key of this organization/,
        );
      }
    });

    it("have one wallet made for them by many requests at once", async () => {
      const client = await newClient();
      const bodies = Array.from({ length: 4 }, () => client.submitBody("upsert_swap_config", { feeBps: "50" }));
      const send = (body: string) => client.post("/public/v1/submit/upsert_swap_config", body);
      const answers = await Promise.all(bodies.map(send));
      const made = answers.filter(({ status }) => status === 200);
      const receivers = made.map(({ body }) => body.activity.result.upsertSwapConfigResult.feeReceiverWalletAddress);
      assert.equal(new Set(receivers).size, 1, JSON.stringify(answers));
      assert.equal((await client.read("list_wallets")).wallets.length, 1);
      for (const { status, body } of answers.filter((answer) => !made.includes(answer))) {
        assert.equal(status, 409, JSON.stringify(body));
        assert.match(body.message, /send this request again/);
      }
      for (const body of bodies) {
        const { status, body: again } = await send(body);
        assert.equal(status, 200, JSON.stringify(again));
        assert.equal(again.activity.result.upsertSwapConfigResult.feeReceiverWalletAddress, receivers[0]);
      }
    });

    it("are claimed by the receiver's signature, and not where there are none", async () => {
      const client = await newClient();
      const relay = await relayOfTests();
      const nobody = await refusal(client, "claim_swap_fees", {});
      assert.deepEqual([nobody.status, nobody.code], [400, 9]);
      const { feeReceiverWalletAddress } = await client.result("upsert_swap_config", { feeBps: "50" });
      const nothing = await refusal(client, "claim_swap_fees", {});
      assert.match(nothing.message, /nothing has accrued/);
      relay.accrue(feeReceiverWalletAddress, "1250000");
      const { requestId } = await client.result("claim_swap_fees", {});
      assert.equal(relay.claims.get(feeReceiverWalletAddress.toLowerCase()), requestId);
    });
  });

  describe("a provider", () => {
    it("that is down, slow or talks nonsense is told of, without its key and without what it says", async () => {
      const client = await newClient();
      const relay = await relayOfTests();
      const wallet = await newSwapper(client);
      const answering =
        (status: number, body: string, headers: Record<string, string> = {}): RequestListener =>
        (request, response) => {
          request.resume();
          response.writeHead(status, headers).end(body);
        };
      const secret = `{"message": "you sent ${RELAY_KEY}", "errorCode": "${RELAY_KEY}"}`;
      for (const [reply, expected, why] of [
        [answering(500, secret), 503, /answered with the status 500/],
        [answering(401, secret), 503, /the operator of this server must set the provider's key/],
        [answering(429, secret, { "retry-after": "0" }), 503, /answered with the status 429/],
        [answering(200, "<html>"), 503, /no JSON object/],
        [answering(200, `{"steps": "${"x".repeat(20 * 1024 * 1024)}"}`), 503, /no JSON object/],
        [answering(302, "", { location: `${relay.url}/quote/v2` }), 503, /answered with the status 302/],
        [answering(400, secret), 400, /answered with the status 400/],
        [answering(400, '{"errorCode": "NO_SWAP_ROUTES_FOUND"}'), 400, /there is no route between the tokens/],
        [answering(200, "{}"), 400, /its input token is on another chain/],
      ] as const) {
        relay.answer(wallet, reply);
        const { status, message } = await refusal(client, "create_swap_quote", quoteParams(wallet));
        assert.equal(status, expected, message);
        assert.match(message, why);
        assert.ok(!message.includes(RELAY_KEY));
      }
      let tries = 0;
      relay.answer(wallet, (request, response) => {
        tries++;
        relay.answer(wallet, undefined);
        answering(503, "")(request, response);
      });
      await client.result("create_swap_quote", quoteParams(wallet));
      assert.equal(tries, 1, "what fails only for the moment is tried again");
      assert.ok(!server().log().includes(RELAY_KEY));
    });
  });
});

describe("swaps of another configuration", () => {
  it("are told not to be there where nobody quotes them", async () => {
    const server = await startTestServer("sqlite", { swaps: null });
    try {
      const { root } = server;
      const wallet = await newSwapper(root);
      for (const [path, params] of [
        ["create_swap_quote", quoteParams(wallet)],
        ["claim_swap_fees", {}],
      ] as const) {
        const { status, body } = await root.submit(path, params);
        assert.deepEqual([status, body.code], [400, 9]);
        assert.match(body.message, /no swap provider is configured/);
      }
    } finally {
      await server.close();
    }
  });

  it("are quoted within a bounded time, however slow the provider is", async () => {
    const server = await startTestServer("sqlite", { swaps: await swapsOfTests({ timeoutMs: 100 }) });
    try {
      const relay = await relayOfTests();
      const wallet = await newSwapper(server.root);
      relay.answer(wallet, (request) => void request.resume());
      const { status, body } = await server.root.submit("create_swap_quote", quoteParams(wallet));
      assert.equal(status, 503, body.message);
      assert.match(body.message, /relay is not available/);
    } finally {
      await server.close();
    }
  });

  it("have the service's fee, expire, and call no contract that the operator does not name", async () => {
    let ahead = 0;
    const clock = () => Date.now() + ahead;
    const serviceFee = { bps: 20, stableBps: 10, recipient: STRANGER };
    const swaps = await swapsOfTests({ serviceFee, quoteTtlSeconds: 60, contracts: {} });
    const refusing = await startTestServer("sqlite", { swaps });
    const server = await startTestServer("sqlite", {
      clock,
      swaps: await swapsOfTests({ serviceFee, quoteTtlSeconds: 60 }),
    });
    try {
      const none = await refusing.root.submit("create_swap_quote", quoteParams(await newSwapper(refusing.root)));
      assert.equal(none.status, 400);
      assert.match(none.body.message, /not among the contracts on eip155:8453 that the operator/);
      const { root } = server;
      const wallet = await newSwapper(root);
      const warnings = async () => ((await (await fetch(`${server.baseUrl}/readyz`)).json()) as Json).warnings;
      const relay = await relayOfTests();
      relay.answer(wallet, (incoming, response) => {
        incoming.resume();
        response.writeHead(500).end();
      });
      assert.equal((await root.submit("create_swap_quote", quoteParams(wallet))).status, 503);
      assert.match((await warnings()).swaps, /^relay is not available: it answered with the status 500$/);
      relay.answer(wallet, undefined);
      const request = await quoted(root, quoteParams(wallet));
      assert.equal((await warnings())?.swaps, undefined);
      assert.equal(request.quotedOutputAmount, "998000");
      const asked = (await relayOfTests()).requests.findLast(({ body }) => body.user === wallet.toLowerCase())?.body;
      assert.deepEqual(asked.appFees, [{ recipient: STRANGER, fee: "20" }]);
      ahead = 60_000;
      const timestampMs = String(clock());
      const late = await root.submit("execute_swap", request, { timestampMs });
      assert.equal(late.status, 400);
      assert.match(late.body.message, /has expired; get a new one with create_swap_quote/);
      const { read } = server.opened.database;
      const kept = async () => (await read.selectFrom("swap_quotes").select("id").execute()).length;
      assert.equal(await kept(), 1, "whoever comes late is told so for a while");
      ahead = 2 * 60 * 60 * 1000;
      await until(async () => (await kept()) === 0, "it to be deleted, though nobody takes another");
    } finally {
      await server.close();
      await refusing.close();
    }
  });
});
