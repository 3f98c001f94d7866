import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { serializeTransaction } from "viem";
import { type Anvil, startAnvil } from "../support/anvil.ts";
import type { Client, Json } from "../support/client.ts";
import { deployForwarder, deployToken, forwardTo, tokenTransfer } from "../support/contracts.ts";
import { countingSender, historiesOn, newWalletAddress, type Page, watching } from "../support/history.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { runKeystead } from "../support/server-process.ts";
import { addSubOrganization } from "../support/webhooks.ts";
import { createWorld } from "../support/world.ts";

const CHAIN_ID = 84_532;
const CHAIN = "eip155:84532";
const NATIVE = `${CHAIN}/slip44:60`;
const PATH = "list_eth_transaction_history";
const { page, once } = historiesOn(CHAIN);

for (const engine of engines) {
  describe(`${PATH} (${engine})`, () => {
    let node: Anvil;
    let server: TestServer;
    let root: Client;
    let sender: Awaited<ReturnType<typeof countingSender>>;
    let known: string;
    let unknown: string;
    let forwarder: string;

    before(async () => {
      node = await startAnvil({ chainId: CHAIN_ID });
      sender = await countingSender(node, CHAIN_ID);
      known = await deployToken(node, sender);
      unknown = await deployToken(node, sender);
      forwarder = await deployForwarder(node, sender);
      const assets = [{ address: known, symbol: "TST", name: "Test token", decimals: 6 }];
      server = await startTestServer(engine, {
        chains: { [CHAIN]: { rpcUrls: [node.url], pollMs: 100, assets } },
        prices: { [NATIVE]: "2000.00", [`${CHAIN}/erc20:${known}`]: "1" },
      });
      ({ root } = server);
      await watching(server);
    });
    after(async () => {
      await server.close();
      await node.stop();
    });

    const blockOf = async (hash: string): Promise<Json> => {
      const { blockNumber } = (await node.call("eth_getTransactionReceipt", hash)) as Json;
      return node.call("eth_getBlockByNumber", blockNumber, false);
    };
    const feeOf = async (hash: string): Promise<string> => {
      const { gasUsed, effectiveGasPrice } = (await node.call("eth_getTransactionReceipt", hash)) as Json;
      return String(BigInt(gasUsed) * BigInt(effectiveGasPrice));
    };
    const ether = { caip19: NATIVE, symbol: "ETH", name: "Ether", decimals: 18 };
    const token = () => ({ caip19: `${CHAIN}/erc20:${known}`, symbol: "TST", name: "Test token", decimals: 6 });

    it("shows a native transfer as the node has it", async () => {
      const to = await newWalletAddress(root);
      const hash = await sender.send({ to, value: 15n * 10n ** 17n });
      const [item, ...others] = await once(root, to, ({ length }) => length === 1);
      const block = await blockOf(hash);
      assert.deepEqual(others, []);
      assert.deepEqual(item, {
        transactionHash: hash,
        block: {
          number: String(Number(block.number)),
          hash: block.hash,
          timestamp: new Date(Number(block.timestamp) * 1000).toISOString(),
        },
        status: "CONFIRMED",
        origin: "EXTERNAL",
        from: sender.address,
        to,
        fee: { amount: await feeOf(hash), caip19: NATIVE },
        executionFailed: false,
        transfers: [
          {
            direction: "IN",
            asset: ether,
            amount: "1500000000000000000",
            counterparty: sender.address,
            display: { crypto: "1.5", usd: "3000.00" },
          },
        ],
      });
    });

    it("shows tokens, those that are not known without an asset", async () => {
      const to = await newWalletAddress(root);
      const hash = await sender.send({ to: known, value: 0n, data: tokenTransfer(to, 1_234_500n) });
      const other = await sender.send({ to: unknown, value: 0n, data: tokenTransfer(to, 7n) });
      const [newer, older] = await once(root, to, ({ length }) => length === 2);
      assert.equal(newer.transactionHash, other);
      const counterparty = sender.address;
      assert.deepEqual(newer.transfers, [{ direction: "IN", amount: "7", counterparty }]);
      assert.equal(newer.to, unknown);
      assert.equal(older.transactionHash, hash);
      assert.deepEqual(older.transfers, [
        {
          direction: "IN",
          asset: token(),
          amount: "1234500",
          counterparty,
          display: { crypto: "1.2345", usd: "1.23" },
        },
      ]);
    });

    it("shows what comes by a call inside a transaction, and not what a failed one undid", async () => {
      const to = await newWalletAddress(root);
      const hash = await sender.send({ to: forwarder, value: 42n, data: forwardTo(to) });
      await sender.send({ to: forwarder, value: 43n, data: forwardTo(to, { fails: true }) });
      const last = await sender.send({ to, value: 1n });
      const [newer, older, ...others] = await once(root, to, (found) => found[0]?.transactionHash === last);
      assert.deepEqual(others, []);
      assert.equal(newer.transactionHash, last);
      assert.equal(older.transactionHash, hash);
      assert.equal(older.to, forwarder);
      const transfer = { direction: "IN", asset: ether, amount: "42", counterparty: forwarder };
      assert.deepEqual(older.transfers, [{ ...transfer, display: { crypto: "0.000000000000000042", usd: "0.00" } }]);
    });

    it("knows its own sends, under both names, also failed ones and such that make a contract", async () => {
      const from = await newWalletAddress(root);
      await node.call("anvil_setBalance", from, `0x${(10n ** 20n).toString(16)}`);
      const to = await newWalletAddress(root);
      const send = async (nonce: number, more: object) => {
        const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n, gas: 500_000n };
        const unsigned = serializeTransaction({ type: "eip1559", chainId: CHAIN_ID, nonce, ...fees, ...more } as never);
        const type = "TRANSACTION_TYPE_ETHEREUM";
        const signed = await root.result("sign_transaction", { signWith: from, unsignedTransaction: unsigned, type });
        const parameters = { signedTransaction: signed.signedTransaction, caip2: CHAIN };
        const { body } = await root.submit("eth_send_raw_transaction", parameters);
        return body.activity as Json;
      };
      const activities = [
        await send(0, { to, value: 5n }),
        await send(1, { to: forwarder, value: 6n, data: forwardTo(to, { fails: true }) }),
        await send(2, { data: "0x6001600c60003960016000f300" }),
      ];
      const found = (await once(root, from, ({ length }) => length === 3)).toReversed();
      for (const [index, item] of found.entries()) {
        const { id, fingerprint } = activities[index] as Json;
        const { activity } = await root.read("get_activity", { activityId: id });
        assert.equal(activity.result.ethSendRawTransactionResult.transactionHash, item.transactionHash);
        assert.equal(item.origin, "TURNKEY");
        assert.equal(item.from, from);
        assert.deepEqual(item.service, {
          sponsored: false,
          activityFingerprint: fingerprint,
          submittedAt: activity.createdAt,
        });
        assert.deepEqual(item.turnkey, item.service);
        assert.deepEqual(item.fee, { amount: await feeOf(item.transactionHash), caip19: NATIVE });
      }
      const [plain, failed, creation] = found;
      assert.equal(plain.transfers[0].direction, "OUT");
      assert.equal(plain.transfers[0].counterparty, to);
      assert.deepEqual(failed.transfers, []);
      assert.deepEqual(
        found.map(({ executionFailed }) => executionFailed),
        [false, true, false],
      );
      assert.deepEqual(creation.transfers, []);
      assert.equal("to" in creation, false, "there is no receiver of what makes a contract");
      const [received] = await once(root, to, ({ length }) => length === 1);
      assert.equal(received.origin, "TURNKEY", "the organization sent it itself");
      assert.equal(received.transfers[0].direction, "IN");
    });

    it("of a transfer to oneself shows both directions", async () => {
      const { root: member } = await createWorld(server);
      const address = await newWalletAddress(member.client);
      await node.call("anvil_setBalance", address, `0x${(10n ** 20n).toString(16)}`);
      await node.call("anvil_impersonateAccount", address);
      await node.call("eth_sendTransaction", { from: address, to: address, value: "0x9" });
      const [item] = await once(member.client, address, ({ length }) => length === 1);
      const of = (direction: string) => item.transfers.find((one: Json) => one.direction === direction);
      assert.equal(item.transfers.length, 2);
      for (const direction of ["IN", "OUT"]) {
        assert.equal(of(direction).amount, "9");
        assert.equal(of(direction).counterparty, address);
      }
    });

    it("is final when enough blocks follow", async () => {
      const to = await newWalletAddress(root);
      await sender.send({ to });
      await once(root, to, ({ length }) => length === 1);
      await node.call("anvil_mine", "0x4");
      const marker = await newWalletAddress(root);
      await node.call("anvil_mine", "0x1");
      await sender.send({ to: marker });
      await once(root, marker, ({ length }) => length === 1);
      const [item] = (await page(root, to)).transactions;
      assert.equal(item.status, "FINALIZED");
      assert.equal((await page(root, marker)).transactions[0].status, "CONFIRMED");
    });

    describe("page by page", () => {
      let address: string;
      const hashes: string[] = [];
      before(async () => {
        address = await newWalletAddress(root);
        for (let value = 1n; value <= 7n; value++) hashes.unshift(await sender.send({ to: address, value }));
        await once(root, address, ({ length }) => length === 7);
      });
      const hashesOf = ({ transactions }: Page) => transactions.map(({ transactionHash }) => transactionHash);

      it("goes to older ones and back, while new blocks arrive", async () => {
        const first = await page(root, address, { limit: "3" });
        assert.deepEqual(hashesOf(first), hashes.slice(0, 3));
        assert.equal(first.pageInfo.hasNextPage, true);
        assert.equal(first.pageInfo.hasPreviousPage, false);
        const newest = await sender.send({ to: address, value: 8n });
        await once(root, address, ({ length }) => length === 8);
        const second = await page(root, address, { limit: "3", after: first.pageInfo.endCursor });
        assert.deepEqual(hashesOf(second), hashes.slice(3, 6));
        assert.deepEqual([second.pageInfo.hasNextPage, second.pageInfo.hasPreviousPage], [true, true]);
        const third = await page(root, address, { limit: "3", after: second.pageInfo.endCursor });
        assert.deepEqual(hashesOf(third), hashes.slice(6));
        assert.deepEqual([third.pageInfo.hasNextPage, third.pageInfo.hasPreviousPage], [false, true]);
        const back = await page(root, address, { limit: "3", before: third.pageInfo.startCursor });
        assert.deepEqual(hashesOf(back), hashes.slice(3, 6), "the nearest of the newer ones");
        assert.deepEqual([back.pageInfo.hasNextPage, back.pageInfo.hasPreviousPage], [true, true]);
        const news = await page(root, address, { before: first.pageInfo.startCursor });
        assert.deepEqual(hashesOf(news), [newest]);
        assert.deepEqual([news.pageInfo.hasNextPage, news.pageInfo.hasPreviousPage], [true, false]);
        const end = await page(root, address, { after: third.pageInfo.endCursor });
        assert.deepEqual(end.transactions, []);
        assert.deepEqual(end.pageInfo, { hasNextPage: false, hasPreviousPage: true });
        hashes.unshift(newest);
      });

      it("takes no cursor of another list, and none that it never gave", async () => {
        const { endCursor } = (await page(root, address, { limit: "1" })).pageInfo;
        const other = await newWalletAddress(root);
        const ask = (asked: string, paginationOptions: object, client = root) =>
          client.query(PATH, { address: asked, caip2: CHAIN, paginationOptions });
        for (const [asked, options, reason] of [
          [other, { after: endCursor }, /`paginationOptions.after` must be a cursor/],
          [address, { before: "AAAA" }, /`paginationOptions.before` must be a cursor/],
          [address, { before: "not base64url!" }, /`paginationOptions.before` must be a cursor/],
          [address, { after: endCursor, before: endCursor }, /must not have both/],
          [address, { limit: "101" }, /`paginationOptions.limit` must be a number from 1 to 100/],
        ] as const) {
          const { status, body } = await ask(asked, options);
          assert.equal(status, 400, JSON.stringify(body));
          assert.match(body.message, reason);
        }
        assert.equal((await ask(address.toLowerCase(), { after: endCursor })).status, 200, "in any spelling");
      });
    });

    it("is for addresses of wallet accounts of the organization, on chains with nodes", async () => {
      const address = await newWalletAddress(root);
      const { root: stranger } = await createWorld(server);
      const privateKeys = [
        {
          privateKeyName: "Key",
          curve: "CURVE_SECP256K1",
          addressFormats: ["ADDRESS_FORMAT_ETHEREUM"],
          privateKeyTags: [],
        },
      ];
      const made = await root.result("create_private_keys", { privateKeys });
      const ofKey = made.privateKeys[0].addresses[0].address;
      const ask = (client: Client, fields: object) => client.query(PATH, { address, caip2: CHAIN, ...fields });
      for (const [client, fields, status, reason] of [
        [root, { address: ofKey }, 400, /`address` is the address of a private key; only addresses of wallet accounts/],
        [stranger.client, {}, 404, /unable to find wallet account 0x/],
        [root, { address: `0x${"ab".repeat(20)}` }, 404, /unable to find wallet account/],
        [root, { address: "0x12" }, 400, /`address` must be an Ethereum address/],
        [root, { caip2: "eip155:1" }, 400, /this server has no nodes for eip155:1/],
        [root, { caip2: "eip155:10" }, 400, /`caip2`/],
      ] as const) {
        const answer = await ask(client, fields);
        assert.equal(answer.status, status, JSON.stringify(answer.body));
        assert.match(answer.body.message, reason);
      }
    });

    it("is read by a parent for its sub-organizations", async () => {
      const sub = await addSubOrganization(server);
      const address = await newWalletAddress(sub);
      await sender.send({ to: address });
      await once(sub, address, ({ length }) => length === 1);
      const parent = root.with({ organizationId: sub.organizationId });
      assert.equal((await page(parent, address)).transactions.length, 1);
    });

    it("is given by `keystead backfill` what is missing, of final blocks, and nothing twice", async () => {
      const address = await newWalletAddress(root);
      const hashes: string[] = [];
      for (let value = 1n; value <= 3n; value++) hashes.unshift(await sender.send({ to: address, value }));
      await once(root, address, ({ length }) => length === 3);
      await node.call("anvil_mine", "0x5");
      await once(root, address, (found) => found.every(({ status }) => status === "FINALIZED"));
      const before = await page(root, address);
      const [, middle] = before.transactions;
      await server.opened.database.transact(undefined, async (tx) => {
        await tx.deleteFrom("eth_history").where("transaction_hash", "=", middle.transactionHash).execute();
      });
      assert.equal((await page(root, address)).transactions.length, 2);
      const settings = {
        KEYSTEAD_DATA_DIR: server.dataDir,
        DATABASE_URL: server.databaseUrl,
        KEYSTEAD_CONFIG: join(server.dataDir, "chains.json"),
        KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
      };
      const done = await runKeystead(["backfill", CHAIN, "--from", "1"], settings);
      assert.equal(done.code, 0, done.stderr);
      const { from, to, transactions } = JSON.parse(done.stdout) as Json;
      assert.ok(from === 1 && to >= 3 && transactions >= 3, done.stdout);
      assert.deepEqual(await page(root, address), before);
      for (const [args, reason] of [
        [["eip155:1", "--from", "1"], /has no nodes for eip155:1; its chains: eip155:84532/],
        [[CHAIN, "--from", "999999"], /--from must not be after the last final block/],
        [[CHAIN, "--from", "x"], /--from must be a block number/],
      ] as const) {
        const refused = await runKeystead(["backfill", ...args], settings);
        assert.equal(refused.code, 1);
        assert.match(refused.stderr, reason);
      }
    });

    describe("get_wallet_address_balances", () => {
      it("tells what the chain says, of known assets, without nothings", async () => {
        const address = await newWalletAddress(root);
        const balances = async () =>
          (await root.read("get_wallet_address_balances", { address, caip2: CHAIN })).balances as Json[];
        assert.deepEqual(await balances(), []);
        await sender.send({ to: address, value: 25n * 10n ** 17n });
        await sender.send({ to: known, value: 0n, data: tokenTransfer(address, 3_000_001n) });
        await sender.send({ to: unknown, value: 0n, data: tokenTransfer(address, 3n) });
        const { caip19, ...rest } = token();
        assert.deepEqual(await balances(), [
          { ...ether, balance: "2500000000000000000", display: { crypto: "2.5", usd: "5000.00" } },
          { caip19, ...rest, balance: "3000001", display: { crypto: "3.000001", usd: "3.00" } },
        ]);
      });

      it("is for wallet accounts, and for chains with nodes", async () => {
        const address = await newWalletAddress(root);
        const ask = (fields: object) => root.query("get_wallet_address_balances", { address, caip2: CHAIN, ...fields });
        assert.equal((await ask({ address: sender.address })).status, 404);
        const elsewhere = await ask({ caip2: "eip155:42161" });
        assert.equal(elsewhere.status, 400);
        assert.match(elsewhere.body.message, /has no nodes for eip155:42161/);
        const onSolana = await ask({ caip2: "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp" });
        assert.equal(onSolana.status, 400);
        assert.match(onSolana.body.message, /`address` is not an address on solana:/);
      });
    });

    it("list_supported_assets has the built-in ones and the operator's", async () => {
      const { assets } = await root.read("list_supported_assets", { caip2: CHAIN });
      assert.deepEqual(assets, [
        { ...ether, stable: false },
        {
          caip19: `${CHAIN}/erc20:0x036CbD53842c5426634e7929541eC2318f3dCF7e`,
          symbol: "USDC",
          name: "USD Coin",
          decimals: 6,
          stable: true,
        },
        { ...token(), stable: false },
      ]);
      const { status } = await root.query("list_supported_assets", { caip2: "eip155:1" });
      assert.equal(status, 400);
    });

    it("get_nonces counts those that wait, and tells what is asked for", async () => {
      const stranger = await countingSender(node, CHAIN_ID);
      const ask = (fields: object) => root.query("get_nonces", { address: stranger.address, caip2: CHAIN, ...fields });
      assert.deepEqual((await ask({ nonce: true })).body, { nonce: "0" });
      await stranger.send();
      await node.call("evm_setAutomine", false);
      try {
        const { signedTransaction } = await stranger.sign();
        await node.call("eth_sendRawTransaction", signedTransaction);
        assert.deepEqual((await ask({ nonce: true, gasStationNonce: false })).body, { nonce: "2" });
      } finally {
        await node.call("evm_setAutomine", true);
        await node.call("anvil_mine", "0x1");
      }
      assert.deepEqual((await ask({})).body, { nonce: "2" }, "where nothing else is asked for");
      assert.deepEqual((await ask({ gasStationNonce: true })).body, { gasStationNonce: "0" });
      assert.deepEqual((await ask({ nonce: true, gasStationNonce: true })).body, { nonce: "2", gasStationNonce: "0" });
    });
  });
}
