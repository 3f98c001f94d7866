import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { startRpcNode } from "../../test/support/rpc-node.ts";
import { TEST_GENESIS } from "../../test/support/solana-rpc.ts";
import { until } from "../../test/support/until.ts";
import type { Readiness } from "../http/pages.ts";
import { LENT_LAMPORTS, MAX_SPONSORED_FEE_LAMPORTS, SPONSOR_LOOK_MS } from "../kernel/limits.ts";
import { createLogger } from "../kernel/log.ts";
import { createNodeClient } from "../nodes/node-client.ts";
import { createNodes } from "../nodes/pool.ts";
import { withSponsors } from "./sponsor-funds.ts";

const CLUSTER = "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1";
const READY: Readiness = { status: "ready", database: "ready", signer: "ready", organization: "ready" };
const ADDRESS = "4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM";

describe("a sponsor on Solana is warned of before its sends fail", () => {
  const outbound = createNodeClient();
  after(() => outbound.close());
  const cases = [
    ["where it pays fees: twice the most of one", false, 2n * MAX_SPONSORED_FEE_LAMPORTS],
    ["where it pays rent: what eleven signers are lent at once", true, 12n * LENT_LAMPORTS],
  ] as const;
  for (const [name, paysRent, least] of cases) {
    it(name, async () => {
      const node = await startRpcNode();
      node.when("getGenesisHash", { result: TEST_GENESIS });
      const chains = { [CLUSTER]: { rpcUrls: [node.url], pollMs: 60_000 } };
      let now = 0;
      const readiness = withSponsors(async () => READY, {
        chains: [CLUSTER],
        nodes: createNodes({ chains, outbound, log: createLogger("silent") }),
        addresses: async () => ({ solana: ADDRESS }),
        rentPaid: { on: () => paysRent },
        clock: () => now,
      });
      const has = (lamports: bigint) => {
        node.when("getBalance", { result: { context: { slot: 1 }, value: Number(lamports) } });
        now += SPONSOR_LOOK_MS;
      };
      has(least - 1n);
      await until(async () => (await readiness()).warnings !== undefined, "the warning");
      const warning = `the sponsor ${ADDRESS} has ${least - 1n} lamports: send it more, or sponsored transactions fail`;
      assert.deepEqual(await readiness(), { ...READY, warnings: { [CLUSTER]: warning } });
      has(least);
      await until(async () => (await readiness()).warnings === undefined, "the warning to go");
      await node.close();
    });
  }
});
