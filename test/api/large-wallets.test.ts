import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { lookUpSigningKey } from "../../src/capabilities/signing/store.ts";
import { findSubOrganizationIds } from "../../src/capabilities/sub-organizations/store.ts";
import {
  addAccounts,
  findAccounts,
  findAccountsAt,
  findAccountsBeginning,
  findAccountsNamed,
  type NewWalletAccount,
} from "../../src/capabilities/wallets/store.ts";
import { newId } from "../../src/kernel/ids.ts";
import type { Transactor } from "../../src/storage/engine.ts";
import type { Client, Json } from "../support/client.ts";
import { areLong } from "../support/long-tests.ts";
import { analyze, openPlanReader, type PlanReader } from "../support/query-plans.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

/** KEYSTEAD_LONG_TESTS=1 fills the wallet with as many accounts as are promised to be no burden. */
const COUNT = areLong ? 100_000 : 5000;
const BATCH = 500;
const PAGE = 100;
/**
 * No statement reads more rows than this. PostgreSQL may go through a whole organization in the order of ids where it knows
 * nearly all to be of the one wallet, and then passes over the accounts of the smaller ones.
 */
const MOST_ROWS = PAGE + 2 * BATCH;

const raw = { payload: "ab".repeat(32), encoding: "PAYLOAD_ENCODING_HEXADECIMAL", hashFunction: "HASH_FUNCTION_NO_OP" };
const params = (index: number) => ({
  curve: "CURVE_SECP256K1" as const,
  pathFormat: "PATH_FORMAT_BIP32" as const,
  path: `m/44'/60'/0'/0/${index}`,
  addressFormat: "ADDRESS_FORMAT_ETHEREUM" as const,
});

/** An account of no key: what is stored and looked up is the same, and it takes no derivation. */
const filler = (path: string, number: number): NewWalletAccount => ({
  id: newId(),
  curve: "CURVE_SECP256K1",
  path,
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
  address: `0x${number.toString(16).padStart(40, "0")}`,
  publicKey: `02${number.toString(16).padStart(64, "0")}`,
  name: `Filler ${number}`,
});

for (const engine of engines) {
  describe(`a wallet with many accounts (${engine})`, () => {
    let server: TestServer;
    let root: Client;
    let walletId: string;
    let paths: string[];
    /** Derived by the signer: the first and the last of the wallet. */
    let first: Json;
    let last: Json;
    let plans: PlanReader;

    async function fill(client: Client, wallet: string, branch: number, count: number) {
      const { database } = server.opened;
      const added: string[] = [];
      for (let start = 0; start < count; start += BATCH) {
        const numbers = Array.from({ length: BATCH }, (_, index) => branch * 2 ** 24 + start + index);
        const accounts = numbers.map((number, index) => filler(`m/44'/60'/${branch}'/0/${start + index}`, number));
        added.push(...accounts.map(({ path }) => path));
        await database.transact(client.organizationId, (tx) =>
          addAccounts(tx, client.organizationId, wallet, accounts, Date.now()),
        );
      }
      return added;
    }
    const newWallet = async (client: Client, accounts: Json[]) =>
      (await client.result("create_wallet", { walletName: "Wallet", accounts })).walletId as string;
    const accountAt = async (path: string) => (await root.read("get_wallet_account", { walletId, path })).account;

    before(async () => {
      server = await startTestServer(engine);
      root = (await createWorld(server)).root.client;
      const subs = [await addSubOrganization(root), await addSubOrganization(root)];
      await fill(root, await newWallet(root, []), 1, BATCH);
      walletId = await newWallet(root, [params(0)]);
      const filled = await fill(root, walletId, 2, COUNT);
      await root.result("create_wallet_accounts", { walletId, accounts: [params(1)] });
      await fill(root, await newWallet(root, []), 3, BATCH);
      for (const { client } of subs) await fill(client, await newWallet(client, []), 2, BATCH);
      paths = [params(0).path, ...filled, params(1).path];
      first = await accountAt(params(0).path);
      last = await accountAt(params(1).path);
      plans = await openPlanReader(server.databaseUrl);
    });
    after(async () => {
      await plans.close();
      await server.close();
    });

    it("lists each account once, in the order in which they were made", async () => {
      const seen: string[] = [];
      for (let after = ""; ; ) {
        const page = { walletId, paginationOptions: { limit: String(PAGE), after } };
        const { accounts } = await root.read("list_wallet_accounts", page);
        seen.push(...accounts.map(({ path }: Json) => path));
        if (accounts.length < PAGE) break;
        after = accounts.at(-1).walletAccountId;
      }
      assert.deepEqual(seen, paths);
    });

    it("finds, signs with and grows by accounts wherever they stand", async () => {
      for (const { address, path } of [first, last]) {
        assert.equal((await root.read("get_wallet_account", { walletId, address })).account.path, path);
        assert.match((await root.result("sign_raw_payload", { signWith: address, ...raw })).r, /^[0-9a-f]{64}$/);
      }
      const accounts = Array.from({ length: PAGE }, (_, index) => params(2 + index));
      const { addresses } = await root.result("create_wallet_accounts", { walletId, accounts });
      assert.equal(new Set(addresses).size, PAGE);
      const again = await root.submit("create_wallet_accounts", { walletId, accounts: [params(500), params(1)] });
      assert.equal(again.status, 409);
      assert.match(again.body.message, new RegExp(`${last.walletAccountId}.*: m/44'/60'/0'/0/1`));
      assert.equal((await root.query("get_wallet_account", { walletId, path: params(500).path })).status, 404);
    });

    const statements: Record<
      string,
      { work: (tx: Transactor, organizationId: string) => Promise<unknown>; steps: RegExp }
    > = {
      "the first page of a wallet": {
        work: (tx, id) => findAccounts(tx, id, { walletId }, { limit: PAGE }),
        steps: /\(organization_id=\? AND wallet_id=\? AND id>\?\)$/,
      },
      "the page after an account": {
        work: (tx, id) => findAccounts(tx, id, { walletId }, { limit: PAGE, after: first.walletAccountId }),
        steps: /\(organization_id=\? AND wallet_id=\? AND id>\?\)$/,
      },
      "the page before an account": {
        work: (tx, id) => findAccounts(tx, id, { walletId }, { limit: PAGE, before: last.walletAccountId }),
        steps: /\(organization_id=\? AND wallet_id=\? AND id<\?\)$/,
      },
      "the first page of all wallets": {
        work: (tx, id) => findAccounts(tx, id, {}, { limit: PAGE }),
        steps: /\(organization_id=\? AND id>\?\)$/,
      },
      "a later page of all wallets": {
        work: (tx, id) => findAccounts(tx, id, {}, { limit: PAGE, after: first.walletAccountId }),
        steps: /\(organization_id=\? AND id>\?\)$/,
      },
      "the accounts of all wallets at an address": {
        work: (tx, id) => findAccounts(tx, id, { address: last.address }, { limit: PAGE }),
        steps: /\(organization_id=\? AND lookup=\?\)\n/,
      },
      "a later page of those": {
        work: (tx, id) =>
          findAccounts(tx, id, { address: last.address }, { limit: PAGE, after: first.walletAccountId }),
        steps: /\(organization_id=\? AND lookup=\?\)\n/,
      },
      "the accounts of a wallet at an address": {
        work: (tx, id) => findAccounts(tx, id, { walletId, address: last.address }, { limit: PAGE }),
        steps: /\(lookup=\? AND organization_id=\? AND wallet_id=\?\)\n/,
      },
      "the accounts of a wallet at a path": {
        work: (tx, id) => findAccounts(tx, id, { walletId, path: last.path }, { limit: PAGE }),
        steps: /\(organization_id=\? AND wallet_id=\? AND path=\?\)\n/,
      },
      "the accounts of all wallets whose address begins so": {
        work: (tx, id) => findAccountsBeginning(tx, id, "0x", PAGE),
        steps: /^SEARCH wallet_accounts USING INDEX \S+ \(organization_id=\? AND lookup>\? AND lookup<\?\)$/,
      },
      "the accounts of all wallets whose name begins so": {
        work: (tx, id) => findAccountsNamed(tx, id, "Filler", PAGE),
        steps: /^SEARCH wallet_accounts USING INDEX \S+ \(organization_id=\? AND <expr>>\? AND <expr><\?\)$/,
      },
      "the account with an id": {
        work: (tx, id) => findAccounts(tx, id, { accountId: last.walletAccountId }, { limit: PAGE }),
        steps: /\(organization_id=\? AND id=\?\)$/,
      },
      "the account at an address": {
        work: (tx, id) => findAccountsAt(tx, id, { walletId, address: last.address }),
        steps: /\(lookup=\? AND organization_id=\? AND wallet_id=\?\)$/,
      },
      "the account at a path": {
        work: (tx, id) => findAccountsAt(tx, id, { walletId, path: last.path }),
        steps: /\(organization_id=\? AND wallet_id=\? AND path=\?\)$/,
      },
      "the key that an address names": {
        work: (tx, id) => lookUpSigningKey(tx, id, last.address),
        steps:
          /^SEARCH a USING INDEX \S+ \(organization_id=\? AND lookup=\?\)\nSEARCH w USING INDEX \S+ \(organization_id=\? AND id=\?\)$/,
      },
      "the key that no address names": {
        work: (tx, id) => lookUpSigningKey(tx, id, `0x${"ef".repeat(20)}`),
        steps:
          /^SEARCH a .* \(organization_id=\? AND lookup=\?\)\nSEARCH w .*\nSEARCH a .* \(organization_id=\? AND lookup=\?\)\nSEARCH k .*$/,
      },
      "accounts that are there already": {
        work: (tx, id) =>
          assert.rejects(addAccounts(tx, id, walletId, [filler(last.path, 1)], 1), { code: "WALLET_PATH_TAKEN" }),
        steps: /\(organization_id=\? AND wallet_id=\? AND path=\?\)$/,
      },
      "the sub-organizations with an address": {
        work: (tx, id) =>
          findSubOrganizationIds(
            tx,
            id,
            { type: "WALLET_ACCOUNT_ADDRESS", value: filler("m", 2 ** 25).address },
            { limit: PAGE },
          ),
        steps:
          /^SEARCH organizations .*\(parent_id=\? AND id=\?\)\nLIST SUBQUERY \d+\nSEARCH wallet_accounts USING COVERING INDEX \S+ \(lookup=\?\)$/,
      },
    };

    it("is read by indexes that lead straight to what is asked for", async () => {
      // A minute after tables grew PostgreSQL takes the statistics itself.
      if (engine === "postgres") await analyze(server.databaseUrl);
      for (const [name, { work, steps }] of Object.entries(statements)) {
        const made = await plans.plansOf((tx) => work(tx, root.organizationId));
        assert.ok(made.length > 0, name);
        if (engine === "sqlite") assert.match(made.flatMap((plan) => plan.steps).join("\n"), steps, name);
        else
          for (const plan of made)
            assert.ok((plan.mostRows as number) <= MOST_ROWS, `${name}: ${JSON.stringify(plan)}`);
      }
    });
  });
}
