import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { keccak256 } from "viem";
import { KEPT_FEES_MS } from "../../src/kernel/limits.ts";
import { type Anvil, startAnvil, TEST_CHAIN_ID } from "../support/anvil.ts";
import { balanceOf, TEST_CHAIN } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import { includedHash, newAddress, newEvmWallet, transactionOf } from "../support/evm-sender.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { type SolanaNode, startSolanaNode } from "../support/solana-node.ts";
import { TEST_CLUSTER } from "../support/solana-rpc.ts";
import {
  lamportsOf,
  newSolanaWallet,
  SOL,
  sendStatus,
  type Unsigned,
  unsignedTransfer,
} from "../support/solana-sender.ts";
import { richSponsor } from "../support/sponsor.ts";
import { until } from "../support/until.ts";

const PATH = "eth_send_transaction";

/** One URL with several nodes behind it, as most providers have: one of them takes what another one refuses and does not know. */
describe("a provider whose nodes differ", () => {
  let node: Anvil;
  let front: RpcNode;
  let server: TestServer;

  before(async () => {
    node = await startAnvil({ chainId: TEST_CHAIN_ID });
    front = await startRpcNode(node);
    server = await startTestServer("sqlite", { chains: { [TEST_CHAIN]: { rpcUrls: [front.url] } } });
  });
  afterEach(async () => {
    front.passOnAll();
    await node.call("evm_setAutomine", true);
  });
  after(async () => {
    await server.close();
    await front.close();
    await node.stop();
  });

  /** Has the next transaction taken and refused in these words; resolves to its bytes. */
  const refuseOnce = (message: string): Promise<string> =>
    new Promise((resolve) => {
      front.when("eth_sendRawTransaction", async ({ params: [bytes] }) => {
        front.when("eth_sendRawTransaction", "pass on");
        await node.call("eth_sendRawTransaction", bytes);
        resolve(bytes as string);
        return { error: { code: -32_000, message } };
      });
    });
  const send = async (to: string): Promise<string> => {
    const [from] = (await newEvmWallet(server.root, node)).addresses;
    const parameters = { from, caip2: TEST_CHAIN, calls: [{ to, value: "1" }] };
    return (await server.root.result(PATH, parameters)).sendTransactionStatusId;
  };
  const hashOf = (bytes: string): string => keccak256(bytes as `0x${string}`);

  it("pays once what waits for a block though it was refused", async () => {
    await node.call("evm_setAutomine", false);
    const taken = refuseOnce("insufficient funds for gas * price + value: have 0 want 21000");
    front.when("eth_getTransactionByHash", { result: null });
    const to = newAddress();
    const id = await send(to);
    const bytes = await taken;
    await front.waitFor("eth_getTransactionCount", front.count("eth_getTransactionCount") + 2);
    front.passOnAll();
    await node.call("evm_setAutomine", true);
    await node.call("anvil_mine", "0x1");
    assert.equal(await includedHash(server.root, id), hashOf(bytes));
    assert.equal(await balanceOf(node, to), 1n);
  });

  it("pays once what a block has though it was refused, where no node knows the account as it was", async () => {
    const taken = refuseOnce("nonce too low: next nonce 1, tx nonce 0");
    front.when("eth_getTransactionByHash", { result: null });
    front.when("eth_getTransactionReceipt", { result: null });
    front.when("eth_getTransactionCount", ({ params }) =>
      String(params[1]).startsWith("0x") ? { error: { code: -32_000, message: "missing trie node" } } : "pass on",
    );
    const to = newAddress();
    const id = await send(to);
    const bytes = await taken;
    await front.waitFor("eth_getTransactionCount", front.count("eth_getTransactionCount") + 2);
    front.passOnAll();
    assert.equal(await includedHash(server.root, id), hashOf(bytes));
    assert.equal(await balanceOf(node, to), 1n);
  });

  for (const at of ["pending", "latest"]) {
    it(`that invents once what an account has sent (${at}) has nothing signed by that`, async () => {
      front.when("eth_getTransactionCount", ({ params }) => {
        if (params[1] !== at) return "pass on";
        front.when("eth_getTransactionCount", "pass on");
        return { result: "0x10" };
      });
      const to = newAddress();
      const { nonce } = await transactionOf(node, await includedHash(server.root, await send(to)));
      assert.equal(nonce, "0x0");
      assert.equal(await balanceOf(node, to), 1n);
    });
  }

  it("that says again and again what hardly can be waiting of an account has nothing signed meanwhile", async () => {
    front.when("eth_getTransactionCount", ({ params: [, at] }) =>
      at === "pending" ? { result: "0x5000" } : "pass on",
    );
    const to = newAddress();
    const asked = front.count("eth_getTransactionCount");
    const id = await send(to);
    // Two counts in one look, and again what is unlikely.
    await front.waitFor("eth_getTransactionCount", asked + 6);
    const { txStatus } = await sendStatus(server.root, id, ["INITIALIZED", "BROADCASTING"]);
    assert.equal(txStatus, "INITIALIZED");
    front.passOnAll();
    const { nonce } = await transactionOf(node, await includedHash(server.root, id));
    assert.equal(nonce, "0x0");
    assert.equal(await balanceOf(node, to), 1n);
  });

  describe("that names fees of its own invention", () => {
    const GWEI = 10n ** 9n;
    const lie = async (tip: bigint) => {
      front.when("eth_maxPriorityFeePerGas", { result: `0x${tip.toString(16)}` });
      // What it said before is asked for again after that.
      await pause(KEPT_FEES_MS);
    };
    const submit = async (more: object): Promise<Json> => {
      const [from] = (await newEvmWallet(server.root, node)).addresses;
      const parameters = { from, caip2: TEST_CHAIN, calls: [{ to: newAddress(), value: "1" }], ...more };
      return (await server.root.submit(PATH, parameters)).body;
    };
    const statusOf = ({ activity }: Json): string => activity.result.ethSendTransactionResultV2.sendTransactionStatusId;

    it("is not believed beyond what the operator says; what the request names is the caller's", async () => {
      await lie(100_000n * GWEI);
      const refused = await submit({});
      assert.equal(refused.code, 3, JSON.stringify(refused));
      assert.match(
        refused.message,
        /could cost 2\.1 of its native asset .*relies on nodes for at most 1.*`chains\.\S+\.txFeeCap`/,
      );
      const batch = await submit({ calls: [1, 2].map(() => ({ to: newAddress(), value: "1" })) });
      assert.match(batch.message, /relies on nodes for at most 1/);
      const own = { maxFeePerGas: String(60_000n * GWEI), maxPriorityFeePerGas: String(GWEI) };
      await includedHash(server.root, statusOf(await submit(own)));
    });

    it("is believed less where the service pays, also when its transaction is signed", async () => {
      const sponsor = await richSponsor(server.baseUrl, node);
      await lie(GWEI);
      // The first puts the gas station there.
      await includedHash(server.root, statusOf(await submit({ sponsor: true })));
      await lie(100_000n * GWEI);
      assert.match(
        (await submit({ sponsor: true })).message,
        /relies on nodes for at most 0\.5.*`chains\.\S+\.sponsoredTxFeeCap`/,
      );
      await lie(GWEI);
      front.when("eth_getTransactionCount", { status: 503, body: "" });
      const id = statusOf(await submit({ sponsor: true }));
      await lie(100_000n * GWEI);
      front.when("eth_getTransactionCount", "pass on");
      const { from, gas, maxFeePerGas } = await transactionOf(node, await includedHash(server.root, id));
      assert.equal(from, sponsor);
      const offered = BigInt(gas) * BigInt(maxFeePerGas);
      assert.ok(offered > 4n * 10n ** 17n && offered <= 5n * 10n ** 17n, `${offered} wei`);
    });
  });
});

describe("a provider of Solana", () => {
  let node: SolanaNode;
  let front: RpcNode;
  let server: TestServer;

  before(async () => {
    node = await startSolanaNode({ standsStill: true });
    front = await startRpcNode(node);
    server = await startTestServer("sqlite", { chains: { [TEST_CLUSTER]: { rpcUrls: [front.url] } } });
  });
  afterEach(() => front.passOnAll());
  after(async () => {
    await server.close();
    await Promise.all([front.close(), node.close()]);
  });

  const send = async ({ wire, from }: Unsigned): Promise<string> => {
    const parameters = { unsignedTransaction: wire.toString("hex"), signWiths: from, caip2: TEST_CLUSTER };
    return (await server.root.result("sol_send_transaction", parameters)).sendTransactionStatusId;
  };
  const newTransfer = async (): Promise<Unsigned> =>
    unsignedTransfer((await newSolanaWallet(server.root, node)).addresses);

  it("that says what it is to try out fails has nothing that it could send", async () => {
    const unsigned = await newTransfer();
    const tried: string[] = [];
    front.when("simulateTransaction", ({ params }) => {
      tried.push(String(params[0]));
      const value = { err: { InstructionError: [0, { Custom: 1 }] }, logs: ["no"], unitsConsumed: 1 };
      return { result: { context: { slot: 1000 }, value } };
    });
    const status = await sendStatus(server.root, await send(unsigned));
    assert.equal(status.txStatus, "FAILED");
    assert.equal(tried.length, 1);
    const options = { encoding: "base64", skipPreflight: true };
    await node.call("sendTransaction", tried[0], options).catch(() => undefined);
    assert.equal(await lamportsOf(node, unsigned.to), 0n);
    const askedFor = front.calls.flatMap(({ method, params }) => (method === "getSignatureStatuses" ? params[0] : []));
    assert.deepEqual(askedFor, [], "nor is it told the signature");
  });

  it("one of whose nodes is behind has no blockhash too old that is too new for it", async () => {
    const unsigned = await newTransfer();
    const value = { err: "BlockhashNotFound", logs: [], unitsConsumed: 0 };
    front.when("simulateTransaction", { result: { context: { slot: 900 }, value } });
    front.when("isBlockhashValid", ({ params }) => {
      const { commitment } = params[1] as { commitment: string };
      return commitment === "processed" ? { result: { context: { slot: 905 }, value: false } } : "pass on";
    });
    let held: unknown;
    front.when("sendTransaction", ({ params }) => {
      held ??= params[0];
      return { error: { code: -32_603, message: "words of the node" } };
    });
    const id = await send(unsigned);
    const statusNow = async () =>
      (await sendStatus(server.root, id, ["INITIALIZED", "BROADCASTING", "FAILED"])).txStatus;
    // Two for a look, and the next one shows what came of the first.
    await until(async () => front.count("isBlockhashValid") > 4 || (await statusNow()) === "FAILED", "looks at it");
    assert.equal(await statusNow(), "BROADCASTING");
    await node.call("sendTransaction", held, { encoding: "base64", skipPreflight: true });
    node.pass(2);
    front.passOnAll();
    assert.equal((await sendStatus(server.root, id)).txStatus, "INCLUDED");
    assert.equal(await lamportsOf(node, unsigned.to), SOL);
  });
});
