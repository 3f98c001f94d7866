import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { MAX_CONNECTIONS_PER_HOST, MAX_PLANNED_AT_ONCE } from "../../src/kernel/limits.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { type Anvil, startAnvil } from "../support/anvil.ts";
import { writeChains } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import { newAddress } from "../support/evm-sender.ts";
import { countingSender, historiesOn, newWalletAddress, watching } from "../support/history.ts";
import { addAddresses, type Owner, shareAddresses } from "../support/many-addresses.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { type RpcNode, type RpcReply, startRpcNode } from "../support/rpc-node.ts";
import { engines, freshDatabaseUrl, itInTurns, startTestServer, type TestServer } from "../support/server.ts";
import { type ServerProcess, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { startSolanaNode } from "../support/solana-node.ts";
import { TEST_CLUSTER } from "../support/solana-rpc.ts";
import { newStranger } from "../support/solana-sender.ts";
import { until } from "../support/until.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

const CHAIN_ID = 84_532;
const CHAIN = "eip155:84532";
/** Blocks until one is final. */
const DEPTH = 5;
const { page, once } = historiesOn(CHAIN);

/** What webhooks were told, in the order in which it came: type, transaction and block. */
const toldTo = ({ received }: Receiver): string[] =>
  received.map(({ body }) => {
    const { type, msg } = JSON.parse(body) as Json;
    return `${type} ${msg.txHash} ${msg.block.hash}`;
  });

for (const engine of engines) {
  describe(`a chain with faults (${engine})`, () => {
    let node: Anvil;
    let front: RpcNode;
    let server: TestServer;
    let receiver: Receiver;
    let sender: Awaited<ReturnType<typeof countingSender>>;
    let address: string;
    const itInTurn = itInTurns(engine);

    before(async () => {
      node = await startAnvil({ chainId: CHAIN_ID });
      front = await startRpcNode(node);
      receiver = await startReceiver();
      sender = await countingSender(node, CHAIN_ID);
      server = await startTestServer(engine, { chains: { [CHAIN]: { rpcUrls: [front.url], pollMs: 100 } } });
      await watching(server);
      const subscriptions = ["BALANCE_CONFIRMED_UPDATES", "BALANCE_FINALIZED_UPDATES"].map((eventType) => ({
        eventType,
      }));
      await server.root.result("create_webhook_endpoint", { url: receiver.url, name: "hook", subscriptions });
    });
    after(async () => {
      await server.close();
      await Promise.all([receiver.close(), front.close()]);
      await node.stop();
    });
    beforeEach(async () => {
      receiver.received.length = 0;
      address = await newWalletAddress(server.root);
    });
    afterEach(() => {
      for (const method of ["eth_getBlockByNumber", "eth_getBlockReceipts", "debug_traceBlockByHash"]) {
        front.when(method, "pass on");
      }
    });

    const mine = (count: number) => node.call("anvil_mine", `0x${count.toString(16)}`);
    const blockHashOf = async (hash: string): Promise<string> =>
      ((await node.call("eth_getTransactionReceipt", hash)) as Json).blockHash;
    const told = (count: number) => until(() => receiver.received.length >= count, `${count} events`);

    itInTurn("tells what vanished in a reorganization of 5 blocks nevermore, and what came back anew", async () => {
      const kept = await sender.send({ to: address, value: 1n });
      await mine(1);
      const stays = await sender.sign({ to: address, value: 2n });
      await node.call("eth_sendRawTransaction", stays.signedTransaction);
      await node.receipt(stays.hash);
      const before = await blockHashOf(stays.hash);
      const vanishing = await countingSender(node, CHAIN_ID);
      const gone = await vanishing.send({ to: address, value: 3n });
      const goneFrom = await blockHashOf(gone);
      await mine(2);
      await once(server.root, address, ({ length }) => length === 3);
      await told(3);
      assert.equal((await balances()).balance, "6");
      // The same transaction of the same sender goes into the first of five other blocks, and the other one into none.
      await node.call("anvil_reorg", 5, [[stays.signedTransaction, 0]]);
      const hashes = (found: Json[]) => found.map(({ transactionHash }) => transactionHash);
      const found = await once(server.root, address, ({ length }) => length === 2);
      assert.deepEqual(hashes(found), [stays.hash, kept]);
      const after = await blockHashOf(stays.hash);
      assert.notEqual(after, before);
      assert.equal(found[0].block.hash, after);
      assert.equal((await balances()).balance, "3", "balances follow at once");
      await told(4);
      await mine(DEPTH);
      await told(6);
      const keptIn = await blockHashOf(kept);
      assert.deepEqual(
        toldTo(receiver).toSorted(),
        [
          `balances:confirmed ${kept} ${keptIn}`,
          `balances:confirmed ${stays.hash} ${before}`,
          `balances:confirmed ${stays.hash} ${after}`,
          `balances:confirmed ${gone} ${goneFrom}`,
          `balances:finalized ${kept} ${keptIn}`,
          `balances:finalized ${stays.hash} ${after}`,
        ].toSorted(),
      );
      const keys = receiver.received.map(({ body }) => (JSON.parse(body) as Json).msg.idempotencyKey);
      assert.equal(new Set(keys).size, keys.length);
    });

    const balances = async (): Promise<Json> =>
      (await server.root.read("get_wallet_address_balances", { address, caip2: CHAIN })).balances[0];

    it("leaves nodes to others while one parent asks for very many nonces and balances", async () => {
      const { client: sub } = await addSubOrganization(server.root);
      const other = (await createWorld(server)).root.client;
      const [own, theirs] = [await newWalletAddress(other), await newWalletAddress(sub)];
      const released = Promise.withResolvers<void>();
      let held = 0;
      const hold = async (): Promise<RpcReply> => {
        held++;
        await released.promise;
        return "pass on";
      };
      front.when("eth_getTransactionCount", hold);
      front.when("eth_call", ({ params: [call] }) =>
        (call as { data: string }).data.includes(theirs.slice(2).toLowerCase()) ? hold() : "pass on",
      );
      try {
        const asked = Array.from({ length: 2 * MAX_CONNECTIONS_PER_HOST }, (_, index) =>
          index % 2 === 0
            ? server.root.query("get_nonces", { address, caip2: CHAIN })
            : sub.query("get_wallet_address_balances", { address: theirs, caip2: CHAIN }),
        );
        await until(() => held >= MAX_PLANNED_AT_ONCE, "nodes to be asked");
        const balances = await other.query("get_wallet_address_balances", { address: own, caip2: CHAIN });
        assert.deepEqual([balances.status, held], [200, MAX_PLANNED_AT_ONCE], JSON.stringify(balances.body));
        released.resolve();
        for (const { status } of await Promise.all(asked)) assert.equal(status, 200);
      } finally {
        released.resolve();
        for (const method of ["eth_getTransactionCount", "eth_call"]) front.when(method, "pass on");
      }
    });

    for (const [name, method, halve] of [
      [
        "a block without some of its transactions",
        "eth_getBlockByNumber",
        (block: Json) => ({ ...block, transactions: [] }),
      ],
      ["a block that is not there after all", "eth_getBlockByNumber", () => null],
      ["receipts that are missing", "eth_getBlockReceipts", () => null],
      ["some of the receipts", "eth_getBlockReceipts", () => []],
      [
        "receipts of another block",
        "eth_getBlockReceipts",
        (receipts: Json[]) => receipts.map((one) => ({ ...one, blockHash: `0x${"ab".repeat(32)}` })),
      ],
    ] as const) {
      itInTurn(`waits while its node answers ${name}, and loses nothing`, async () => {
        let halves = 0;
        front.when(method, async ({ method, params }) => {
          const result = (await node.call(method, ...params)) as Json;
          if (method === "eth_getBlockByNumber" && params[1] !== true) return { result };
          halves++;
          return { result: halve(result) };
        });
        const hash = await sender.send({ to: address, value: 4n });
        await until(() => halves >= 2, "the node to be asked twice");
        assert.deepEqual((await page(server.root, address)).transactions, []);
        front.when(method, "pass on");
        const [item] = await once(server.root, address, ({ length }) => length === 1);
        assert.equal(item.transactionHash, hash);
        assert.equal(item.transfers[0].amount, "4");
      });
    }

    for (const [name, reply] of [
      ["is told to ask less", { error: { code: -32_005, message: "limit exceeded" } }],
      ["is told so by a status", { status: 429, body: "" }],
    ] as const) {
      itInTurn(`goes on after a node ${name}`, async () => {
        front.when("eth_getBlockByNumber", reply);
        const hash = await sender.send({ to: address });
        await front.waitFor("eth_getBlockByNumber", front.count("eth_getBlockByNumber") + 1);
        front.when("eth_getBlockByNumber", "pass on");
        const [item] = await once(server.root, address, ({ length }) => length === 1);
        assert.equal(item.transactionHash, hash);
      });
    }

    itInTurn("passes over a block that is too large, and follows the next ones", async () => {
      const large = await sender.sign({ to: address, value: 5n });
      const ballast = "x".repeat(17 * 1024 * 1024);
      const number = Number(await node.call("eth_blockNumber")) + 1;
      front.when("eth_getBlockByNumber", async ({ method, params }) => {
        const result = (await node.call(method, ...params)) as Json;
        const isLarge = params[1] === true && Number(params[0]) === number;
        return { result: isLarge ? { ...result, extraData: ballast } : result };
      });
      await node.call("eth_sendRawTransaction", large.signedTransaction);
      await node.receipt(large.hash);
      const next = await sender.send({ to: address, value: 6n });
      const [item, ...others] = await once(server.root, address, ({ length }) => length > 0);
      assert.equal(item.transactionHash, next);
      assert.deepEqual(others, []);
      assert.match(server.log(), /a block is too large to read and is skipped/);
      const { chains } = (await (await fetch(`${server.baseUrl}/readyz`)).json()) as Json;
      assert.equal(chains[CHAIN].status, "ready", "the node serves everything else as before");
    });

    itInTurn("has a block whose receipts are too large for one answer in its history all the same", async () => {
      const ballast = "x".repeat(17 * 1024 * 1024);
      const number = Number(await node.call("eth_blockNumber")) + 1;
      front.when("eth_getBlockReceipts", ({ params }) =>
        Number(params[0]) === number ? { result: ballast } : "pass on",
      );
      const asked = front.count("eth_getTransactionReceipt");
      const hash = await sender.send({ to: address, value: 9n });
      const [item] = await once(server.root, address, ({ length }) => length === 1);
      assert.deepEqual(
        [item.transactionHash, item.block.number, item.transfers[0].amount],
        [hash, String(number), "9"],
      );
      assert.equal(front.count("eth_getTransactionReceipt"), asked + 1);
    });

    itInTurn("says of which block the traces are missing", async () => {
      // A node that has traced before.
      const first = await sender.send({ to: address, value: 1n });
      await once(server.root, address, ({ length }) => length === 1);
      front.when("debug_traceBlockByHash", { error: { code: -32_000, message: "execution timeout" } });
      const second = await sender.send({ to: address, value: 2n });
      const found = await once(server.root, address, ({ length }) => length === 2);
      assert.deepEqual(
        found.map(({ transactionHash }) => transactionHash),
        [second, first],
      );
      const block = Number(((await node.call("eth_getTransactionReceipt", second)) as Json).blockNumber);
      assert.match(server.log(), new RegExp(`"block":${block}\\b[^\n]*no node traces a block like the earlier ones`));
    });

    itInTurn("is forgotten by no node that is far behind, or at its beginning still", async () => {
      const hash = await sender.send({ to: address, value: 7n });
      await mine(300);
      const newest = Number(await node.call("eth_blockNumber"));
      await until(async () => (await headOf(server)) === newest, "the watcher to come along");
      for (const place of ["0x0", "0x2"]) {
        front.when("eth_getBlockByNumber", async ({ method, params }) => {
          const [number, ...rest] = params;
          return { result: await node.call(method, number === "latest" ? place : number, ...rest) };
        });
        const words = `its nodes are at block ${Number(place)}, and it was followed to ${newest}`;
        await until(() => server.log().includes(words), "the watcher to complain");
        const { transactions } = await page(server.root, address);
        assert.deepEqual(
          transactions.map(({ transactionHash }) => transactionHash),
          [hash],
        );
      }
      front.when("eth_getBlockByNumber", "pass on");
      const next = await sender.send({ to: address, value: 8n });
      const found = await once(server.root, address, ({ length }) => length === 2);
      assert.deepEqual(
        found.map(({ transactionHash }) => transactionHash),
        [next, hash],
      );
    });

    itInTurn("is followed without what moves inside transactions where no node traces", async () => {
      front.when("debug_traceBlockByHash", { error: { code: -32_601, message: "the method does not exist" } });
      const hash = await sender.send({ to: address });
      const [item] = await once(server.root, address, ({ length }) => length === 1);
      assert.equal(item.transactionHash, hash);
    });
  });

  describe(`a chain whose servers are killed (${engine})`, () => {
    let node: Anvil;
    let receiver: Receiver;
    let sender: Awaited<ReturnType<typeof countingSender>>;
    const dataDir = temporaryFolder();
    let databaseUrl: string;

    before(async () => {
      node = await startAnvil({ chainId: CHAIN_ID });
      sender = await countingSender(node, CHAIN_ID);
      receiver = await startReceiver();
      databaseUrl = await freshDatabaseUrl(engine, dataDir, MIGRATED_DATABASE);
    });
    after(async () => {
      await receiver.close();
      await node.stop();
    });

    const start = (folder = dataDir): Promise<ServerProcess> =>
      startServerProcess({
        dataDir: folder,
        databaseUrl,
        credentialsFrom: dataDir,
        settings: {
          KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
          KEYSTEAD_ROOT_KEY_FILE: `${dataDir}/root.key`,
          KEYSTEAD_LOG_LEVEL: "error",
          KEYSTEAD_CONFIG: writeChains(folder, { [CHAIN]: { rpcUrls: [node.url], pollMs: 100 } }),
        },
      });

    it("has every transaction once in its history, and every event once", async () => {
      const servers = [await start()];
      const { root } = servers[0] as ServerProcess;
      const address = await newWalletAddress(root);
      const subscriptions = [{ eventType: "BALANCE_CONFIRMED_UPDATES" }, { eventType: "BALANCE_FINALIZED_UPDATES" }];
      await root.result("create_webhook_endpoint", { url: receiver.url, name: "hook", subscriptions });
      const store = openDatabase({ url: databaseUrl });
      const headNumber = async () =>
        (await store.read.selectFrom("followed_chains").select("head_number").execute())[0]?.head_number;
      await until(async () => (await headNumber()) !== undefined, "the watcher to begin");
      // Two servers share one PostgreSQL; a SQLite file has one.
      if (engine === "postgres") servers.push(await start(temporaryFolder()));
      const hashes: string[] = [];
      for (let round = 0; round < 3; round++) {
        for (let value = 1n; value <= 6n; value++) hashes.push(await sender.send({ to: address, value }));
        const reached = await headNumber();
        const newest = Number(await node.call("eth_blockNumber"));
        await servers[0]?.end("SIGKILL");
        servers[0] = await start();
        const hasMoved = async () => reached === newest || (await headNumber()) !== reached;
        if (engine === "sqlite") await until(hasMoved, "the watcher to go on");
      }
      const current = (servers[0] as ServerProcess).root;
      const found = await once(current, address, ({ length }) => length === hashes.length);
      assert.deepEqual(found.map(({ transactionHash }) => transactionHash).toReversed(), hashes);
      await node.call("anvil_mine", "0x5");
      await until(() => new Set(toldTo(receiver)).size === 2 * hashes.length, "all events");
      const events = await store.read
        .selectFrom("webhook_events")
        .select("body")
        .where("event_type", "like", "BALANCE_%")
        .execute();
      const keys = events.map(({ body }) => (JSON.parse(body) as Json).msg.idempotencyKey);
      assert.equal(keys.length, 2 * hashes.length);
      assert.equal(new Set(keys).size, keys.length, "no event twice");
      await Promise.all(servers.map((one) => one.end("SIGTERM")));
      await store.close();
    });
  });
}

describe("a chain without accounts", () => {
  it("is not read until there is one, which then misses nothing", async () => {
    const node = await startAnvil({ chainId: CHAIN_ID });
    const front = await startRpcNode(node);
    const server = await startTestServer("sqlite", { chains: { [CHAIN]: { rpcUrls: [front.url], pollMs: 100 } } });
    try {
      await watching(server);
      const sender = await countingSender(node, CHAIN_ID);
      for (let count = 0; count < 3; count++) {
        await sender.send();
        const newest = Number(await node.call("eth_blockNumber"));
        await until(async () => (await headOf(server)) === newest, "the watcher to come along");
      }
      assert.equal(front.count("eth_getBlockReceipts"), 0);
      // It does not look before both are there.
      front.when("eth_getBlockByNumber", { status: 503, body: "" });
      const address = await newWalletAddress(server.root);
      const hash = await sender.send({ to: address, value: 1n });
      await node.call("anvil_mine", "0x5");
      front.when("eth_getBlockByNumber", "pass on");
      const found = await once(server.root, address, ({ length }) => length > 0);
      assert.deepEqual(
        found.map(({ transactionHash }) => transactionHash),
        [hash],
      );
    } finally {
      await server.close();
      await front.close();
      await node.stop();
    }
  });
});

describe("a node that says of a block what none can be", () => {
  it("has nothing stored of it, and its chain is followed on", async () => {
    const node = await startAnvil({ chainId: CHAIN_ID });
    const front = await startRpcNode(node);
    const server = await startTestServer("sqlite", { chains: { [CHAIN]: { rpcUrls: [front.url], pollMs: 100 } } });
    const lies = async (lie: object, isLie: (block: Json, of: unknown) => boolean) => {
      let told = 0;
      front.when("eth_getBlockByNumber", async ({ params }) => {
        const block = (await node.call("eth_getBlockByNumber", ...params)) as Json;
        if (!block || !isLie(block, params[0])) return { result: block };
        told++;
        return { result: { ...block, ...lie } };
      });
      return () => until(() => told >= 3, "it to be told");
    };
    try {
      await watching(server);
      const sender = await countingSender(node, CHAIN_ID);
      // There is no account yet, so that the newest block is gone to at once.
      let newest = 0;
      for (const number of ["0xffffffffffff", "0xffffffff"]) {
        const told = await lies({ number }, (_, of) => of === "latest");
        await sender.send();
        await told();
        front.passOnAll();
        newest = Number(await node.call("eth_blockNumber"));
        await until(async () => (await headOf(server)) === newest, "the watcher to come along");
      }
      const address = await newWalletAddress(server.root);
      // 9 * 10^12 seconds: the databases hold that, and no date can be written of it.
      const time = await lies({ timestamp: "0x82f79cd9000" }, ({ number: of }) => Number(of) > newest);
      const hash = await sender.send({ to: address, value: 1n });
      await time();
      front.passOnAll();
      const [found] = await once(server.root, address, ({ length }) => length > 0);
      assert.equal(found.transactionHash, hash);
      assert.ok(Date.parse(found.block.timestamp) > 0);
    } finally {
      await server.close();
      await front.close();
      await node.stop();
    }
  });
});

describe("a node of Solana that says of a slot what it made up", () => {
  it("does not end the history of a cluster without accounts", async () => {
    const node = await startSolanaNode({ standsStill: true });
    const front = await startRpcNode(node);
    const server = await startTestServer("sqlite", {
      chains: { [TEST_CLUSTER]: { rpcUrls: [front.url], pollMs: 100 } },
    });
    try {
      await watching(server);
      const slot = 2 ** 32;
      const block = { blockhash: newStranger().address, previousBlockhash: newStranger().address };
      front.when("getSlot", { result: slot });
      front.when("getBlocks", { result: [slot] });
      front.when("getBlock", { result: { ...block, parentSlot: slot - 1, blockTime: 1, transactions: [] } });
      await until(async () => (await headOf(server)) === slot, "the slot to be believed");
      front.passOnAll();
      const newest = Number(await node.call("getSlot", { commitment: "confirmed" }));
      await until(async () => (await headOf(server)) === newest, "the watcher to come back");
    } finally {
      await server.close();
      await Promise.all([front.close(), node.close()]);
    }
  });
});

describe("a chain that is begun anew", () => {
  it("has nothing in its history of the one before, however short it is", async () => {
    const first = await startAnvil({ chainId: CHAIN_ID });
    const { timestamp } = (await first.call("eth_getBlockByNumber", "0x0", false)) as Json;
    await until(() => Date.now() >= 1000 * (Number(timestamp) + 1), "the first blocks to be of different seconds");
    const second = await startAnvil({ chainId: CHAIN_ID });
    const behind = { url: first.url };
    const front = await startRpcNode(behind);
    const server = await startTestServer("sqlite", { chains: { [CHAIN]: { rpcUrls: [front.url], pollMs: 100 } } });
    try {
      await watching(server);
      const address = await newWalletAddress(server.root);
      await (await countingSender(first, CHAIN_ID)).send({ to: address, value: 1n });
      await first.call("anvil_mine", "0x12c");
      const newest = Number(await first.call("eth_blockNumber"));
      await until(async () => (await headOf(server)) === newest, "the watcher to come along");
      assert.equal((await page(server.root, address)).transactions.length, 1);
      behind.url = second.url;
      await until(async () => ((await headOf(server)) ?? newest) < newest, "the watcher to begin anew");
      assert.deepEqual((await page(server.root, address)).transactions, []);
      const hash = await (await countingSender(second, CHAIN_ID)).send({ to: address, value: 2n });
      const found = await once(server.root, address, ({ length }) => length > 0);
      assert.deepEqual(
        found.map(({ transactionHash }) => transactionHash),
        [hash],
      );
    } finally {
      await server.close();
      await front.close();
      await Promise.all([first.stop(), second.stop()]);
    }
  });
});

/** How far its watcher has come. */
async function headOf({ opened }: TestServer): Promise<number | undefined> {
  const { read } = opened.database;
  return (await read.selectFrom("followed_chains").select("head_number").execute())[0]?.head_number;
}

describe("a node of another chain", () => {
  it("is not followed, and its chain's history is refused", async () => {
    const node = await startAnvil({ chainId: 31_337 });
    const server = await startTestServer("sqlite", { chains: { [CHAIN]: { rpcUrls: [node.url], pollMs: 100 } } });
    try {
      const address = await newWalletAddress(server.root);
      await until(() => server.log().includes("a chain could not be followed"), "the watcher to complain");
      const { status, body } = await server.root.query("list_eth_transaction_history", { address, caip2: CHAIN });
      assert.equal(status, 503);
      assert.match(body.message, /serves eip155:31337 and not eip155:84532/);
      const followed = await server.opened.database.read.selectFrom("followed_chains").selectAll().execute();
      assert.deepEqual(followed, []);
    } finally {
      await server.close();
      await node.stop();
    }
  });
});

describe("a block that pays very many addresses of several organizations", () => {
  const ADDRESSES = 20_000;
  const ORGANIZATIONS = 7;
  const TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
  const topicOf = (of: string): string => `0x${of.slice(2).padStart(64, "0")}`;

  it("is in their histories, and its chain is followed on", async () => {
    const node = await startAnvil({ chainId: CHAIN_ID });
    const front = await startRpcNode(node);
    const server = await startTestServer("sqlite", { chains: { [CHAIN]: { rpcUrls: [front.url], pollMs: 100 } } });
    try {
      const owners: Owner[] = [];
      for (let place = 0; place < ORGANIZATIONS; place++) {
        const { root, organizationId } = await createWorld(server);
        const { walletId } = await root.client.result("create_wallet", { walletName: "Full", accounts: [] });
        owners.push({ organizationId, walletId });
      }
      const [first, ...others] = owners as [Owner, ...Owner[]];
      await addAddresses(server.databaseUrl, first, ADDRESSES);
      for (const other of others) await shareAddresses(server.databaseUrl, first, other);
      const { read } = server.opened.database;
      const rows = await read
        .selectFrom("wallet_accounts")
        .select("lookup")
        .where("organization_id", "=", first.organizationId)
        .execute();
      const bystander = await newWalletAddress(server.root);
      await watching(server);
      const sender = await countingSender(node, CHAIN_ID);
      const paying = await sender.sign({ to: newAddress(), value: 1n });
      front.when("eth_getBlockReceipts", async ({ params }) => {
        const receipts = (await node.call("eth_getBlockReceipts", ...params)) as Json[];
        const [receipt] = receipts;
        if (receipt?.transactionHash !== paying.hash) return { result: receipts };
        const [address, from] = [`0x${"aa".repeat(20)}`, topicOf(sender.address)];
        const logs = rows.map(({ lookup: to }) => ({
          address,
          topics: [TRANSFER, from, topicOf(to)],
          data: topicOf("0x1"),
        }));
        return { result: [{ ...receipt, logs }] };
      });
      await node.call("eth_sendRawTransaction", paying.signedTransaction);
      await node.receipt(paying.hash);
      await sender.send({ to: bystander, value: 1n });
      await once(server.root, bystander, ({ length }) => length === 1);
      const entries = await read
        .selectFrom("eth_history")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .where("transaction_hash", "=", paying.hash)
        .executeTakeFirstOrThrow();
      assert.equal(Number(entries.count), ADDRESSES * ORGANIZATIONS);
    } finally {
      await server.close();
      await front.close();
      await node.stop();
    }
  });
});
