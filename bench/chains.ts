import { findFollowed } from "../src/capabilities/history/following.ts";
import { openDatabase, sqliteFileOf } from "../src/storage/database.ts";
import type { DatabaseKind, Reader } from "../src/storage/engine.ts";
import { openSqlite } from "../src/storage/sqlite.ts";
import { EARN_CHAIN_ID, type EvmNode, startAnvil, TEST_CHAIN_ID } from "../test/support/anvil.ts";
import { EARN_CHAIN, TEST_CHAIN, writeChains } from "../test/support/chain.ts";
import { Client } from "../test/support/client.ts";
import { newAddress, newEvmWallet, sendStatus } from "../test/support/evm-sender.ts";
import { addAddresses } from "../test/support/many-addresses.ts";
import { type SolanaNode, startSolanaNode } from "../test/support/solana-node.ts";
import { TEST_CLUSTER } from "../test/support/solana-rpc.ts";
import { latestBlockhash, newSolanaWallet, newStranger, SOL, unsignedTransfer } from "../test/support/solana-sender.ts";
import { until } from "../test/support/until.ts";
import { against, type Pace, paceOf, timed } from "./lanes.ts";
import type { Product } from "./processes.ts";
import { type BenchHooks, type RoundOptions, startServer } from "./rounds.ts";
import { median } from "./statistics.ts";

/**
 * What a server does on chains: sends from the request to the status INCLUDED, several wallets at a time, against the node that is sent the
 * same by itself; and blocks a second that the watcher takes with few and with many addresses to look for, against a client that
 * only reads them.
 */

export interface ChainsOptions extends RoundOptions {
  /** The most that are watched. */
  addresses: number;
}

export type ChainsBenchResult =
  | {
      engine: DatabaseKind;
      scenario: "ethereum-sends" | "solana-sends";
      perSecond: number;
      p50Ms: number;
      p99Ms: number;
      floor: number;
      ratio: number;
    }
  | {
      engine: DatabaseKind;
      scenario: "watcher";
      /** Addresses of wallets in the database. */
      addresses: number;
      blocksPerSecond: number;
      floor: number;
      ratio: number;
    };

/** As many at a time, each from a wallet of its own. */
const WALLETS = 8;
const STEPS = [10, 10_000, 1_000_000];
/** Rows that one statement adds: nothing else is written meanwhile. */
const ADDED_AT_ONCE = 50_000;
const SENT_POLL_MS = 100;
/** So rarely does the watcher look for new blocks that it finds many. */
const WATCHED_POLL_MS = 5000;
const BLOCKS = 320;
const SENDERS = 4;
/** As the watcher reads them. */
const BLOCKS_AT_ONCE = 3;

export async function benchChains(options: ChainsOptions, hooks: BenchHooks<ChainsBenchResult>): Promise<void> {
  const [sending, watched] = [
    await startAnvil({ chainId: TEST_CHAIN_ID }),
    await startAnvil({ chainId: EARN_CHAIN_ID }),
  ];
  hooks.onStart(() => Promise.all([sending.stop(), watched.stop()]));
  const solana = await startSolanaNode();
  hooks.onStart(() => solana.close());
  const chains = {
    [TEST_CHAIN]: { rpcUrls: [sending.url], pollMs: SENT_POLL_MS },
    [TEST_CLUSTER]: { rpcUrls: [solana.url], pollMs: SENT_POLL_MS },
    [EARN_CHAIN]: { rpcUrls: [watched.url], pollMs: WATCHED_POLL_MS },
  };
  for (const engine of options.engines) {
    const settings = {
      KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
      KEYSTEAD_CONFIG: writeChains(options.folder, chains),
    };
    const server = await startServer(engine, "chains", { ...options, settings }, hooks.onStart);
    const client = new Client(`http://127.0.0.1:${server.port}`, server.subject.organizationId, server.key);
    await measureSends(engine, "ethereum-sends", await sendsOfEthereum(client, sending), options, hooks);
    await measureSends(engine, "solana-sends", await sendsOfSolana(client, solana), options, hooks);
    const database = openDatabase({ url: server.databaseUrl });
    try {
      await measureWatcher(engine, { server, client, node: watched, read: database.read }, options, hooks);
    } finally {
      await database.close();
    }
    await server.stop();
  }
}

/** Resolves once what was sent is in a block. */
type Send = (lane: number) => Promise<unknown>;

interface Sends {
  send: Send;
  floor: Send;
}

async function measureSends(
  engine: DatabaseKind,
  scenario: "ethereum-sends" | "solana-sends",
  { send, floor }: Sends,
  { rounds, seconds }: RoundOptions,
  { report }: BenchHooks<ChainsBenchResult>,
): Promise<void> {
  const lanes = Array.from({ length: WALLETS }, (_, lane) => lane);
  const done: Pace[] = [];
  const floors: Pace[] = [];
  for (let round = 0; round < rounds; round++) {
    floors.push(await paceOf(lanes, (lane) => timed(() => floor(lane)), seconds));
    done.push(await paceOf(lanes, (lane) => timed(() => send(lane)), seconds));
  }
  report({ engine, scenario, ...against(done, floors) });
}

async function include(client: Client, path: string, parameters: object): Promise<void> {
  const { sendTransactionStatusId } = await client.result(path, parameters);
  const status = await sendStatus(client, sendTransactionStatusId);
  if (status.txStatus !== "INCLUDED" || status.error) throw new Error(`${path} came to ${JSON.stringify(status)}`);
}

async function sendsOfEthereum(client: Client, node: EvmNode): Promise<Sends> {
  const { addresses } = await newEvmWallet(client, node, WALLETS);
  const strangers = await impersonated(node, WALLETS);
  return {
    send: (lane) =>
      include(client, "eth_send_transaction", {
        from: addresses[lane],
        caip2: TEST_CHAIN,
        calls: [{ to: newAddress(), value: "1" }],
      }),
    floor: async (lane) =>
      node.receipt(await node.call("eth_sendTransaction", { from: strangers[lane], to: newAddress(), value: "0x1" })),
  };
}

async function sendsOfSolana(client: Client, node: SolanaNode): Promise<Sends> {
  const { addresses } = await newSolanaWallet(client, node, WALLETS);
  const strangers = Array.from({ length: WALLETS }, newStranger);
  const fund = (address: string) => node.call("requestAirdrop", address, Number(10_000n * SOL));
  for (const address of [...addresses, ...strangers.map((stranger) => stranger.address)]) await fund(address);
  return {
    send: (lane) => {
      const { wire } = unsignedTransfer([addresses[lane] as (typeof addresses)[number]]);
      const unsigned = { unsignedTransaction: wire.toString("hex"), signWiths: [addresses[lane]], caip2: TEST_CLUSTER };
      return include(client, "sol_send_transaction", unsigned);
    },
    floor: async (lane) => {
      const stranger = strangers[lane] as ReturnType<typeof newStranger>;
      const wire = stranger.sign(unsignedTransfer([stranger.address], { blockhash: await latestBlockhash(node) }).wire);
      const signature = await node.call("sendTransaction", wire.toString("base64"), { encoding: "base64" });
      await until(async () => {
        const { value } = (await node.call("getSignatureStatuses", [signature])) as { value: unknown[] };
        return value[0] !== null;
      }, `the transaction ${signature}`);
    },
  };
}

/** Accounts that the node sends from by itself. */
async function impersonated({ call }: EvmNode, count: number): Promise<string[]> {
  const accounts = Array.from({ length: count }, newAddress);
  for (const account of accounts) {
    await call("anvil_setBalance", account, `0x${(10n ** 24n).toString(16)}`);
    await call("anvil_impersonateAccount", account);
  }
  return accounts;
}

interface Watched {
  server: Product;
  client: Client;
  node: EvmNode;
  read: Reader;
}

async function measureWatcher(
  engine: DatabaseKind,
  { server, client, node, read }: Watched,
  { rounds, addresses: most }: ChainsOptions,
  { report }: BenchHooks<ChainsBenchResult>,
): Promise<void> {
  const { walletId, addresses } = await newEvmWallet(client, node, 1);
  const owner = { organizationId: server.subject.organizationId, walletId };
  const senders = await impersonated(node, SENDERS);
  // Those that send, and the one that is paid.
  let known = WALLETS + 1;
  for (const wanted of STEPS.filter((step) => step <= most)) {
    for (let branch = known; known < wanted; branch = known) {
      const count = Math.min(wanted - known, ADDED_AT_ONCE);
      await addAddresses(server.databaseUrl, owner, count, branch);
      known += count;
    }
    await writeBack(server.databaseUrl);
    const paces: number[] = [];
    const floors: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const { first, last } = await mine(node, senders, addresses[0] as string);
      paces.push(await paceOfWatcher(read, last));
      floors.push(await paceOfReading(node, first, last));
    }
    const [blocksPerSecond, floor] = [median(paces), median(floors)];
    report({
      engine,
      scenario: "watcher",
      addresses: known,
      blocksPerSecond: Number(blocksPerSecond.toFixed(1)),
      floor: Number(floor.toFixed(1)),
      ratio: Number((blocksPerSecond / floor).toFixed(4)),
    });
  }
}

/** What was added by the million is copied into the file now, and not with the first commits that are measured. */
async function writeBack(url: string): Promise<void> {
  const file = sqliteFileOf(url);
  if (file === undefined) return;
  const connection = openSqlite(file);
  await connection.all("pragma wal_checkpoint(truncate)", []);
  connection.close();
}

/** Blocks of a transfer each, every fourth to an address of ours; resolves to their numbers. */
async function mine(
  { call, receipt }: EvmNode,
  senders: readonly string[],
  ours: string,
): Promise<{ first: number; last: number }> {
  const first = (await newest(call)) + 1;
  for (let block = 0; block < BLOCKS; block++) {
    const [from, to] = [senders[block % senders.length], block % 4 === 0 ? ours : newAddress()];
    await receipt(await call("eth_sendTransaction", { from, to, value: "0x1", gas: "0x5208" }));
  }
  return { first, last: await newest(call) };
}

const newest = async (call: EvmNode["call"]): Promise<number> => Number(await call("eth_blockNumber"));

/** Blocks a second from the first that are seen to have been followed to the last. */
async function paceOfWatcher(read: Reader, last: number): Promise<number> {
  const head = async () => (await findFollowed(read, EARN_CHAIN))?.head.number ?? 0;
  const before = await head();
  let [from, began] = [before, 0];
  await until(async () => {
    from = await head();
    began = performance.now();
    return from > before;
  }, "the watcher to look");
  if (from >= last)
    throw new Error(`the watcher took all ${last - before} blocks in one turn: there is nothing to measure`);
  await until(async () => (await head()) >= last, `the watcher to come to block ${last}`);
  return ((last - from) * 1000) / (performance.now() - began);
}

/** Blocks with their transactions and receipts, read by a client that does nothing with them. */
async function paceOfReading({ call }: EvmNode, first: number, last: number): Promise<number> {
  const began = performance.now();
  for (let number = first; number <= last; number += BLOCKS_AT_ONCE) {
    const some = Array.from({ length: Math.min(BLOCKS_AT_ONCE, last - number + 1) }, (_, index) => number + index);
    await Promise.all(
      some.map(async (each) => {
        const name = `0x${each.toString(16)}`;
        await call("eth_getBlockByNumber", name, true);
        await call("eth_getBlockReceipts", name);
      }),
    );
  }
  return ((last - first + 1) * 1000) / (performance.now() - began);
}

export function lineOfChains(result: ChainsBenchResult, json: boolean): string {
  if (json) return JSON.stringify(result);
  const { engine, scenario, floor, ratio } = result;
  const compared = `${ratio} of the floor's ${floor}/s`;
  if (scenario === "watcher")
    return `${engine} watcher, ${result.addresses} addresses: ${result.blocksPerSecond} blocks/s, ${compared}`;
  return `${engine} ${scenario} ${result.perSecond}/s, ${compared}; p50 ${result.p50Ms} ms, p99 ${result.p99Ms} ms`;
}
