import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Address, getContractAddress } from "viem";
import { EARN_CHAIN_ID, type EvmNode, nodeAt, TEST_CHAIN_ID } from "./anvil.ts";
import type { Client, Json } from "./client.ts";
import { type SolanaRpc, solanaNodeAt, TEST_CLUSTER } from "./solana-rpc.ts";
import { until } from "./until.ts";

/** The chain that every test server reaches: that of the node which `npm test` started. */
export const TEST_CHAIN = `eip155:${TEST_CHAIN_ID}` as const;

/** The one that vaults to earn in are on. */
export const EARN_CHAIN = `eip155:${EARN_CHAIN_ID}` as const;

/** Whoever deploys the asset and the vault of all tests there, in this order. */
export const EARN_MAKER: Address = `0x${"ea".repeat(20)}`;
export const EARN_ASSET = getContractAddress({ from: EARN_MAKER, nonce: 0n });
export const EARN_VAULT = getContractAddress({ from: EARN_MAKER, nonce: 1n });

/** Nodes by chain, as the configuration file has them. */
export type Chains = Record<
  string,
  {
    rpcUrls: string[];
    pollMs?: number;
    assets?: object[];
    sponsorRent?: boolean;
    txFeeCap?: string;
    sponsoredTxFeeCap?: string;
  }
>;

/** The node of all tests; what each makes on it must not matter to the others. */
export function testNode(): EvmNode {
  const url = process.env.KEYSTEAD_TEST_NODE_URL;
  assert.ok(url, "run tests through `npm test -- <files>`, which starts a node for them");
  return nodeAt(url);
}

/** The same on a chain that vaults to earn in can be on. */
export function testEarnNode(): EvmNode {
  const url = process.env.KEYSTEAD_TEST_EARN_NODE_URL;
  assert.ok(url, "run tests through `npm test -- <files>`, which starts a node for them");
  return nodeAt(url);
}

/** The same of the Solana cluster. */
export function testSolana(): SolanaRpc {
  const url = process.env.KEYSTEAD_TEST_SOLANA_URL;
  assert.ok(url, "run tests through `npm test -- <files>`, which starts a node for them");
  return solanaNodeAt(url);
}

/** What a test server reaches unless its test says otherwise; nothing where a test file runs by itself. */
export const chainsOfTests = (): Chains =>
  process.env.KEYSTEAD_TEST_NODE_URL
    ? {
        [TEST_CHAIN]: { rpcUrls: [testNode().url] },
        [EARN_CHAIN]: { rpcUrls: [testEarnNode().url] },
        [TEST_CLUSTER]: { rpcUrls: [testSolana().url] },
      }
    : {};

/** The vault of all tests, and no fee of the service but the usual one. */
export const earnOfTests = (): object => ({ vaults: [earnEntry(EARN_VAULT)] });

/** A vault as the configuration file names it. */
export const earnEntry = (vaultAddress: string, more: object = {}): object => ({
  vaultAddress,
  chainCaip2: EARN_CHAIN,
  provider: "EARN_PROVIDER_MORPHO",
  name: "Test Vault",
  curator: "Tests",
  ...more,
});

/** Writes a configuration file that names these nodes, with more settings; resolves to its path. */
export function writeChains(folder: string, chains: Chains, more: object = {}): string {
  const file = join(folder, "chains.json");
  writeFileSync(file, JSON.stringify({ chains, ...more }));
  return file;
}

/** The wei that came in at an address. */
export const balanceOf = async ({ call }: EvmNode, address: string): Promise<bigint> =>
  BigInt((await call("eth_getBalance", address, "latest")) as string);

/** The activity once it has ended, one way or the other. */
export async function ended(client: Client, activityId: string): Promise<Json> {
  let activity: Json;
  await until(async () => {
    ({ activity } = await client.read("get_activity", { activityId }));
    return activity.status !== "ACTIVITY_STATUS_PENDING";
  }, `activity ${activityId} to end`);
  return activity;
}
