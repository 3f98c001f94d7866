import type { DatabaseKind } from "../src/storage/engine.ts";
import { EARN_CHAIN_ID, type EvmNode, startAnvil } from "../test/support/anvil.ts";
import { EARN_CHAIN, writeChains } from "../test/support/chain.ts";
import { Client, type Json } from "../test/support/client.ts";
import { RELAY_KEY, relayOfTests, swapsOfTests } from "../test/support/relay.ts";
import {
  deploySwapWorld,
  NATIVE_ASSET,
  newSwapper,
  quoted,
  quoteParams,
  SWAP_OUTPUT,
  swapEnded,
} from "../test/support/swap-world.ts";
import { against, type Pace, paceOf, timed, type Work } from "./lanes.ts";
import { type BenchHooks, type RoundOptions, startServer } from "./rounds.ts";

/**
 * Swaps of ether for a token through the server, with a provider and a node on this machine: quotes, and executions from the request to
 * its answer. The floor of a round is the provider asked without a server, and its call sent by the node itself.
 */

export interface SwapsBenchResult {
  engine: DatabaseKind;
  scenario: "quotes" | "executions";
  /** Of executions: with the quote before and the swap's end after, which the percentiles leave out. */
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** A second, of the same without a server, and what the server does of it. */
  floor: number;
  ratio: number;
}

/** As many as the server asks the provider for at a time; each has a wallet of its own. */
const WALLETS = 8;
const INPUT_AMOUNT = "1000000";
const NATIVE = `0x${"00".repeat(20)}`;

export async function benchSwaps(options: RoundOptions, hooks: BenchHooks<SwapsBenchResult>): Promise<void> {
  const node = await startAnvil({ chainId: EARN_CHAIN_ID });
  hooks.onStart(() => node.stop());
  await deploySwapWorld(node);
  const { url: relayUrl } = await relayOfTests();
  const swaps = await swapsOfTests({ pollMs: 100 });
  for (const engine of options.engines) {
    const settings = {
      KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
      KEYSTEAD_CONFIG: writeChains(options.folder, { [EARN_CHAIN]: { rpcUrls: [node.url] } }, { swaps }),
    };
    const server = { ...options, settings };
    const { port, subject, key, stop } = await startServer(engine, "swaps", server, hooks.onStart);
    const client = new Client(`http://127.0.0.1:${port}`, subject.organizationId, key);
    const wallets: string[] = [];
    while (wallets.length < WALLETS) wallets.push(await newSwapper(client, 10n ** 12n, node));
    const works = {
      quotes: { work: quote(client), floor: quoteOfProvider(relayUrl) },
      executions: { work: execute(client), floor: sendBare(node, relayUrl) },
    } as const;
    for (const wallet of wallets) await node.call("anvil_impersonateAccount", wallet);
    for (const [scenario, { work, floor }] of Object.entries(works) as [SwapsBenchResult["scenario"], Side][]) {
      const rounds: Pace[] = [];
      const floors: Pace[] = [];
      for (let round = 0; round < options.rounds; round++) {
        // The floor's transactions take nonces behind the server's back, so that each has wallets of its own.
        floors.push(await paceOf(wallets.slice(WALLETS / 2), floor, options.seconds));
        rounds.push(await paceOf(wallets.slice(0, WALLETS / 2), work, options.seconds));
      }
      hooks.report({ engine, scenario, ...against(rounds, floors) });
    }
    await stop();
  }
}

interface Side {
  work: Work<string>;
  floor: Work<string>;
}

const paramsOf = (wallet: string) => quoteParams(wallet, { inputToken: NATIVE_ASSET, inputAmount: INPUT_AMOUNT });

const quote =
  (client: Client): Work<string> =>
  (wallet) =>
    timed(() => client.result("create_swap_quote", paramsOf(wallet)));

/** Each is waited for, so that not more are on their way than an organization may have. */
const execute =
  (client: Client): Work<string> =>
  async (wallet) => {
    const request = await quoted(client, paramsOf(wallet));
    let swapRequestId = "";
    const ms = await timed(async () => {
      ({ swapRequestId } = await client.result("execute_swap", request));
    });
    const { status, error } = await swapEnded(client, swapRequestId);
    if (status !== "COMPLETED") throw new Error(`a swap came to ${status}: ${JSON.stringify(error)}`);
    return ms;
  };

const quoteOfProvider =
  (url: string): Work<string> =>
  (wallet) =>
    timed(() => offerOf(url, wallet));

const sendBare =
  (node: EvmNode, url: string): Work<string> =>
  async (wallet) => {
    const { steps } = await offerOf(url, wallet);
    const [{ items }] = steps;
    const { from, to, data, value } = items[0].data;
    return timed(() =>
      node.call("eth_sendTransaction", { from, to, data, value: `0x${BigInt(value).toString(16)}`, gas: "0x7a120" }),
    );
  };

async function offerOf(url: string, user: string): Promise<Json> {
  const answer = await fetch(`${url}/quote/v2`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-api-key": RELAY_KEY },
    body: JSON.stringify({
      user,
      recipient: user,
      refundTo: user,
      originChainId: EARN_CHAIN_ID,
      destinationChainId: EARN_CHAIN_ID,
      originCurrency: NATIVE,
      destinationCurrency: SWAP_OUTPUT,
      amount: INPUT_AMOUNT,
      tradeType: "EXACT_INPUT",
      usePermit: false,
    }),
  });
  if (answer.status !== 200) throw new Error(`the provider answered ${answer.status}`);
  return (await answer.json()) as Json;
}

export function lineOfSwaps(result: SwapsBenchResult, json: boolean): string {
  if (json) return JSON.stringify(result);
  const { engine, scenario, perSecond, p50Ms, p99Ms, floor, ratio } = result;
  return `${engine} ${perSecond}/s ${scenario}, ${ratio} of the floor's ${floor}/s; p50 ${p50Ms} ms, p99 ${p99Ms} ms`;
}
