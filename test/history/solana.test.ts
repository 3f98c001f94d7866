import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Address } from "@solana/kit";
import { backfillHistory } from "../../src/main/backfill-history.ts";
import { loadConfig } from "../../src/main/config.ts";
import { writeChains } from "../support/chain.ts";
import type { Client, Json } from "../support/client.ts";
import { historiesOn, newWalletAddress, watching } from "../support/history.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { runKeystead, temporaryFolder } from "../support/server-process.ts";
import { compiled } from "../support/solana.ts";
import { fundedStranger, newSolanaAddress } from "../support/solana-history.ts";
import { type SolanaNode, startSolanaNode } from "../support/solana-node.ts";
import { TEST_CLUSTER } from "../support/solana-rpc.ts";
import { latestBlockhash, NO_BLOCKHASH, newSolanaWallet, SOL, sendStatus, transfer } from "../support/solana-sender.ts";
import { closeTokenAccount, makeTokens, moveTokens, newMint, newTokenAccount } from "../support/solana-tokens.ts";
import { until } from "../support/until.ts";

const PATH = "list_sol_transaction_history";
const NATIVE = `${TEST_CLUSTER}/slip44:501`;
const FINAL_AFTER = 32;
const sol = { caip19: NATIVE, symbol: "SOL", name: "Solana", decimals: 9 };
const { page, once } = historiesOn(TEST_CLUSTER, "list_sol_transaction_history");

for (const engine of engines) {
  describe(`${PATH} (${engine})`, () => {
    let node: SolanaNode;
    let front: RpcNode;
    let server: TestServer;
    let receiver: Receiver;
    let root: Client;
    let stranger: Awaited<ReturnType<typeof fundedStranger>>;
    let known: Address;
    let unknown: Address;

    before(async () => {
      // A busy machine takes longer than 32 blocks of a chain that goes on meanwhile.
      node = await startSolanaNode({ standsStill: true });
      front = await startRpcNode(node);
      receiver = await startReceiver();
      stranger = await fundedStranger(node);
      known = newMint(node, stranger.address);
      unknown = newMint(node, stranger.address);
      const assets = [{ address: known, symbol: "TST", name: "Test token", decimals: 6 }];
      server = await startTestServer(engine, {
        chains: { [TEST_CLUSTER]: { rpcUrls: [front.url], pollMs: 100, assets } },
        prices: { [NATIVE]: "150.00" },
      });
      ({ root } = server);
      await watching(server);
    });
    after(async () => {
      await server.close();
      await Promise.all([receiver.close(), front.close(), node.close()]);
    });

    const token = () => ({
      caip19: `${TEST_CLUSTER}/token:${known}`,
      symbol: "TST",
      name: "Test token",
      decimals: 6,
    });
    const signaturesOf = (found: Json[]) => found.map(({ signature }) => signature);
    const isLength = (length: number) => (found: Json[]) => found.length === length;
    const blockOf = async (slot: string): Promise<Json> => {
      const options = { commitment: "confirmed", encoding: "json", maxSupportedTransactionVersion: 0, rewards: false };
      return (await node.call("getBlock", Number(slot), options)) as Json;
    };

    it("shows a transfer of SOL as the node has it, under either name of the cluster", async () => {
      const to = await newSolanaAddress(root);
      const signature = await stranger.pay(to, 15n * 10n ** 8n);
      const [item, ...others] = await once(root, to, isLength(1));
      assert.deepEqual(others, []);
      const block = await blockOf(item.block.number);
      const there = block.transactions.find((each: Json) => each.transaction.signatures[0] === signature);
      assert.deepEqual(item, {
        signature,
        block: {
          number: item.block.number,
          hash: block.blockhash,
          timestamp: new Date(block.blockTime * 1000).toISOString(),
        },
        status: "CONFIRMED",
        origin: "EXTERNAL",
        feePayer: stranger.address,
        signers: [{ address: stranger.address, writable: true }],
        executionFailed: false,
        fee: { amount: String(there.meta.fee), caip19: NATIVE },
        transfers: [
          {
            direction: "IN",
            asset: sol,
            amount: "1500000000",
            counterparty: stranger.address,
            display: { crypto: "1.5", usd: "225.00" },
          },
        ],
      });
      const asked = { address: to, caip2: "solana:devnet" };
      assert.deepEqual((await root.read(PATH, asked)).transactions, [item]);
    });

    it("shows tokens by their owners, those that are not known without an asset, and what is made of nothing", async () => {
      const owner = await newSolanaAddress(root);
      const account = newTokenAccount(node, { mint: known, owner });
      const other = newTokenAccount(node, { mint: unknown, owner });
      const from = newTokenAccount(node, { mint: known, owner: stranger.address, amount: 9_000_000n });
      const first = await stranger.send(moveTokens(from, account, stranger.address, 1_234_500n));
      await once(root, owner, isLength(1));
      const second = await stranger.send(makeTokens(unknown, other, stranger.address, 7n));
      const [newer, older] = await once(root, owner, isLength(2));
      assert.deepEqual([newer.signature, older.signature], [second, first]);
      assert.deepEqual(newer.transfers, [{ direction: "IN", amount: "7", counterparty: unknown }]);
      const display = { crypto: "1.2345" };
      assert.deepEqual(older.transfers, [
        { direction: "IN", asset: token(), amount: "1234500", counterparty: stranger.address, display },
      ]);
    });

    it("knows its own sends, with all who signed, also failed ones", async () => {
      const { addresses } = await newSolanaWallet(root, node, 2);
      const [payer, second] = addresses as [Address, Address];
      await once(root, payer, isLength(1));
      const account = newTokenAccount(node, { mint: known, owner: second, amount: 5n });
      const to = newTokenAccount(node, { mint: known, owner: stranger.address });
      const send = async (tokens: bigint) => {
        const instructions = [moveTokens(account, to, second, tokens), closeTokenAccount(account, second, second)];
        const wire = compiled({ version: 0, payer, blockhash: NO_BLOCKHASH, instructions });
        const unsignedTransaction = wire.toString("hex");
        const fields = { unsignedTransaction, signWiths: [payer, second], caip2: TEST_CLUSTER };
        const { body } = await root.submit("sol_send_transaction", fields);
        const { id, fingerprint, result } = body.activity as Json;
        const [{ sendTransactionStatusId }] = Object.values(result) as [Json];
        return { id, fingerprint, sent: await sendStatus(root, sendTransactionStatusId) };
      };
      const { id, fingerprint, sent } = await send(5n);
      const [item] = await once(root, second, isLength(2));
      assert.equal(item.signature, sent.solana.signature);
      assert.equal(item.origin, "TURNKEY");
      assert.equal(item.feePayer, payer);
      assert.deepEqual(item.signers, [
        { address: payer, writable: true },
        { address: second, writable: true },
      ]);
      const { activity } = await root.read("get_activity", { activityId: id });
      const service = { sponsored: false, activityFingerprint: fingerprint, submittedAt: activity.createdAt };
      assert.deepEqual([item.service, item.turnkey], [service, service]);
      const rent = node.svm.minimumBalanceForRentExemption(165n);
      assert.deepEqual(
        item.transfers.map(({ direction, amount, counterparty }: Json) => [direction, amount, counterparty]),
        [
          ["OUT", "5", stranger.address],
          ["IN", String(rent), account],
        ],
      );
      const fee = BigInt(item.fee.amount);
      assert.equal(await balance(payer), 10n * SOL - fee, "the fee is the node's");
      const [paid] = await once(root, payer, isLength(2));
      assert.deepEqual([paid.signature, paid.transfers], [item.signature, []]);
    });

    const balance = async (address: Address): Promise<bigint> => BigInt(Number(node.svm.getBalance(address) ?? 0n));

    it("shows what failed, with its fee and without transfers", async () => {
      const owner = await newSolanaAddress(root);
      const from = newTokenAccount(node, { mint: known, owner: stranger.address });
      const to = newTokenAccount(node, { mint: known, owner });
      const instructions = [transfer(stranger.address, owner, SOL), moveTokens(from, to, stranger.address, 1n)];
      await stranger.send(...instructions);
      const last = await stranger.pay(owner, SOL);
      const [item, ...others] = await once(root, owner, (found) => found[0]?.signature === last);
      assert.deepEqual(others, [], "whom it did not reach in the end has nothing of it");
      assert.equal(item.executionFailed, false);
      // One that signs has it in its history.
      const { addresses } = await newSolanaWallet(root, node, 1);
      const [payer] = addresses as [Address];
      await once(root, payer, isLength(1));
      const blockhash = await latestBlockhash(node);
      const wire = compiled({
        version: "legacy",
        payer,
        blockhash,
        instructions: [transfer(payer, stranger.address, SOL), moveTokens(from, to, payer, 1n)],
      });
      const { signedTransaction } = await root.result("sign_transaction", {
        signWith: payer,
        unsignedTransaction: wire.toString("hex"),
        type: "TRANSACTION_TYPE_SOLANA",
      });
      const signature = await stranger.give(Buffer.from(signedTransaction, "hex"));
      const [failed] = await once(root, payer, isLength(2));
      assert.deepEqual([failed.signature, failed.executionFailed, failed.transfers], [signature, true, []]);
      assert.deepEqual(failed.signers, [{ address: payer, writable: true }]);
      const { fee } = failed;
      assert.equal(fee.caip19, NATIVE);
      assert.ok(BigInt(fee.amount) > 0n);
      assert.equal(await balance(payer), 10n * SOL - BigInt(fee.amount), "the fee is what it cost");
    });

    it("tells of deposits and withdrawals of known assets when they are confirmed, and finalized after 32 blocks", async () => {
      const owner = await newSolanaAddress(root);
      const filtersJson = JSON.stringify({ address: owner });
      const subscriptions = ["BALANCE_CONFIRMED_UPDATES", "BALANCE_FINALIZED_UPDATES"].map((eventType) => ({
        eventType,
        filtersJson,
      }));
      await root.result("create_webhook_endpoint", { url: `${receiver.url}/${owner}`, name: owner, subscriptions });
      const account = newTokenAccount(node, { mint: known, owner });
      const other = newTokenAccount(node, { mint: unknown, owner });
      const from = newTokenAccount(node, { mint: known, owner: stranger.address, amount: 100n });
      const events = () =>
        receiver.received.filter(({ path }) => path === `/${owner}`).map(({ body }) => JSON.parse(body) as Json);
      const signature = await stranger.send(
        moveTokens(from, account, stranger.address, 40n),
        moveTokens(from, account, stranger.address, 2n),
        makeTokens(unknown, other, stranger.address, 9n),
      );
      const [item] = await once(root, owner, isLength(1));
      await until(() => events().length === 1, "the event of what is confirmed");
      node.pass(FINAL_AFTER + 2);
      await until(() => events().length === 2, "the event of what is final");
      const [confirmed, finalized] = events() as [Json, Json];
      const { idempotencyKey } = confirmed.msg;
      assert.deepEqual(confirmed, {
        type: "balances:confirmed",
        organizationId: root.organizationId,
        parentOrganizationId: root.organizationId,
        msg: {
          operation: "deposit",
          caip2: TEST_CLUSTER,
          txHash: signature,
          address: owner,
          idempotencyKey,
          asset: { ...token(), amount: "42" },
          block: { ...item.block, number: Number(item.block.number) },
        },
      });
      assert.deepEqual([finalized.type, finalized.msg.txHash], ["balances:finalized", signature]);
      assert.equal((await page(root, owner)).transactions[0]?.status, "FINALIZED");
      assert.equal(events().length, 2);
    });

    it("is told page by page, with cursors of its own", async () => {
      const address = await newSolanaAddress(root);
      const signatures: string[] = [];
      for (let amount = 1n; amount <= 5n; amount++) {
        signatures.unshift(await stranger.pay(address, amount * SOL));
        await once(root, address, isLength(Number(amount)));
      }
      const first = await page(root, address, { limit: "2" });
      assert.deepEqual(signaturesOf(first.transactions), signatures.slice(0, 2));
      assert.deepEqual([first.pageInfo.hasNextPage, first.pageInfo.hasPreviousPage], [true, false]);
      const second = await page(root, address, { limit: "2", after: first.pageInfo.endCursor });
      assert.deepEqual(signaturesOf(second.transactions), signatures.slice(2, 4));
      const newest = await stranger.pay(address, 6n * SOL);
      await once(root, address, isLength(6));
      const news = await page(root, address, { before: first.pageInfo.startCursor });
      assert.deepEqual(signaturesOf(news.transactions), [newest]);
      const back = await page(root, address, { limit: "2", before: second.pageInfo.startCursor });
      assert.deepEqual(signaturesOf(back.transactions), signatures.slice(0, 2));
      const other = await newSolanaAddress(root);
      for (const [fields, status, reason] of [
        [{ address: other, paginationOptions: { after: first.pageInfo.endCursor } }, 400, /must be a cursor/],
        [{ address: stranger.address }, 404, /wallet account/],
        [{ address: await newWalletAddress(root) }, 400, /address/],
        [{ address: other, caip2: "solana:mainnet" }, 400, /has no nodes for solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp/],
      ] as const) {
        const refused = await root.query(PATH, { caip2: TEST_CLUSTER, ...fields });
        assert.equal(refused.status, status, JSON.stringify(refused.body));
        assert.match(refused.body.message, reason);
      }
    });

    it("tells balances of all token accounts of known assets, and which assets there are", async () => {
      const owner = await newSolanaAddress(root);
      const balances = async (caip2 = "solana:devnet") =>
        (await root.read("get_wallet_address_balances", { address: owner, caip2 })).balances as Json[];
      assert.deepEqual(await balances(), []);
      newTokenAccount(node, { mint: known, owner, amount: 2_000_000n });
      newTokenAccount(node, { mint: known, owner, amount: 500_001n });
      newTokenAccount(node, { mint: unknown, owner, amount: 3n });
      await stranger.pay(owner, 2n * SOL);
      assert.deepEqual(await balances(TEST_CLUSTER), [
        { ...sol, balance: "2000000000", display: { crypto: "2", usd: "300.00" } },
        { ...token(), balance: "2500001", display: { crypto: "2.500001" } },
      ]);
      const { assets } = await root.read("list_supported_assets", { caip2: "solana:devnet" });
      assert.deepEqual(
        assets.map(({ caip19, stable }: Json) => [caip19, stable]),
        [
          [NATIVE, false],
          [`${TEST_CLUSTER}/token:4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU`, true],
          [token().caip19, false],
        ],
      );
      const wrong = { address: await newWalletAddress(root), caip2: TEST_CLUSTER };
      const refused = await root.query("get_wallet_address_balances", wrong);
      assert.equal(refused.status, 400);
      assert.match(refused.body.message, /`address` is not an address on solana:/);
    });

    it("goes on over slots without blocks", async () => {
      const address = await newSolanaAddress(root);
      node.skip(100);
      const first = await stranger.pay(address, SOL);
      await once(root, address, isLength(1));
      node.skip(3);
      const second = await stranger.pay(address, SOL);
      assert.deepEqual(signaturesOf(await once(root, address, isLength(2))), [second, first]);
    });

    it("forgets what a fork left behind, tells of it nevermore, and of what came back anew", async () => {
      const address = await newSolanaAddress(root);
      const filtersJson = JSON.stringify({ address });
      const subscriptions = ["BALANCE_CONFIRMED_UPDATES", "BALANCE_FINALIZED_UPDATES"].map((eventType) => ({
        eventType,
        filtersJson,
      }));
      await root.result("create_webhook_endpoint", { url: `${receiver.url}/${address}`, name: address, subscriptions });
      const told = () =>
        receiver.received
          .filter(({ path }) => path === `/${address}`)
          .map(({ body }) => JSON.parse(body) as Json)
          .map(({ type, msg }) => `${type} ${msg.txHash} ${msg.block.hash}`);
      const gone = await stranger.pay(address, SOL);
      const wire = await stranger.sign([transfer(stranger.address, address, 2n * SOL)]);
      const back = await stranger.give(wire);
      const before = await once(root, address, isLength(2));
      await until(() => told().length === 2, "both to be told");
      node.fork(20);
      node.pass(1);
      await once(root, address, isLength(0));
      assert.equal(await stranger.give(wire), back);
      const [item] = await once(root, address, isLength(1));
      node.pass(FINAL_AFTER + 2);
      await until(() => told().length === 4, "what came back to be final");
      const hashOf = (signature: string) => before.find((each) => each.signature === signature)?.block.hash;
      assert.notEqual(item.block.hash, hashOf(back));
      assert.deepEqual(
        told().toSorted(),
        [
          `balances:confirmed ${gone} ${hashOf(gone)}`,
          `balances:confirmed ${back} ${hashOf(back)}`,
          `balances:confirmed ${back} ${item.block.hash}`,
          `balances:finalized ${back} ${item.block.hash}`,
        ].toSorted(),
      );
    });

    it("asks for blocks whole, and not for their headers before", async () => {
      const address = await newSolanaAddress(root);
      const before = front.calls.length;
      await stranger.pay(address, SOL);
      await once(root, address, isLength(1));
      const asked = front.calls.slice(before).filter(({ method }) => method === "getBlock");
      assert.deepEqual([...new Set(asked.map(({ params }) => (params[1] as Json).transactionDetails))], ["full"]);
    });

    for (const [name, halve] of [
      ["without balances", (block: Json) => ({ ...block, transactions: [{ ...block.transactions[0], meta: null }] })],
      ["without a time", (block: Json) => ({ ...block, blockTime: null })],
      ["that is none after all", () => null],
    ] as const) {
      it(`waits while its node answers a block ${name}, and loses nothing`, async () => {
        const address = await newSolanaAddress(root);
        let halves = 0;
        front.when("getBlock", async ({ method, params }) => {
          const result = (await node.call(method, ...params)) as Json;
          if ((params[1] as Json).transactionDetails !== "full" || result.transactions.length === 0) return { result };
          halves++;
          return { result: halve(result) };
        });
        const signature = await stranger.pay(address, SOL);
        await until(() => halves >= 2, "the node to be asked twice");
        assert.deepEqual((await page(root, address)).transactions, []);
        front.when("getBlock", "pass on");
        assert.deepEqual(signaturesOf(await once(root, address, isLength(1))), [signature]);
      });
    }

    it("changes nothing while its node is behind", async () => {
      const address = await newSolanaAddress(root);
      const signature = await stranger.pay(address, SOL);
      const [item] = await once(root, address, isLength(1));
      const slot = Number(item.block.number) - 20;
      let asked = 0;
      front.when("getSlot", () => {
        asked++;
        return { result: slot };
      });
      await until(() => asked >= 3, "the node to be asked");
      assert.deepEqual((await page(root, address)).transactions, [item]);
      front.when("getSlot", "pass on");
      const later = await stranger.pay(address, SOL);
      assert.deepEqual(signaturesOf(await once(root, address, isLength(2))), [later, signature]);
    });

    it("reads a block that is too large with its instructions by its balances", async () => {
      const address = await newSolanaAddress(root);
      let tooLarge = 0;
      front.when("getBlock", async ({ method, params }) => {
        const result = (await node.call(method, ...params)) as Json;
        if ((params[1] as Json).transactionDetails !== "full" || result.transactions.length === 0) return { result };
        tooLarge++;
        return { result: { ...result, filling: "x".repeat(17 * 1024 * 1024) } };
      });
      const signature = await stranger.pay(address, SOL);
      const [item] = await once(root, address, isLength(1));
      front.when("getBlock", "pass on");
      assert.ok(tooLarge > 0);
      assert.equal(item.signature, signature);
      assert.deepEqual(item.signers, [{ address: stranger.address, writable: true }]);
      assert.equal(item.transfers[0].counterparty, stranger.address);
    });

    it("goes on after blocks that no node has any more, and says which", async () => {
      const address = await newSolanaAddress(root);
      await stranger.pay(address, SOL);
      const [item] = await once(root, address, isLength(1));
      await front.down();
      node.pass(60);
      const slot = (await node.call("getSlot", { commitment: "processed" })) as number;
      node.forgetBefore(slot);
      await front.up();
      const signature = await stranger.pay(address, SOL);
      const found = await once(root, address, isLength(2));
      assert.deepEqual(signaturesOf(found), [signature, item.signature]);
      assert.match(server.log(), /no node has the next blocks/);
    });

    it("is given by `keystead backfill` what is missing, once", async (test) => {
      const address = await newSolanaAddress(root);
      const first = (await node.call("getSlot", { commitment: "confirmed" })) as number;
      await stranger.pay(address, SOL);
      const [item] = await once(root, address, isLength(1));
      // With those that nodes are asked for again below.
      node.pass(FINAL_AFTER + 6);
      await once(root, address, (found) => found.every(({ status }) => status === "FINALIZED"));
      await server.opened.database.transact(undefined, async (tx) => {
        await tx.deleteFrom("eth_history").where("transaction_hash", "=", item.signature).execute();
      });
      assert.deepEqual((await page(root, address)).transactions, []);
      const settings = {
        KEYSTEAD_DATA_DIR: server.dataDir,
        DATABASE_URL: server.databaseUrl,
        KEYSTEAD_CONFIG: join(server.dataDir, "chains.json"),
        KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
      };
      const from = String(first);
      const done = await runKeystead(["backfill", TEST_CLUSTER, "--from", from], settings);
      assert.equal(done.code, 0, done.stderr);
      assert.deepEqual((await page(root, address)).transactions, [{ ...item, status: "FINALIZED" }]);
      const refused = await runKeystead(["backfill", TEST_CLUSTER, "--from", "1"], settings);
      assert.equal(refused.code, 1);
      assert.match(refused.stderr, /the oldest block that its nodes have is in slot/);

      // Nodes of which one is behind, or has forgotten more than the one that was asked what is there.
      const other = await startRpcNode(node);
      test.after(() => other.close());
      const chains = writeChains(temporaryFolder(), { [TEST_CLUSTER]: { rpcUrls: [other.url], pollMs: 100 } });
      const { database } = server.opened;
      const installation = { config: loadConfig({ ...settings, KEYSTEAD_CONFIG: chains }), database };
      const again = () => backfillHistory(installation, TEST_CLUSTER, { from: first, to: first + 5 });
      other.when("getBlocksWithLimit", { result: [] });
      await assert.rejects(again(), new RegExp(`name no block from slot ${first} on; continue with --from ${first}$`));
      for (const [name, isNamed] of [
        ["the first", (slot: number) => slot > first],
        ["one in the middle", (slot: number) => slot !== first + 2],
        ["all", (slot: number) => slot > first + 5],
      ] as const) {
        other.when("getBlocksWithLimit", async ({ method, params }) => ({
          result: ((await node.call(method, ...params)) as number[]).filter(isNamed),
        }));
        await assert.rejects(again(), /do not name the block in slot \d+, before the one in slot \d+/, name);
      }
      other.when("getBlocksWithLimit", "pass on");
      assert.equal((await again()).to, first + 5);
    });
  });
}
