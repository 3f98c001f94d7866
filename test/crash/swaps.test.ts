import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { EARN_CHAIN, testEarnNode, writeChains } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import { relayOfTests, swapsOfTests } from "../support/relay.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { engines, freshDatabaseUrl } from "../support/server.ts";
import { type ServerProcess, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import {
  allowanceOf,
  NATIVE_ASSET,
  newSwapper,
  quoted,
  quoteParams,
  SWAP_INPUT,
  SWAP_OUTPUT,
  swapEnded,
  tokenBalance,
} from "../support/swap-world.ts";
import { until } from "../support/until.ts";

/** A swap whose server is killed after it was quoted, before and after it was signed, and while the provider is asked: one swap, and its end. */

const [SIGN, SEND] = ["eth_blockNumber", "eth_sendRawTransaction"] as const;
const PASS = "pass on";
const TIMEOUT_MS = 600_000;
const AT_ONCE = 20;

for (const engine of engines) {
  describe(`a swap whose server is killed (${engine})`, () => {
    const folder = temporaryFolder();
    let databaseUrl: string;
    let front: RpcNode;
    let server: ServerProcess;
    let wallet: string;

    const start = async (dataDir = folder) =>
      startServerProcess({
        dataDir,
        databaseUrl,
        credentialsFrom: folder,
        settings: {
          KEYSTEAD_ROOT_KEY_FILE: `${folder}/root.key`,
          KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
          KEYSTEAD_JOB_LEASE_SECONDS: "2",
          KEYSTEAD_LOG_LEVEL: "error",
          KEYSTEAD_CONFIG: writeChains(
            dataDir,
            { [EARN_CHAIN]: { rpcUrls: [front.url] } },
            { swaps: await swapsOfTests() },
          ),
        },
      });

    before(async () => {
      databaseUrl = await freshDatabaseUrl(engine, folder);
      front = await startRpcNode(testEarnNode());
      server = await start();
    });
    after(async () => {
      await server.end("SIGKILL");
      await front.close();
    });
    beforeEach(async () => {
      wallet = await newSwapper(server.root);
    });
    afterEach(() => passAll());

    const passAll = () => {
      for (const method of [SIGN, SEND]) front.when(method, PASS);
    };
    async function killAndRestart(): Promise<void> {
      await server.end("SIGKILL");
      passAll();
      server = await start();
    }
    const execute = async (request: object): Promise<string> =>
      (await server.root.result("execute_swap", request)).swapRequestId;

    /** Ether, which takes no gas station: its account's one transaction. */
    const ofEther = () => quoted(server.root, quoteParams(wallet, { inputToken: NATIVE_ASSET }));

    async function assertSwapped(swapRequestId: string): Promise<void> {
      const status = await swapEnded(server.root, swapRequestId);
      assert.deepEqual([status.status, status.outputAmount], ["COMPLETED", "1000000"], JSON.stringify(status));
      assert.equal(await tokenBalance(SWAP_OUTPUT, wallet), 1_000_000n, "the chain has it once");
      assert.equal(Number(await testEarnNode().call("eth_getTransactionCount", wallet, "pending")), 1);
    }

    it("after it was quoted", { timeout: TIMEOUT_MS }, async () => {
      const request = await ofEther();
      await killAndRestart();
      await assertSwapped(await execute(request));
      const again = await server.root.submit("execute_swap", request);
      assert.equal(again.body.turnkeyErrorCode, "SWAP_QUOTE_ALREADY_USED");
    });

    it("before it was signed", { timeout: TIMEOUT_MS }, async () => {
      front.when(SIGN, "hang");
      const id = await execute(await ofEther());
      await until(() => front.open() > 0, "the look to begin");
      await killAndRestart();
      await assertSwapped(id);
    });

    it("after it was signed and before a node has it", { timeout: TIMEOUT_MS }, async () => {
      front.when(SEND, "hang");
      const sent = () => front.calls.filter(({ method }) => method === SEND).length;
      const before = sent();
      const id = await execute(await ofEther());
      await until(() => sent() > before, "it to be sent");
      await killAndRestart();
      await assertSwapped(id);
    });

    it("while the provider is asked what became of it", { timeout: TIMEOUT_MS }, async () => {
      const relay = await relayOfTests();
      const outputToken = `eip155:10/erc20:0x${"12".repeat(20)}`;
      const params = quoteParams(wallet, { inputToken: NATIVE_ASSET, outputToken });
      const id = await execute(await quoted(server.root, params));
      const requestId = relay.lastRequestOf(wallet);
      const asked = () => relay.requests.filter(({ path }) => path.endsWith(`/v3?requestId=${requestId}`)).length;
      await until(() => asked() > 0, "the provider to be asked");
      await killAndRestart();
      const hash = `0x${"cd".repeat(32)}`;
      const route = { actual: { destination: { outputCurrency: { amount: "990001" } } } };
      relay.tell(requestId, { status: "success", txHashes: [hash] }, { data: { route } });
      const status: Json = await swapEnded(server.root, id);
      assert.deepEqual(
        [status.status, status.outputAmount, status.destinationTxHashes],
        ["COMPLETED", "990001", [hash]],
      );
      assert.equal(await allowanceOf(SWAP_INPUT, wallet), 0n);
    });

    if (engine === "postgres") {
      it("while two servers on the same database race for its quote", { timeout: TIMEOUT_MS }, async () => {
        const other = await start(temporaryFolder());
        try {
          const request = await ofEther();
          const now = Date.now();
          const answers = await Promise.all(
            Array.from({ length: AT_ONCE }, (_, turn) => {
              const { root } = turn % 2 === 0 ? server : other;
              return root.submit("execute_swap", request, { timestampMs: String(now - turn) });
            }),
          );
          const won = answers.filter(({ status }) => status === 200);
          const lost = answers.filter(({ body }) => body.turnkeyErrorCode === "SWAP_QUOTE_ALREADY_USED");
          assert.deepEqual([won.length, lost.length], [1, AT_ONCE - 1], JSON.stringify(answers));
          await server.end("SIGKILL");
          const [{ swapRequestId }] = won.map(({ body }) => body.activity.result.executeSwapResult) as [Json];
          const status = await swapEnded(other.root, swapRequestId);
          assert.equal(status.status, "COMPLETED", JSON.stringify(status));
          assert.equal(await tokenBalance(SWAP_OUTPUT, wallet), 1_000_000n, "the chain has it once");
          server = await start();
        } finally {
          await other.end("SIGKILL");
        }
      });
    }
  });
}
