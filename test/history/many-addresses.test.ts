import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import type { SeenBlock } from "../../src/capabilities/history/entries.ts";
import { entriesIn } from "../../src/capabilities/history/follow.ts";
import { positionOf } from "../../src/capabilities/history/position.ts";
import { findEntries, findPlaces, type HistoryOf } from "../../src/capabilities/history/store.ts";
import { isAnythingDue } from "../../src/capabilities/history/telling.ts";
import { hasAccountsOf, ownersOfAddresses } from "../../src/capabilities/wallets/store.ts";
import { createAssetBook } from "../../src/chains/evm/assets.ts";
import type { Transactor } from "../../src/storage/engine.ts";
import { newWalletAddress } from "../support/history.ts";
import { addAddresses, addHistory } from "../support/many-addresses.ts";
import { analyze, openPlanReader, type PlanReader } from "../support/query-plans.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { createWorld } from "../support/world.ts";

/** What the watcher asks for each block, and a page of a history, cost the same however many addresses there are. */

const ADDRESSES = 100_000;
const FEW_ADDRESSES = 10;
const ENTRIES = 50_000;
const CAIP2 = "eip155:1";
/** As many as a large block names. */
const IN_BLOCK = 1000;
const PAGE = 100;

const randomAddress = () => `0x${randomBytes(20).toString("hex")}`;

function blockPaying(address: string, payments: number): SeenBlock {
  const transactions = Array.from({ length: payments }, (_, index) => {
    const [from, to] = [randomAddress(), index === 0 ? address : randomAddress()];
    return {
      ...{ index, hash: `0x${randomBytes(32).toString("hex")}`, from, to, fee: 1n, feeToken: null, failed: false },
      transfers: [{ token: null, from, to, amount: 1n }],
    };
  });
  return { number: 1, hash: "0xb1", timestamp: 1, transactions };
}

for (const engine of engines) {
  describe(`a hundred thousand watched addresses (${engine})`, () => {
    let server: TestServer;
    let plans: PlanReader | undefined;
    let of: HistoryOf;
    let inBlock: string[];
    let withFew: string[];
    const middle = positionOf(ENTRIES / 2, 0);

    before(async () => {
      server = await startTestServer(engine);
      const { root, organizationId } = await createWorld(server);
      const walletId = (await root.client.result("create_wallet", { walletName: "Full", accounts: [] })).walletId;
      const address = (await newWalletAddress(root.client)).toLowerCase();
      of = { organizationId, caip2: CAIP2, address };
      await addAddresses(server.databaseUrl, { organizationId, walletId }, FEW_ADDRESSES, 1);
      withFew = await statementsFor(of, IN_BLOCK);
      await addAddresses(server.databaseUrl, { organizationId, walletId }, ADDRESSES);
      await addHistory(server.databaseUrl, of, ENTRIES);
      await addHistory(server.databaseUrl, { organizationId, caip2: CAIP2 }, ENTRIES);
      const strangers = Array.from({ length: IN_BLOCK - 1 }, randomAddress);
      inBlock = [...strangers, address];
      // A minute after tables grew PostgreSQL takes the statistics itself.
      if (engine === "postgres") await analyze(server.databaseUrl);
      plans = await openPlanReader(server.databaseUrl);
    });
    after(async () => {
      await plans?.close();
      await server.close();
    });

    /** What the watcher asks for a block with this many payments, one of them to the address. */
    const statementsFor = async ({ address, organizationId }: HistoryOf, payments: number): Promise<string[]> => {
      const reader = await openPlanReader(server.databaseUrl);
      try {
        const asked = await reader.plansOf(async (tx) => {
          const found = await entriesIn(
            { read: tx, assets: createAssetBook({}, {}) },
            CAIP2,
            blockPaying(address, payments),
          );
          assert.deepEqual(
            found.map((entry) => [entry.address, entry.organizationId]),
            [[address, organizationId]],
          );
        });
        return asked.map(({ sql }) => sql);
      } finally {
        await reader.close();
      }
    };

    it("are looked for in a block by the one statement that ten are looked for by", async () => {
      assert.equal(withFew.length, 1);
      assert.deepEqual(await statementsFor(of, IN_BLOCK), withFew);
      assert.deepEqual(await statementsFor(of, 1), withFew);
    });

    const page = (places: { before?: number; after?: number }) => async (tx: Transactor) => {
      const found = await findPlaces(tx, of, { limit: PAGE }, { before: undefined, after: undefined, ...places });
      assert.equal(found.places.length, PAGE);
      return found.places;
    };

    const reads: Record<string, { work: (tx: Transactor) => Promise<unknown>; steps: RegExp; mostRows: number }> = {
      "whose the addresses of a block are": {
        work: async (tx) => {
          const owners = await ownersOfAddresses(tx, "ADDRESS_FORMAT_ETHEREUM", inBlock);
          assert.deepEqual([...owners], [[of.address, [of.organizationId]]]);
        },
        steps: /\nSEARCH wallet_accounts USING INDEX \S+ \(lookup=\?\)\n/,
        mostRows: IN_BLOCK,
      },
      "whether there is any address": {
        work: async (tx) => assert.equal(await hasAccountsOf(tx, "ADDRESS_FORMAT_ETHEREUM"), true),
        steps: /^SEARCH wallet_accounts USING INDEX \S+ \(lookup>\? AND lookup<\?\)$/,
        mostRows: 1,
      },
      "whether there is an address of another chain": {
        work: async (tx) => assert.equal(await hasAccountsOf(tx, "ADDRESS_FORMAT_SOLANA"), false),
        steps: /^SEARCH wallet_accounts USING INDEX wallet_accounts_solana_index \(address_format=\?\)$/,
        mostRows: 1,
      },
      "whether anything is to be told": {
        work: async (tx) => assert.equal(await isAnythingDue(tx, { caip2: CAIP2, finalizedNumber: ENTRIES }), false),
        steps: /^(SEARCH eth_history USING (COVERING )?INDEX \S+ \(caip2=\? AND told=\? AND position<\?\)\n?)+$/,
        mostRows: 1,
      },
      "which is the newest page of a history": {
        work: page({}),
        steps:
          /^(SEARCH eth_history USING INDEX \S+ \(organization_id=\? AND caip2=\? AND address=\? AND position<\?\)\n?)+$/,
        mostRows: PAGE + 1,
      },
      "which is an older page": {
        work: page({ after: middle }),
        steps:
          /^(SEARCH eth_history USING (COVERING )?INDEX \S+ \(organization_id=\? AND caip2=\? AND address=\? AND position[<>]\?\)\n?)+$/,
        mostRows: PAGE + 1,
      },
      "which is a newer page": {
        work: page({ before: middle }),
        steps:
          /^(SEARCH eth_history USING (COVERING )?INDEX \S+ \(organization_id=\? AND caip2=\? AND address=\? AND position[<>]\?\)\n?)+$/,
        mostRows: PAGE + 1,
      },
      "what stands on a page": {
        work: async (tx) => {
          const positions = Array.from({ length: PAGE }, (_, index) => middle + positionOf(index, 0));
          const found = await findEntries(
            tx,
            of,
            positions.map((position) => ({ position, bytes: 0 })),
          );
          assert.equal(found.length, PAGE);
        },
        steps: /^SEARCH eth_history USING INDEX \S+ \(organization_id=\? AND caip2=\? AND address=\? AND position=\?\)/,
        mostRows: PAGE,
      },
    };
    for (const [name, { work, steps, mostRows }] of Object.entries(reads)) {
      it(`are no burden where it is asked ${name}`, async () => {
        const made = await (plans as PlanReader).plansOf(work);
        assert.ok(made.length > 0);
        const all = made.flatMap((plan) => plan.steps).join("\n");
        if (engine === "sqlite") assert.match(all, steps);
        else for (const plan of made) assert.ok((plan.mostRows as number) <= mostRows, JSON.stringify(plan));
      });
    }
  });
}
