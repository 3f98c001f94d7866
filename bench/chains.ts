import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { findFollowed } from "../src/capabilities/history/following.ts";
import { type Database, openDatabase, sqliteFileOf } from "../src/storage/database.ts";
import type { DatabaseKind, Reader } from "../src/storage/engine.ts";
import { openSqlite } from "../src/storage/sqlite.ts";
import { type Anvil, EARN_CHAIN_ID, type EvmNode, startAnvil, TEST_CHAIN_ID } from "../test/support/anvil.ts";
import { EARN_CHAIN, TEST_CHAIN, writeChains } from "../test/support/chain.ts";
import { Client } from "../test/support/client.ts";
import { newAddress, newEvmWallet, sendStatus } from "../test/support/evm-sender.ts";
import { addAddresses } from "../test/support/many-addresses.ts";
import { vacuum } from "../test/support/query-plans.ts";
import { type SolanaNode, startSolanaNode } from "../test/support/solana-node.ts";
import { TEST_CLUSTER } from "../test/support/solana-rpc.ts";
import { latestBlockhash, newSolanaWallet, newStranger, SOL, unsignedTransfer } from "../test/support/solana-sender.ts";
import { until } from "../test/support/until.ts";
import { cpuSeconds } from "./cpu.ts";
import { against, type Pace, paceOf, timed } from "./lanes.ts";
import { type BenchHooks, type RoundOptions, type Started, startServer } from "./rounds.ts";
import { median } from "./statistics.ts";

/**
 * What a server does on chains: sends from the request to the status INCLUDED, several wallets at a time, against the node that is sent the
 * same by itself; and what the watcher takes for a block with few and with many addresses to look for, in time against a client that only
 * reads the same blocks, and in CPU. Each number of addresses has a server, a database and a node of its own, which take turns: a database
 * cannot have ten and a million at once, and one after the other they would be measured on another machine.
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
      /** CPU milliseconds for a block: of the server with its signer, and of the database's own processes. */
      cpuMs: number;
      databaseCpuMs: number | undefined;
      /** Against the fewest addresses in the same round: blocks a second, and all CPU for a block. */
      paceToFewest: number;
      cpuToFewest: number;
    };

/** As many at a time, each from a wallet of its own. */
const WALLETS = 8;
const SIZES = [10, 10_000, 1_000_000];
/** Rows that one statement adds: nothing else is written meanwhile. */
const ADDED_AT_ONCE = 50_000;
const SENT_POLL_MS = 100;
/** So rarely does the watcher look for new blocks that it finds many. */
const WATCHED_POLL_MS = 15_000;
/** Made in less than that. */
const BLOCKS = 320;
/** With fewer left when the watcher is seen to look, it looked while they were made, and others are made. */
const FEWEST_BLOCKS = 160;
const TRIES = 5;
const SENDERS = 4;
/** As the watcher reads them. */
const BLOCKS_AT_ONCE = 3;

export async function benchChains(options: ChainsOptions, hooks: BenchHooks<ChainsBenchResult>): Promise<void> {
  const sending = await startAnvil({ chainId: TEST_CHAIN_ID });
  hooks.onStart(() => sending.stop());
  const solana = await startSolanaNode();
  hooks.onStart(() => solana.close());
  const chains = {
    [TEST_CHAIN]: { rpcUrls: [sending.url], pollMs: SENT_POLL_MS },
    [TEST_CLUSTER]: { rpcUrls: [solana.url], pollMs: SENT_POLL_MS },
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
    await server.stop();
    await measureWatchers(engine, options, hooks);
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

interface Watcher {
  server: Started;
  node: Anvil;
  database: Database;
  addresses: number;
  senders: readonly string[];
  ours: string;
}

async function measureWatchers(
  engine: DatabaseKind,
  options: ChainsOptions,
  hooks: BenchHooks<ChainsBenchResult>,
): Promise<void> {
  const watchers: Watcher[] = [];
  try {
    for (const addresses of SIZES.filter((size) => size <= options.addresses)) {
      watchers.push(await startWatcher(engine, addresses, options, hooks));
    }
    const rounds: Followed[][] = [];
    // The first one is not counted: no server has compiled anything yet.
    for (let round = 0; round <= options.rounds; round++) {
      const followed: Followed[] = [];
      for (const watcher of watchers) followed.push(await followOnce(watcher));
      if (round > 0) rounds.push(followed);
    }
    for (const [index, { addresses }] of watchers.entries()) {
      hooks.report({ engine, scenario: "watcher", addresses, ...comparison(rounds, index) });
    }
  } finally {
    for (const { server, node, database } of watchers) {
      await database.close();
      await server.stop();
      await node.stop();
    }
  }
}

async function startWatcher(
  engine: DatabaseKind,
  addresses: number,
  options: ChainsOptions,
  hooks: BenchHooks<ChainsBenchResult>,
): Promise<Watcher> {
  const node = await startAnvil({ chainId: EARN_CHAIN_ID });
  hooks.onStart(() => node.stop());
  const folder = join(options.folder, `${engine}-${addresses}`);
  mkdirSync(folder);
  const settings = {
    KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
    KEYSTEAD_CONFIG: writeChains(folder, { [EARN_CHAIN]: { rpcUrls: [node.url], pollMs: WATCHED_POLL_MS } }),
  };
  const server = await startServer(engine, `watcher_${addresses}`, { ...options, folder, settings }, hooks.onStart);
  const { organizationId } = server.subject;
  const client = new Client(`http://127.0.0.1:${server.port}`, organizationId, server.key);
  const wallet = await newEvmWallet(client, node, 1);
  for (let known = 1; known < addresses; known += ADDED_AT_ONCE) {
    const count = Math.min(addresses - known, ADDED_AT_ONCE);
    await addAddresses(server.databaseUrl, { organizationId, walletId: wallet.walletId }, count, known);
  }
  await tidyUp(server.databaseUrl);
  const senders = await impersonated(node, SENDERS);
  const database = openDatabase({ url: server.databaseUrl });
  return { server, node, database, addresses, senders, ours: wallet.addresses[0] as string };
}

/** What one round came to. */
interface Followed {
  blocksPerSecond: number;
  floor: number;
  cpuMs: number;
  databaseCpuMs: number | undefined;
}

async function followOnce(watcher: Watcher): Promise<Followed> {
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const { first, last } = await mine(watcher.node, watcher.senders, watcher.ours);
    const followed = await paceOfWatcher(watcher, last);
    if (followed) return { ...followed, floor: await paceOfReading(watcher.node, first, last) };
  }
  throw new Error(`the watcher takes ${BLOCKS} blocks as fast as they are made: there is nothing to measure`);
}

/** The medians of one watcher's rounds; ratios are those of each round. */
function comparison(rounds: readonly Followed[][], index: number) {
  const middle = (of: (one: Followed, fewest: Followed) => number, digits: number) =>
    Number(median(rounds.map((round) => of(round[index] as Followed, round[0] as Followed))).toFixed(digits));
  const cpuOf = ({ cpuMs, databaseCpuMs = 0 }: Followed) => cpuMs + databaseCpuMs;
  const hasDatabase = rounds[0]?.[index]?.databaseCpuMs !== undefined;
  return {
    blocksPerSecond: middle((one) => one.blocksPerSecond, 1),
    floor: middle((one) => one.floor, 1),
    ratio: middle((one) => one.blocksPerSecond / one.floor, 4),
    cpuMs: middle((one) => one.cpuMs, 3),
    databaseCpuMs: hasDatabase ? middle(({ databaseCpuMs = 0 }) => databaseCpuMs, 3) : undefined,
    paceToFewest: middle((one, fewest) => one.blocksPerSecond / fewest.blocksPerSecond, 4),
    cpuToFewest: middle((one, fewest) => cpuOf(one) / cpuOf(fewest), 4),
  };
}

/** What has to be done after a million rows were added is done now, and not with the first blocks that are measured. */
async function tidyUp(url: string): Promise<void> {
  const file = sqliteFileOf(url);
  if (file === undefined) return vacuum(url);
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
  let sent: unknown;
  for (let block = 0; block < BLOCKS; block++) {
    const [from, to] = [senders[block % senders.length], block % 4 === 0 ? ours : newAddress()];
    sent = await call("eth_sendTransaction", { from, to, value: "0x1", gas: "0x5208" });
  }
  // To wait for each would take a busy machine longer than the watcher looks away.
  await receipt(sent);
  return { first, last: await newest(call) };
}

const newest = async (call: EvmNode["call"]): Promise<number> => Number(await call("eth_blockNumber"));

/** From the first blocks that are seen to have been followed to the last; undefined where too few are left by then. */
async function paceOfWatcher(
  { server, database }: Watcher,
  last: number,
): Promise<Omit<Followed, "floor"> | undefined> {
  const head = () => headOf(database.read);
  const before = await head();
  let from = before;
  await until(async () => {
    from = await head();
    return from > before;
  }, "the watcher to look");
  const blocks = last - from;
  const began = usageOf(server);
  await until(async () => (await head()) >= last, `the watcher to come to block ${last}`);
  if (blocks < FEWEST_BLOCKS) return undefined;
  const ended = usageOf(server);
  const cpuMs = (after: number, earlier: number) => ((after - earlier) * 1000) / blocks;
  return {
    blocksPerSecond: (blocks * 1000) / (ended.at - began.at),
    cpuMs: cpuMs(ended.server, began.server),
    databaseCpuMs:
      ended.database === undefined || began.database === undefined ? undefined : cpuMs(ended.database, began.database),
  };
}

const headOf = async (read: Reader): Promise<number> => (await findFollowed(read, EARN_CHAIN))?.head.number ?? 0;

/** CPU seconds until now, and when that was, in milliseconds. */
const usageOf = ({ pid, databasePid }: Started) => ({
  at: performance.now(),
  server: cpuSeconds(pid),
  database: databasePid === undefined ? undefined : cpuSeconds(databasePid),
});

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
  if (scenario === "watcher") {
    const { addresses, blocksPerSecond, cpuMs, databaseCpuMs, paceToFewest, cpuToFewest } = result;
    const cpu = `CPU ${cpuMs} ms${databaseCpuMs === undefined ? "" : ` and ${databaseCpuMs} ms of the database`} a block`;
    const toFewest = `to the fewest addresses ${paceToFewest} blocks/s, ${cpuToFewest} CPU`;
    return `${engine} watcher, ${addresses} addresses: ${blocksPerSecond} blocks/s, ${compared}; ${cpu}; ${toFewest}`;
  }
  return `${engine} ${scenario} ${result.perSecond}/s, ${compared}; p50 ${result.p50Ms} ms, p99 ${result.p99Ms} ms`;
}
