import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, watch } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { newId } from "../../src/kernel/ids.ts";
import type { Credentials } from "../../src/main/credentials-file.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import type { Client, Json } from "../support/client.ts";
import { areLong } from "../support/long-tests.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { seededRandom } from "../support/random.ts";
import { engines, itInTurns, type TestEngine, testPostgresUrl } from "../support/server.ts";
import {
  isRunning,
  readJson,
  type ServerProcess,
  signerOf,
  spawnServer,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { until } from "../support/until.ts";
import { checkWhole, readStore, type Stage } from "./audit.ts";
import { createSubjects, type Sent, type Subjects, startLoad } from "./load.ts";

const KILLS = areLong ? 20 : 3;
const RESENT_A_ROUND = 40;

for (const engine of engines) {
  describe(`a server killed under load (${engine})`, () => {
    const dataDir = temporaryFolder();
    let databaseUrl: string;
    let server: ServerProcess;
    let subjects: Subjects;
    let store: Database;
    const history: Sent[] = [];
    let stage: Stage;

    before(async () => {
      databaseUrl = await newDatabaseUrl(engine, dataDir);
      server = await startServerProcess({ dataDir, databaseUrl });
      store = openDatabase({ url: databaseUrl });
      subjects = await createSubjects(server.root);
      const { privateKey } = await server.root.read("get_private_key", {
        privateKeyId: subjects.signingKey.privateKeyId,
      });
      stage = { subjects, publicKey: Buffer.from(privateKey.publicKey, "hex"), before: await readStore(store) };
    });
    after(async () => {
      await server.end("SIGKILL");
      await store.close();
    });

    async function killUnderLoad(round: number, test: TestContext): Promise<Sent[]> {
      const random = seededRandom();
      test.diagnostic(`seed ${random.seed}`);
      const signer = await signerOf(server);
      const load = startLoad(server.root, subjects, random, round);
      const enough = random.integer(1, 400);
      await Promise.race([load.ended, until(() => load.acknowledgedCount() >= enough, `${enough} answers`)]);
      await server.end("SIGKILL");
      await load.ended;
      await until(() => !isRunning(signer), "the signer to end with its server");
      test.diagnostic(`${load.acknowledgedCount()} of ${load.sent.length} requests were answered`);
      return load.sent;
    }

    for (let round = 1; round <= KILLS; round++) {
      it(`loses, halves and doubles nothing: kill ${round}`, async (test) => {
        const sent = await killUnderLoad(round, test);
        history.push(...sent);
        server = await startServerProcess({ dataDir, databaseUrl });

        const stored = await readStore(store);
        checkWhole(stored, stage, history);

        const random = seededRandom();
        const acknowledged = history.filter((one) => one.acknowledged);
        const again = Array.from({ length: RESENT_A_ROUND }, () => random.pick(acknowledged));
        for (const one of again) await resend(server.root, one, one.acknowledged.id);
        assert.equal((await readStore(store)).activities.length, stored.activities.length, "nothing ran twice");

        const idsByBody = new Map(stored.activities.map(({ body, id }) => [body, id]));
        for (const one of sent.filter(({ acknowledged }) => !acknowledged)) {
          one.acknowledged = await resend(server.root, one, idsByBody.get(one.body));
        }
        checkWhole(await readStore(store), stage, history);
      });
    }
  });

  describe(`a server killed while it starts for the first time (${engine})`, () => {
    const random = seededRandom();
    const moments: Moment[] = [
      { file: "root.key" },
      { file: "credentials.json" },
      { file: "address.json" },
      ...Array.from({ length: 3 }, () => ({ afterMs: random.integer(20, 600) })),
      ...(engine === "sqlite" ? [{ file: "keystead.db" }] : []),
    ];
    const itInTurn = itInTurns(engine);
    for (const moment of moments) {
      itInTurn(`starts the next time, with credentials that work: killed at ${JSON.stringify(moment)}`, async () => {
        const dataDir = temporaryFolder();
        const databaseUrl = await newDatabaseUrl(engine, dataDir);
        const first = spawnServer({ dataDir, databaseUrl });
        await reached(moment, dataDir);
        await first.end("SIGKILL");
        await checkNextStart(dataDir, databaseUrl);
      });
    }
  });
}

it("a first start killed between the credentials file and the commit: the file holds good", async () => {
  const dataDir = temporaryFolder();
  const databaseUrl = await newDatabaseUrl("postgres", dataDir);
  const store = openDatabase({ url: databaseUrl });
  await store.migrate();
  await store.close();
  const blocker = new pg.Client({ connectionString: databaseUrl });
  await blocker.connect();
  // The organization's row has to wait for this lock; all that comes before it does not.
  await blocker.query("begin; lock table organizations in share mode");
  const first = spawnServer({ dataDir, databaseUrl });
  await reached({ file: "credentials.json" }, dataDir);
  await until(async () => {
    const { rows } = await blocker.query("select 1 from pg_locks where not granted and mode = 'RowExclusiveLock'");
    return rows.length > 0;
  }, "the first organization to be under way");
  await first.end("SIGKILL");
  const written = readJson(join(dataDir, "credentials.json")) as Credentials;
  await blocker.end();
  const { organizationId, apiKey } = await checkNextStart(dataDir, databaseUrl);
  assert.deepEqual([organizationId, apiKey], [written.organizationId, written.apiKey]);
});

/** When to kill: once a file is there, or after some time. */
type Moment = { file: string } | { afterMs: number };

async function reached(moment: Moment, dataDir: string): Promise<void> {
  if ("afterMs" in moment) return setTimeout(moment.afterMs);
  const isThere = () => existsSync(join(dataDir, moment.file));
  // What follows a file takes under a millisecond: the system tells of it at once.
  const changes = watch(dataDir);
  while (!isThere()) await once(changes, "change");
  changes.close();
}

async function checkNextStart(dataDir: string, databaseUrl: string): Promise<Credentials> {
  const server = await startServerProcess({ dataDir, databaseUrl });
  const { credentials, root } = server;
  const { organizationId, userId } = await root.read("whoami");
  assert.deepEqual([organizationId, userId], [credentials.organizationId, credentials.userId]);
  await root.result("create_user_tag", { userTagName: "works", userIds: [userId] });
  const store = openDatabase({ url: databaseUrl });
  assert.equal((await store.read.selectFrom("organizations").select("id").execute()).length, 1);
  await store.close();
  await server.end("SIGKILL");
  return credentials;
}

async function newDatabaseUrl(engine: TestEngine, dataDir: string): Promise<string> {
  if (engine === "sqlite") return `sqlite:${join(dataDir, "keystead.db")}`;
  return createTestDatabase(testPostgresUrl(), `crash_${newId().replaceAll("-", "")}`);
}

/** Sends the body once more: it must be the activity it was, if it was one. */
async function resend(root: Client, { path, body, acknowledged }: Sent, id: string | undefined): Promise<Json> {
  const answer = await root.post(`/public/v1/submit/${path}`, body);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const { activity } = answer.body;
  assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED");
  if (id !== undefined) assert.equal(activity.id, id);
  if (acknowledged) assert.deepEqual(activity.result, acknowledged.result);
  return activity;
}
