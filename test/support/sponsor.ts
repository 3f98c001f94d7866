import assert from "node:assert/strict";
import {
  planSponsored,
  type SponsoredCall,
  SponsoredPlan,
  sponsorSend,
} from "../../src/capabilities/sponsoring/store.ts";
import { createAssetBook } from "../../src/chains/evm/assets.ts";
import { type EvmChain, evmChains } from "../../src/chains/evm/networks.ts";
import { matches } from "../../src/engine/validate.ts";
import { newId } from "../../src/kernel/ids.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { createNodeClient } from "../../src/nodes/node-client.ts";
import { createNodes, type EvmNodes } from "../../src/nodes/pool.ts";
import type { Database } from "../../src/storage/database.ts";
import type { EvmNode } from "./anvil.ts";
import { TEST_CHAIN } from "./chain.ts";
import type { Client, Json } from "./client.ts";
import { giveEther } from "./evm-sender.ts";

/** The sponsor's addresses, as the server publishes them. */
export const sponsorsOf = async (baseUrl: string): Promise<{ eip155: string; solana: string }> =>
  ((await (await fetch(`${baseUrl}/.well-known/keystead.json`)).json()) as Json).sponsors;

/** The sponsor's address on Ethereum chains, with 1000 ether; lowercase. */
export async function richSponsor(baseUrl: string, node: EvmNode): Promise<string> {
  const { eip155 } = await sponsorsOf(baseUrl);
  await giveEther(node, eip155);
  return eip155.toLowerCase();
}

/** What sponsoring has cost the client's organization by now, in millionths of a US dollar. */
export async function usedMicros(client: Client): Promise<bigint> {
  const [whole = "", rest = ""] = (await client.read("get_gas_usage")).usageUsd.split(".");
  return BigInt(whole + rest.padEnd(6, "0"));
}

/** The id by which a transaction is asked about, from the answer to its eth_send_transaction. */
export function sendIdOf({ status, body }: { status: number; body: Json }): string {
  assert.equal(status, 200, JSON.stringify(body));
  return body.activity.result.ethSendTransactionResultV2.sendTransactionStatusId;
}

/** A pool of nodes of the test's own. */
export function nodesFor(url: string, chain: string = TEST_CHAIN): { evm: EvmNodes; close(): Promise<void> } {
  const outbound = createNodeClient();
  const log = createLogger("silent");
  const chains = { [chain as EvmChain]: { rpcUrls: [url], pollMs: 60_000 } };
  return { evm: createNodes({ chains, outbound, log }), close: () => outbound.close() };
}

/** Has a transaction sent by the sponsor, for an activity of the client's organization, as an operation does; resolves to its id. */
export async function sponsored(
  { database, evm }: { database: Database; evm: EvmNodes },
  client: Client,
  call: Omit<SponsoredCall, "chain">,
): Promise<string> {
  const { activity } = (await client.submit("create_user_tag", { userTagName: newId(), userIds: [] })).body;
  const { organizationId, id: activityId } = activity;
  const chain = evmChains.find((each) => each === TEST_CHAIN) as EvmChain;
  const assets = createAssetBook({}, {});
  const plan = await planSponsored({ evm, assets, read: database.read, organizationId }, { chain, ...call });
  assert.ok(matches(SponsoredPlan, plan), "as plans of activities are");
  const id = newId();
  const organization = { id: organizationId, parentId: null };
  const send = { organization, id, activityId, purpose: "test", plan, now: Date.now() };
  await database.transact(organizationId, (tx) => sponsorSend(tx, send));
  return id;
}
