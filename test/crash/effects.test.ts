import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { after, afterEach, before, beforeEach, describe } from "node:test";
import pg from "pg";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { balanceOf, ended, TEST_CHAIN, testNode, writeChains } from "../support/chain.ts";
import type { Json } from "../support/client.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { type RpcNode, startRpcNode } from "../support/rpc-node.ts";
import { newSender, type SignedTransfer } from "../support/sender.ts";
import { engines, freshDatabaseUrl, itInTurns, type TestEngine } from "../support/server.ts";
import { type ServerProcess, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

/**
 * An activity with an effect outside, its server killed between any two of its steps: plan, commit, the effect, and the commit
 * of its end. Nothing may be lost, nothing sent twice with effect, and each status is told under one event.
 */

const PATH = "eth_send_raw_transaction";
const TYPE = "ACTIVITY_TYPE_ETH_SEND_RAW_TRANSACTION";
const URL_PATH = `/public/v1/submit/${PATH}`;
const SEND = "eth_sendRawTransaction";
const LOOK = "eth_getTransactionByHash";
const TIMEOUT_MS = 600_000;

for (const engine of engines) {
  describe(`an effect whose server is killed (${engine})`, () => {
    const itInTurn = itInTurns(engine);
    const node = testNode();
    const dataDir = temporaryFolder();
    let databaseUrl: string;
    let store: Database;
    let server: ServerProcess;
    let front: RpcNode;
    let receiver: Receiver;
    let transaction: SignedTransfer;
    let body: string;

    const start = () =>
      startServerProcess({
        dataDir,
        databaseUrl,
        settings: {
          KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
          KEYSTEAD_JOB_LEASE_SECONDS: "2",
          KEYSTEAD_WEBHOOK_RETRY_SECONDS: "0,0.2,0.5,1,1,1,2,2,5,5",
          KEYSTEAD_LOG_LEVEL: "error",
          KEYSTEAD_CONFIG: writeChains(dataDir, { [TEST_CHAIN]: { rpcUrls: [front.url] } }),
        },
      });

    before(async () => {
      databaseUrl = await freshDatabaseUrl(engine, dataDir, MIGRATED_DATABASE);
      front = await startRpcNode(node);
      receiver = await startReceiver();
      server = await start();
      store = openDatabase({ url: databaseUrl });
      const subscriptions = [{ eventType: "ACTIVITY_UPDATES", filtersJson: JSON.stringify({ type: TYPE }) }];
      await server.root.result("create_webhook_endpoint", { url: receiver.url, name: "hook", subscriptions });
    });
    after(async () => {
      await server.end("SIGKILL");
      await store.close();
      await front.close();
      await receiver.close();
    });
    beforeEach(async () => {
      transaction = await (await newSender(node)).sign();
      const { signedTransaction } = transaction;
      body = server.root.submitBody(PATH, { signedTransaction, caip2: TEST_CHAIN });
    });
    afterEach(() => {
      front.when(SEND, "pass on");
      front.when(LOOK, "pass on");
    });

    /** Of this test's transaction alone. */
    const calls = (method: string, wanted: string) =>
      front.calls.filter(({ method: called, params }) => called === method && params[0] === wanted).length;
    const sends = () => calls(SEND, transaction.signedTransaction);
    const looks = () => calls(LOOK, transaction.hash);
    const submit = () => server.root.post(URL_PATH, body);
    const stored = async () => {
      const rows = await store.read.selectFrom("activities").select("id").where("body", "=", body).execute();
      return rows.map(({ id }) => id);
    };

    async function killAndRestart(): Promise<void> {
      await server.end("SIGKILL");
      front.when(SEND, "pass on");
      front.when(LOOK, "pass on");
      server = await start();
    }

    /** The activity is done, once, whatever happened before. */
    async function assertDone(activityId: string): Promise<void> {
      let activity: Json;
      await until(
        async () => {
          activity = await ended(server.root, activityId);
          return true;
        },
        "the activity to end",
        TIMEOUT_MS,
      );
      assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED", JSON.stringify(activity));
      assert.deepEqual(activity.result, { ethSendRawTransactionResult: { transactionHash: transaction.hash } });
      assert.equal((await node.receipt(transaction.hash)).status, "0x1");
      assert.equal(await balanceOf(node, transaction.to), 1n, "the chain has it once");
      assert.equal(BigInt((await node.call("eth_getTransactionCount", transaction.from, "latest")) as string), 1n);
      const again = await submit();
      assert.equal(again.body.activity.id, activityId, "the same body is still the same activity");
      assert.equal(again.body.activity.status, "ACTIVITY_STATUS_COMPLETED");
      assert.deepEqual(await stored(), [activityId]);
      const left = await store.read.selectFrom("jobs").select("id").where("kind", "=", "perform_activity").execute();
      assert.deepEqual(left, [], "no job is left");
      await assertToldOnce(activityId);
    }

    async function assertToldOnce(activityId: string): Promise<void> {
      const told = () => receiver.received.filter(({ body }) => (JSON.parse(body) as Json).id === activityId);
      const eventsByStatus = () => Map.groupBy(told(), ({ body }) => (JSON.parse(body) as Json).status as string);
      await until(() => eventsByStatus().size === 2, "both statuses to be told", TIMEOUT_MS);
      const events = [...eventsByStatus()].map(([status, received]) => [
        status,
        new Set(received.map(({ headers }) => headers["x-turnkey-event-id"])).size,
      ]);
      assert.deepEqual(Object.fromEntries(events), { ACTIVITY_STATUS_PENDING: 1, ACTIVITY_STATUS_COMPLETED: 1 });
      const rows = await store.read.selectFrom("webhook_events").select("body").execute();
      const own = rows.map(({ body }) => JSON.parse(body) as Json).filter(({ id }) => id === activityId);
      assert.deepEqual(own.map(({ status }) => status).sort(), [
        "ACTIVITY_STATUS_COMPLETED",
        "ACTIVITY_STATUS_PENDING",
      ]);
    }

    itInTurn(
      "after the plan and before the commit: nothing is there, and nothing was sent",
      { timeout: TIMEOUT_MS },
      async () => {
        const lock = await holdWrites(engine, databaseUrl, server);
        const answer = submit().catch(() => undefined);
        await lock.isWaitedFor();
        await server.end("SIGKILL");
        assert.notEqual((await answer)?.status, 200, "nobody was told that it was done");
        await lock.release();
        server = await start();
        assert.deepEqual(await stored(), []);
        assert.deepEqual([looks(), sends()], [0, 0]);
        const { status, body: submitted } = await submit();
        assert.equal(status, 200);
        await assertDone(submitted.activity.id);
        assert.equal(sends(), 1);
      },
    );

    itInTurn("after the commit and before the effect", { timeout: TIMEOUT_MS }, async () => {
      front.when(LOOK, "hang");
      const { body: submitted } = await submit();
      const { id, status } = submitted.activity;
      assert.equal(status, "ACTIVITY_STATUS_PENDING");
      await until(() => looks() === 1, "the effect to begin");
      assert.equal(sends(), 0);
      await killAndRestart();
      await assertDone(id);
      assert.equal(sends(), 1);
    });

    itInTurn("when the node has it and has not answered", { timeout: TIMEOUT_MS }, async () => {
      front.when(SEND, async ({ params }) => {
        await node.call(SEND, params[0]);
        return "hang" as const;
      });
      const { body: submitted } = await submit();
      await until(async () => (await node.call(LOOK, transaction.hash)) !== null, "the node to have it");
      await killAndRestart();
      await assertDone(submitted.activity.id);
      assert.equal(sends(), 1, "it is found by its hash and not sent again");
    });

    itInTurn("when the effect is done and its end is not committed", { timeout: TIMEOUT_MS }, async () => {
      let lock: Lock | undefined;
      front.when(SEND, async ({ params }) => {
        const result = await node.call(SEND, params[0]);
        lock = await holdWrites(engine, databaseUrl, server);
        return { result };
      });
      const { body: submitted } = await submit();
      const { id } = submitted.activity;
      await until(() => lock !== undefined, "the node to answer");
      await lock?.isWaitedFor();
      await server.end("SIGKILL");
      await lock?.release();
      const [row] = await store.read.selectFrom("activities").select("status").where("id", "=", id).execute();
      assert.equal(row?.status, "ACTIVITY_STATUS_PENDING");
      await killAndRestart();
      await assertDone(id);
      assert.equal(sends(), 1, "it is found by its hash and not sent again");
    });

    itInTurn("when a node that forgets has it, so that it is sent again", { timeout: TIMEOUT_MS }, async () => {
      front.when(SEND, async ({ params }) => {
        await node.call(SEND, params[0]);
        return "hang" as const;
      });
      const { body: submitted } = await submit();
      await until(async () => (await node.call(LOOK, transaction.hash)) !== null, "the node to have it");
      await server.end("SIGKILL");
      front.when(SEND, "pass on");
      // The first look after the restart meets a node that lags behind.
      front.when(LOOK, () => {
        front.when(LOOK, "pass on");
        return { result: null };
      });
      server = await start();
      await assertDone(submitted.activity.id);
      assert.equal(sends(), 2);
    });
  });
}

/** Whatever writes has to wait. */
interface Lock {
  /** Resolves when the server waits for it. */
  isWaitedFor(): Promise<void>;
  release(): Promise<void>;
}

const holdWrites = (engine: TestEngine, databaseUrl: string, server: ServerProcess): Promise<Lock> =>
  engine === "postgres" ? holdPostgres(databaseUrl) : holdSqlite(databaseUrl, server);

async function holdPostgres(databaseUrl: string): Promise<Lock> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query("begin; lock table activities in share mode");
  return {
    isWaitedFor: () =>
      until(async () => {
        const { rows } = await client.query(
          "select 1 from pg_locks where not granted and relation = 'activities'::regclass",
        );
        return rows.length > 0;
      }, "the server to want to write"),
    release: () => client.end(),
  };
}

async function holdSqlite(databaseUrl: string, { baseUrl }: ServerProcess): Promise<Lock> {
  const holder = new DatabaseSync(databaseUrl.slice("sqlite:".length), { timeout: 30_000 });
  holder.exec("begin immediate");
  return {
    // Nobody tells who waits for a SQLite file; but a server that cannot write is not ready.
    isWaitedFor: () =>
      until(async () => (await fetch(`${baseUrl}/readyz`)).status === 503, "the server to find that it cannot write"),
    async release() {
      holder.exec("rollback");
      holder.close();
    },
  };
}
