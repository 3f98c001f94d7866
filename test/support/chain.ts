import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type EvmNode, nodeAt, TEST_CHAIN_ID } from "./anvil.ts";
import type { Client, Json } from "./client.ts";
import { until } from "./until.ts";

/** The chain that every test server reaches: that of the node which `npm test` started. */
export const TEST_CHAIN = `eip155:${TEST_CHAIN_ID}` as const;

/** Nodes by chain, as the configuration file has them. */
export type Chains = Record<string, { rpcUrls: string[]; pollMs?: number }>;

/** The node of all tests; what each makes on it must not matter to the others. */
export function testNode(): EvmNode {
  const url = process.env.KEYSTEAD_TEST_NODE_URL;
  assert.ok(url, "run tests through `npm test -- <files>`, which starts a node for them");
  return nodeAt(url);
}

/** What a test server reaches unless its test says otherwise; nothing where a test file runs by itself. */
export const chainsOfTests = (): Chains =>
  process.env.KEYSTEAD_TEST_NODE_URL ? { [TEST_CHAIN]: { rpcUrls: [testNode().url] } } : {};

/** Writes a configuration file that names these nodes; resolves to its path. */
export function writeChains(folder: string, chains: Chains): string {
  const file = join(folder, "chains.json");
  writeFileSync(file, JSON.stringify({ chains }));
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
