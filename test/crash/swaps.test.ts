import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { EARN_CHAIN, testEarnNode } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import { areLong } from "../support/long-tests.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { relayOfTests, swapsOfTests } from "../support/relay.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { engines, freshDatabaseUrl, itInTurns } from "../support/server.ts";
import { startOnNodes } from "../support/server-on-nodes.ts";
import { type ServerProcess, temporaryFolder } from "../support/server-process.ts";
import { richSponsor } from "../support/sponsor.ts";
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
/** KEYSTEAD_LONG_TESTS=1 runs the number that a release is held to. */
const [MANY, KILLS] = areLong ? [100, 6] : [24, 3];
const WALLETS = 4;
const FEE_BPS = 100n;

for (const engine of engines) {
  describe(`a swap whose server is killed (${engine})`, () => {
    const itInTurn = itInTurns(engine);
    const folder = temporaryFolder();
    let databaseUrl: string;
    let front: RpcNode;
    let server: ServerProcess;
    let wallet: string;

    const start = async (dataDir = folder) =>
      startOnNodes({
        folder,
        dataDir,
        databaseUrl,
        chains: { [EARN_CHAIN]: { rpcUrls: [front.url] } },
        parts: { swaps: await swapsOfTests() },
      });

    before(async () => {
      databaseUrl = await freshDatabaseUrl(engine, folder, MIGRATED_DATABASE);
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

    itInTurn("after it was quoted", { timeout: TIMEOUT_MS }, async () => {
      const request = await ofEther();
      await killAndRestart();
      await assertSwapped(await execute(request));
      const again = await server.root.submit("execute_swap", request);
      assert.equal(again.body.turnkeyErrorCode, "SWAP_QUOTE_ALREADY_USED");
    });

    itInTurn("before it was signed", { timeout: TIMEOUT_MS }, async () => {
      front.when(SIGN, "hang");
      const id = await execute(await ofEther());
      await until(() => front.open() > 0, "the look to begin");
      await killAndRestart();
      await assertSwapped(id);
    });

    itInTurn("after it was signed and before a node has it", { timeout: TIMEOUT_MS }, async () => {
      front.when(SEND, "hang");
      const sent = () => front.calls.filter(({ method }) => method === SEND).length;
      const before = sent();
      const id = await execute(await ofEther());
      await until(() => sent() > before, "it to be sent");
      await killAndRestart();
      await assertSwapped(id);
    });

    itInTurn("while the provider is asked what became of it", { timeout: TIMEOUT_MS }, async () => {
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

    /** What becomes of a request that is sent until a server answers it, the same body each time: it is done once. */
    async function insist(path: string, parameters: object): Promise<Json> {
      const body = server.root.submitBody(path, parameters);
      let result: Json = {};
      await until(async () => {
        const answer = await server.root.post(`/public/v1/submit/${path}`, body).catch(() => undefined);
        if (!answer || answer.status === 429 || answer.status >= 500) return false;
        assert.equal(answer.status, 200, JSON.stringify(answer.body));
        [result] = Object.values(answer.body.activity.result);
        return true;
      }, `${path} to be answered`);
      return result;
    }

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

    itInTurn(
      `again and again under ${MANY} of them: each is done once, as its status says`,
      { timeout: TIMEOUT_MS },
      async () => {
        const relay = await relayOfTests();
        await richSponsor(server.root.baseUrl, testEarnNode());
        const { feeReceiverWalletAddress } = await insist("upsert_swap_config", { feeBps: String(FEE_BPS) });
        const wallets: string[] = [];
        while (wallets.length < WALLETS) wallets.push(await newSwapper(server.root));
        const swaps: { of: string; id: string; requestId: string; isToken: boolean; amount: bigint }[] = [];

        const swapNext = async (of: string, turn: number): Promise<void> => {
          const isToken = turn % 2 === 0;
          // No two alike, and with fees that do not come out even.
          const amount = 1_000_000n + 37n * BigInt(turn);
          const inputAmount = String(amount);
          const params = quoteParams(of, { inputAmount, ...(isToken ? {} : { inputToken: NATIVE_ASSET }) });
          const [quote] = (await insist("create_swap_quote", params)).quotes;
          const requestId = relay.lastRequestOf(of);
          const { inputToken, outputToken } = params;
          const { quoteId, outputAmount: quotedOutputAmount, minOutputAmount } = quote;
          const restated = { inputToken, outputToken, inputAmount, quotedOutputAmount, minOutputAmount };
          const { swapRequestId: id } = await insist("execute_swap", { quoteId, ...restated, sponsor: false });
          swaps.push({ of, id, requestId, isToken, amount });
        };
        let turns = 0;
        const swapAll = async (of: string): Promise<void> => {
          while (turns < MANY) await swapNext(of, turns++);
        };
        const kill = async (): Promise<void> => {
          for (let kills = 1; kills <= KILLS; kills++) {
            await until(() => swaps.length >= (kills * MANY) / (KILLS + 1), "swaps to be on their way");
            await killAndRestart();
          }
        };
        await Promise.all([kill(), ...wallets.map(swapAll)]);

        assert.equal(new Set(swaps.map(({ id }) => id)).size, MANY);
        const received = new Map(wallets.map((of) => [of, 0n]));
        let fees = 0n;
        for (const { of, id, requestId, amount } of swaps) {
          const status = await swapEnded(server.root, id);
          assert.equal(status.status, "COMPLETED", JSON.stringify(status));
          assert.equal(status.inputAmount, String(amount));
          const fee = (amount * FEE_BPS) / 10_000n;
          assert.equal(BigInt(status.outputAmount), amount - fee);
          received.set(of, (received.get(of) ?? 0n) + BigInt(status.outputAmount));
          fees += fee;
          relay.accrueFor(requestId);
        }
        for (const of of wallets) {
          const spent = swaps
            .filter((swap) => swap.of === of && swap.isToken)
            .reduce((sum, swap) => sum + swap.amount, 0n);
          assert.equal(await tokenBalance(SWAP_OUTPUT, of), received.get(of), "the chain has what the statuses say");
          assert.equal(await tokenBalance(SWAP_INPUT, of), 10n ** 12n - spent);
          assert.equal(await allowanceOf(SWAP_INPUT, of), 0n);
        }
        await insist("claim_swap_fees", {});
        assert.equal(relay.paid.get(feeReceiverWalletAddress.toLowerCase()), fees, "to the unit");
      },
    );
  });
}
