import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { openDatabase } from "../../src/storage/database.ts";
import { UNFINISHED_COPY } from "../../src/storage/migrate.ts";
import { checkWhole, readStore } from "../crash/audit.ts";
import { createSubjects, startLoad } from "../crash/load.ts";
import { areLong } from "../support/long-tests.ts";
import { carryFiles } from "../support/populated.ts";
import { seededRandom } from "../support/random.ts";
import { engines, freshDatabaseUrl, type TestEngine } from "../support/server.ts";
import {
  refusalOf,
  runKeystead,
  settingsOf,
  spawnKeystead,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** Backups while much is written, and restores and copies that are killed: of each database one of the two, in a long run both. */

const KILLER = fileURLToPath(new URL("../support/kill-at-step.ts", import.meta.url));
const KILLS = areLong ? 20 : 1;

async function storedIn(databaseUrl: string) {
  const store = openDatabase({ url: databaseUrl });
  try {
    return await readStore(store);
  } finally {
    await store.close();
  }
}

for (const engine of engines) {
  describe(`a backup of a busy server (${engine})`, () => {
    const dataDir = temporaryFolder();
    const file = join(temporaryFolder(), "busy.backup");
    let databaseUrl: string;

    it("is one consistent state, with everything that was acknowledged before it", async () => {
      databaseUrl = await freshDatabaseUrl(engine, dataDir);
      const server = await startServerProcess({ dataDir, databaseUrl });
      const subjects = await createSubjects(server.root);
      const { privateKeyId } = subjects.signingKey;
      const { privateKey } = await server.root.read("get_private_key", { privateKeyId });
      const before = await storedIn(databaseUrl);
      const load = startLoad(server.root, subjects, seededRandom(), 1);
      await until(() => load.acknowledgedCount() >= 100, "the load");
      const sure = new Set(load.sent.filter(({ acknowledged }) => acknowledged).map(({ body }) => body));
      const { code, stderr } = await runKeystead(["backup", file], settingsOf({ dataDir, databaseUrl }));
      assert.equal(code, 0, stderr);
      const answered = load.acknowledgedCount();
      await until(() => load.acknowledgedCount() > answered, "the load to go on");
      await server.end("SIGKILL");
      await load.ended;

      const place = { dataDir: temporaryFolder(), databaseUrl: "" };
      place.databaseUrl = await freshDatabaseUrl(engine === "sqlite" ? "postgres" : "sqlite", place.dataDir);
      carryFiles(dataDir, place.dataDir);
      const restored = await runKeystead(["restore", file], settingsOf(place));
      assert.equal(restored.code, 0, restored.stderr);
      const history = load.sent.map(({ acknowledged, ...one }) =>
        sure.has(one.body) ? { ...one, acknowledged } : one,
      );
      const publicKey = Buffer.from(privateKey.publicKey, "hex");
      const stored = await storedIn(place.databaseUrl);
      assert.ok(stored.activities.length >= sure.size);
      checkWhole(stored, { subjects, publicKey, before }, history);
    });

    const targets = engines.filter((each) => each !== engine);
    for (const target of areLong || engine === "sqlite" ? targets : []) {
      it(`restored into ${target} and killed at random, is all there or not at all, and the next start says which`, async () => {
        const whole = (await restoredWhole(target, file)).activities;
        const random = seededRandom();
        const moments: Moment[] = [
          ...["1", "2"].map((step) => ({ step })),
          ...Array.from({ length: KILLS }, () => ({ progress: random.integer(1, 9) * 10 })),
          ...Array.from({ length: KILLS }, () => ({ afterMs: random.integer(300, 2000) })),
        ];
        for (const moment of moments) {
          const place = { dataDir: temporaryFolder(), databaseUrl: "" };
          place.databaseUrl = await freshDatabaseUrl(target, place.dataDir);
          carryFiles(dataDir, place.dataDir);
          await restoreAndKill(place, file, moment);
          const there = await activitiesIn(place);
          if (there === undefined) {
            if (existsSync(join(place.dataDir, "restore.unfinished.json"))) {
              assert.match(await refusalOf(place), /a restore into the database .* was begun and not finished/);
            } else {
              assert.match(await refusalOf(place), /is empty, but .*root\.key/);
            }
            const again = await runKeystead(["restore", file], settingsOf(place));
            assert.equal(again.code, 0, again.stderr);
          }
          assert.deepEqual(await activitiesIn(place), whole, JSON.stringify(moment));
          const left = readdirSync(place.dataDir).filter((name) => name.includes("restoring"));
          assert.deepEqual(left, []);
        }
        const last = await startAfter(target, file);
        assert.ok(!existsSync(join(last, "restore.unfinished.json")));
      });
    }

    for (const target of areLong || engine === "postgres" ? targets : []) {
      it(`copied into ${target} and killed at random, is served by nobody before the same command has finished it`, async () => {
        const source = { dataDir, databaseUrl };
        const before = await activitiesIn(source);
        const undisturbed = { dataDir: temporaryFolder(), databaseUrl: "" };
        undisturbed.databaseUrl = await freshDatabaseUrl(target, undisturbed.dataDir);
        const copied = await runKeystead(
          ["copy", "--from", databaseUrl, "--to", undisturbed.databaseUrl],
          settingsOf(source),
        );
        assert.equal(copied.code, 0, copied.stderr);
        // Each engine has an order of its own.
        const whole = await activitiesIn(undisturbed);
        assert.equal(whole?.length, before?.length);
        const random = seededRandom();
        const moments: Moment[] = [
          ...["1", "2", "3", "4"].map((step) => ({ step })),
          ...Array.from({ length: KILLS }, () => ({ progress: random.integer(1, 9) * 10 })),
          ...Array.from({ length: KILLS }, () => ({ afterMs: random.integer(300, 2000) })),
        ];
        for (const moment of moments) {
          const place = { dataDir: temporaryFolder(), databaseUrl: "" };
          place.databaseUrl = await freshDatabaseUrl(target, place.dataDir);
          const copy = ["copy", "--from", databaseUrl, "--to", place.databaseUrl];
          await runAndKill(copy, settingsOf(source), moment);
          if (await isUnfinished(place.databaseUrl)) assert.match(await refusalOf(place), /is an unfinished copy/);
          const again = await runKeystead(copy, settingsOf(source));
          if (again.code !== 0) assert.match(again.stderr, /there is a database already/, JSON.stringify(moment));
          // The order of rows that came in several runs is theirs.
          assert.deepEqual(sorted(await activitiesIn(place)), sorted(whole), JSON.stringify(moment));
        }
        assert.deepEqual(await activitiesIn(source), before, "the source is as it was");
      });
    }

    /** One that is killed after its last commit or renaming, and before it says so. */
    async function startAfter(target: TestEngine, file: string): Promise<string> {
      const place = { dataDir: temporaryFolder(), databaseUrl: "" };
      place.databaseUrl = await freshDatabaseUrl(target, place.dataDir);
      carryFiles(dataDir, place.dataDir);
      // The lock, the marker, four files that were not there, the database; or the marker and the commit.
      const killed = target === "sqlite" ? "7" : "2";
      await restoreAndKill(place, file, { step: killed });
      assert.ok(existsSync(join(place.dataDir, "restore.unfinished.json")));
      const again = await runKeystead(["restore", file], settingsOf(place));
      assert.match(again.stderr, /there is a database already: .*it is complete: start the server/);
      const server = await startServerProcess(place);
      await server.root.read("whoami");
      await server.end("SIGTERM");
      return place.dataDir;
    }
  });
}

type Moment = { step: string } | { progress: number } | { afterMs: number };

const restoreAndKill = (place: { dataDir: string; databaseUrl: string }, file: string, moment: Moment): Promise<void> =>
  runAndKill(["restore", file], settingsOf(place), moment);

async function runAndKill(
  command: readonly string[],
  settings: ReturnType<typeof settingsOf>,
  moment: Moment,
): Promise<void> {
  const killer = "step" in moment ? { NODE_OPTIONS: `--import=${KILLER}`, KILL_AT_STEP: moment.step } : {};
  const running = spawnKeystead(command, { settings: { ...settings, ...killer } });
  let isOver = false;
  void running.exited.then(() => {
    isOver = true;
  });
  if ("progress" in moment) {
    const percent = () => Number(/(\d+) %,[^%]*$/.exec(running.stderr())?.[1] ?? 0);
    await until(() => isOver || percent() >= moment.progress, "the command to come so far");
  } else if ("afterMs" in moment) {
    await Promise.race([running.exited, setTimeout(moment.afterMs)]);
  }
  if ("step" in moment) assert.equal((await running.exited).signal, "SIGKILL", running.stderr());
  else await running.end("SIGKILL");
}

async function restoredWhole(target: TestEngine, file: string) {
  const place = { dataDir: temporaryFolder(), databaseUrl: "" };
  place.databaseUrl = await freshDatabaseUrl(target, place.dataDir);
  const { code, stderr } = await runKeystead(["restore", file], settingsOf(place));
  assert.equal(code, 0, stderr);
  return storedIn(place.databaseUrl);
}

async function isUnfinished(databaseUrl: string): Promise<boolean> {
  const store = openDatabase({ url: databaseUrl });
  try {
    return (await store.schemaState()).unknown.includes(UNFINISHED_COPY);
  } finally {
    await store.close();
  }
}

const sorted = (rows: readonly { id: string }[] | undefined) =>
  rows?.toSorted((one, other) => (one.id < other.id ? -1 : 1));

/** Undefined where there is no database. */
async function activitiesIn({ databaseUrl }: { databaseUrl: string }) {
  if (databaseUrl.startsWith("sqlite:") && !existsSync(databaseUrl.slice("sqlite:".length))) return undefined;
  const store = openDatabase({ url: databaseUrl });
  try {
    if ((await store.schemaState()).isEmpty) return undefined;
    return (await readStore(store)).activities;
  } finally {
    await store.close();
  }
}
