import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { keccak256 } from "viem";
import { type Anvil, startAnvil, TEST_CHAIN_ID } from "../support/anvil.ts";
import { balanceOf, TEST_CHAIN } from "../support/chain.ts";
import { includedHash, newAddress, newEvmWallet } from "../support/evm-sender.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { startTestServer, type TestServer } from "../support/server.ts";

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
    await front.waitFor("eth_getTransactionCount", front.count("eth_getTransactionCount") + 4);
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
    await front.waitFor("eth_getTransactionCount", front.count("eth_getTransactionCount") + 6);
    front.passOnAll();
    assert.equal(await includedHash(server.root, id), hashOf(bytes));
    assert.equal(await balanceOf(node, to), 1n);
  });
});
