import assert from "node:assert/strict";
import { after, before, describe } from "node:test";
import type { Address } from "@solana/kit";
import type { Json } from "../support/client.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { relayOfTests, swapsOfTests } from "../support/relay.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { engines, freshDatabaseUrl, itInTurns } from "../support/server.ts";
import { startOnNodes } from "../support/server-on-nodes.ts";
import { type ServerProcess, temporaryFolder } from "../support/server-process.ts";
import { addressOf } from "../support/solana.ts";
import { type SolanaNode, startSolanaNode } from "../support/solana-node.ts";
import { ROUTER, ROUTER_PROGRAM, throughRouter, VAULT } from "../support/solana-router.ts";
import { lamportsOf, newSolanaWallet, SOL, transfer } from "../support/solana-sender.ts";
import { SWAP_CLUSTER, SWAP_GENESIS } from "../support/solana-swaps.ts";
import { moveTokens, newMint, newTokenAccount, tokensIn } from "../support/solana-tokens.ts";
import { sponsorsOf } from "../support/sponsor.ts";
import { quoted, swapEnded } from "../support/swap-world.ts";
import { until } from "../support/until.ts";

/** A swap on Solana whose server is killed after it was signed and before a node has it: one swap, and its end, whoever pays. */

const AMOUNT = 1_000_000n;
const TIMEOUT_MS = 600_000;

for (const engine of engines) {
  describe(`a swap on Solana whose server is killed (${engine})`, () => {
    const itInTurn = itInTurns(engine);
    const folder = temporaryFolder();
    let databaseUrl: string;
    let node: SolanaNode;
    let front: RpcNode;
    let server: ServerProcess;

    const start = async () =>
      startOnNodes({
        folder,
        databaseUrl,
        chains: { [SWAP_CLUSTER]: { rpcUrls: [front.url] } },
        parts: { swaps: await swapsOfTests({ contracts: { [SWAP_CLUSTER]: [ROUTER] } }) },
      });

    before(async () => {
      databaseUrl = await freshDatabaseUrl(engine, folder, MIGRATED_DATABASE);
      node = await startSolanaNode({ genesis: SWAP_GENESIS });
      node.svm.addProgram(ROUTER, ROUTER_PROGRAM);
      front = await startRpcNode(node);
      server = await start();
    });
    after(async () => {
      await server.end("SIGKILL");
      await Promise.all([front.close(), node.close()]);
    });

    for (const sponsor of [false, true]) {
      itInTurn(
        `between its signature and the node, ${sponsor ? "with `sponsor`" : "at its own cost"}`,
        { timeout: TIMEOUT_MS },
        async () => {
          const mint = newMint(node, addressOf(0x77));
          const { addresses } = await newSolanaWallet(server.root, node);
          const [wallet] = addresses as [Address];
          const from = newTokenAccount(node, { mint, owner: VAULT, amount: 10n ** 12n });
          const own = newTokenAccount(node, { mint, owner: wallet });
          (await relayOfTests()).offer(wallet, (_, { input, output }) => ({
            instructions: [
              throughRouter(transfer(wallet, VAULT, input)),
              throughRouter(moveTokens(from, own, VAULT, output)),
            ],
          }));
          await node.call("requestAirdrop", VAULT, 10_000_000);
          const was = await lamportsOf(node, wallet);
          const request = await quoted(
            server.root,
            {
              signWith: wallet,
              inputToken: `${SWAP_CLUSTER}/slip44:501`,
              outputToken: `${SWAP_CLUSTER}/token:${mint}`,
              inputAmount: String(AMOUNT),
            },
            { sponsor },
          );
          const payer = sponsor ? (await sponsorsOf(server.baseUrl)).solana : wallet;
          if (sponsor) await node.call("requestAirdrop", payer, Number(SOL));
          const wasPaid = await lamportsOf(node, payer);
          const earlier = front.count("sendTransaction");
          front.when("sendTransaction", "hang");
          const { swapRequestId } = await server.root.result("execute_swap", request);
          const sent = () => front.calls.filter(({ method }) => method === "sendTransaction").slice(earlier);
          await until(() => sent().length > 0, "it to be sent");
          await server.end("SIGKILL");
          front.when("sendTransaction", "pass on");
          server = await start();
          const status: Json = await swapEnded(server.root, swapRequestId);
          assert.deepEqual([status.status, status.outputAmount], ["COMPLETED", String(AMOUNT)], JSON.stringify(status));
          assert.equal(new Set(sent().map(({ params }) => String(params[0]))).size, 1, "the same bytes each time");
          assert.equal(tokensIn(node, own), AMOUNT, "the chain has it once");
          const { fee } = (
            (await node.call("getTransaction", status.originTxHash, { commitment: "confirmed" })) as Json
          ).meta;
          assert.equal(await lamportsOf(node, wallet), was - AMOUNT - (sponsor ? 0n : BigInt(fee)));
          assert.equal(wasPaid - (await lamportsOf(node, payer)), BigInt(fee) + (sponsor ? 0n : AMOUNT), "paid once");
          const again = await server.root.submit("execute_swap", request);
          assert.equal(again.body.turnkeyErrorCode, "SWAP_QUOTE_ALREADY_USED");
        },
      );
    }
  });
}
