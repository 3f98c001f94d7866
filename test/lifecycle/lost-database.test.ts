import assert from "node:assert/strict";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { newId } from "../../src/kernel/ids.ts";
import { openDatabase } from "../../src/storage/database.ts";
import type { Client, TestAnswer } from "../support/client.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { engines, type TestEngine, testPostgresUrl } from "../support/server.ts";
import {
  refusalOf,
  runKeystead,
  type ServerProcess,
  settingsOf,
  spawnServer,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** A database that is not the one of the installation: at a start, and under a server that runs. */

const newDatabaseUrl = async (engine: TestEngine, dataDir: string): Promise<string> =>
  engine === "sqlite"
    ? `sqlite:${dataDir}/${newId()}.db`
    : createTestDatabase(testPostgresUrl(), `lost_${newId().replaceAll("-", "")}`);

const KILLER = fileURLToPath(new URL("../support/kill-at-step.ts", import.meta.url));
const killedAt = (step: number) => ({ NODE_OPTIONS: `--import=${KILLER}`, KILL_AT_STEP: String(step) });

const filesIn = (folder: string): string[] => readdirSync(folder).sort();

for (const engine of engines) {
  describe(`an empty database beside the files of an installation (${engine})`, () => {
    const dataDir = temporaryFolder();
    let databaseUrl: string;
    let emptyUrl: string;

    before(async () => {
      databaseUrl = await newDatabaseUrl(engine, dataDir);
      emptyUrl = await newDatabaseUrl(engine, dataDir);
      await (await startServerProcess({ dataDir, databaseUrl })).end("SIGTERM");
    });

    it("stops the start: it says what it found and what to do, and leaves everything as it was", async () => {
      const found = filesIn(dataDir);
      const line = await refusalOf({ dataDir, databaseUrl: emptyUrl });
      assert.match(line, /^keystead: the database \S+( at \S+)? is empty, but /);
      assert.ok(line.includes(`${dataDir}/root.key and ${dataDir}/credentials.json are there from an installation`));
      assert.match(line, /set DATABASE_URL and KEYSTEAD_DATA_DIR to where it is; .*start with --new-installation\n$/);
      assert.deepEqual(filesIn(dataDir), found, "nothing was made");
    });

    it("stops it for each of the two files alone", async () => {
      for (const name of ["root.key", "credentials.json"]) {
        const other = temporaryFolder();
        copyFileSync(`${dataDir}/${name}`, `${other}/${name}`);
        const line = await refusalOf({ dataDir: other, databaseUrl: emptyUrl });
        assert.ok(line.includes(`is empty, but ${other}/${name} is there from an installation`), line);
        assert.deepEqual(filesIn(other), [name]);
      }
    });

    it("stops the commands too", async () => {
      const settings = settingsOf({ dataDir, databaseUrl: emptyUrl });
      for (const args of [["init"], ["rotate", "webhook"], ["jobs", "list"]]) {
        const { code, stdout, stderr } = await runKeystead(args, settings);
        assert.deepEqual([code, stdout], [1, ""], args.join(" "));
        assert.match(stderr, /^keystead: the database [^\n]+ is empty, but [^\n]+\n$/, args.join(" "));
      }
    });

    it("becomes a new installation when it is told to, and the old credentials stay", async () => {
      const old = readFileSync(`${dataDir}/credentials.json`, "utf8");
      const server = await startServerProcess({ dataDir, databaseUrl: emptyUrl, args: ["--new-installation"] });
      assert.notEqual(server.credentials.organizationId, JSON.parse(old).organizationId);
      assert.equal((await server.root.read("whoami")).organizationId, server.credentials.organizationId);
      await server.end("SIGTERM");
      const kept = filesIn(dataDir).filter((name) => name.startsWith("credentials-until-"));
      assert.deepEqual(
        kept.map((name) => readFileSync(`${dataDir}/${name}`, "utf8")),
        [old],
      );
      const again = await startServerProcess({ dataDir, databaseUrl: emptyUrl });
      assert.equal(again.credentials.organizationId, server.credentials.organizationId);
      await again.end("SIGTERM");
    });

    it("and the switch does nothing to a database that is not empty", async () => {
      const { organizationId } = JSON.parse(readFileSync(`${dataDir}/credentials.json`, "utf8"));
      const server = await startServerProcess({ dataDir, databaseUrl: emptyUrl, args: ["--new-installation"] });
      assert.equal((await server.root.read("whoami")).organizationId, organizationId);
      assert.match(server.stdout(), /--new-installation has no effect/);
      await server.end("SIGTERM");
    });
  });

  describe(`a first start that is killed (${engine})`, () => {
    it("after any of its steps can be started again, and is then the same as one that was not", async (test) => {
      let step = 0;
      for (let organizationIsThere = false; !organizationIsThere; ) {
        step++;
        const dataDir = temporaryFolder();
        const databaseUrl = await newDatabaseUrl(engine, dataDir);
        const killed = spawnServer({ dataDir, databaseUrl, settings: killedAt(step) });
        assert.equal((await killed.exited).signal, "SIGKILL", `step ${step}: ${killed.stdout()}${killed.stderr()}`);
        const server = await startServerProcess({ dataDir, databaseUrl });
        organizationIsThere = !server.stdout().includes("This first start made");
        assert.equal((await server.root.read("whoami")).organizationId, server.credentials.organizationId);
        assert.ok(!existsSync(`${dataDir}/first-start.json`), "what excused the empty database is gone");
        await server.end("SIGKILL");
      }
      test.diagnostic(`${step} steps to the first organization`);
      assert.ok(step >= 5, "the marker, the tables, the root key's name, the credentials, the organization");
    });
  });
}

describe("a new installation that is begun on purpose beside another's files, and killed", () => {
  it("is the new one or nothing at all, and the old credentials stay", async () => {
    const first = temporaryFolder();
    await (await startServerProcess({ dataDir: first })).end("SIGTERM");
    const old = readFileSync(`${first}/credentials.json`, "utf8");
    for (let step = 1, organizationIsThere = false; !organizationIsThere; step++) {
      const dataDir = temporaryFolder();
      const databaseUrl = await newDatabaseUrl("sqlite", dataDir);
      for (const name of ["root.key", "credentials.json"]) copyFileSync(`${first}/${name}`, `${dataDir}/${name}`);
      chmodSync(`${dataDir}/root.key`, 0o600);
      const killed = spawnServer({
        dataDir,
        databaseUrl,
        settings: killedAt(step),
        args: ["--new-installation"],
      });
      assert.equal((await killed.exited).signal, "SIGKILL", killed.stdout() + killed.stderr());
      const contents = filesIn(dataDir).filter((name) => name.startsWith("credentials"));
      assert.ok(
        contents.some((name) => readFileSync(`${dataDir}/${name}`, "utf8") === old),
        `after step ${step} the old credentials are there`,
      );
      const again = spawnServer({ dataDir, databaseUrl });
      await until(
        () => /serves/.test(again.stdout()) || again.stderr() !== "",
        "the start to end one way or the other",
      );
      if (again.stderr() !== "") {
        assert.match(
          again.stderr(),
          /root\.key .*(is|are) there from an installation: .*start with --new-installation/,
        );
      } else {
        organizationIsThere = !again.stdout().includes("This first start made");
        const { organizationId } = JSON.parse(readFileSync(`${dataDir}/credentials.json`, "utf8"));
        assert.notEqual(organizationId, JSON.parse(old).organizationId);
      }
      await again.end("SIGKILL");
    }
  });
});

describe("a SQLite file that is gone while its log is still there", () => {
  it("stops the start, and what the log holds is not thrown away", async () => {
    const dataDir = temporaryFolder();
    const server = await startServerProcess({ dataDir });
    const { userId } = await server.root.read("whoami");
    await server.root.result("update_user_name", { userId, userName: "in the log" });
    await server.end("SIGKILL");
    const file = `${dataDir}/keystead.db`;
    renameSync(file, `${file}.moved`);
    rmSync(`${dataDir}/root.key`);
    rmSync(`${dataDir}/credentials.json`);
    const log = readFileSync(`${file}-wal`);
    assert.ok(log.length > 0);
    const line = await refusalOf({ dataDir });
    assert.ok(line.includes(`is empty, but ${file}-wal is there from an installation`), line);
    assert.ok(!existsSync(file));
    assert.ok(readFileSync(`${file}-wal`).equals(log));
  });
});

interface Sent {
  body: string;
  sentAt: number;
  answer: TestAnswer;
}

/** Keeps writes under way, each with the time of its sending. */
function startWrites(root: Client, userId: string): { sent: Sent[]; stop: () => Promise<void> } {
  const sent: Sent[] = [];
  let stopped = false;
  const senders = [0, 1, 2, 3].map(async (sender) => {
    for (let count = 0; !stopped; count++) {
      const body = root.submitBody("update_user_name", { userId, userName: `name ${sender} ${count}` });
      const sentAt = performance.now();
      sent.push({ body, sentAt, answer: await root.post("/public/v1/submit/update_user_name", body) });
    }
  });
  return {
    sent,
    stop: async () => {
      stopped = true;
      await Promise.all(senders);
    },
  };
}

const acknowledged = ({ answer }: Sent): boolean => answer.status === 200;

async function storedBodies(databaseUrl: string): Promise<Set<string>> {
  const database = openDatabase({ url: databaseUrl });
  const votes = await database.read.selectFrom("votes").select("message").execute();
  await database.close();
  return new Set(votes.map(({ message }) => message));
}

describe("the files of a SQLite database under a running server", { concurrency: 2 }, () => {
  const LOST = /^the database file of this server was removed or replaced; .* the server is restarted$/;

  /** What happens to the file, and how it is put back so that a restart finds it. */
  const cases: Record<string, { lose: (file: string) => void; restore: (file: string) => void }> = {
    removed: {
      // Another name keeps what is written into it, to be looked at.
      lose: (file) => renameSync(file, `${file}.gone`),
      restore: (file) => renameSync(`${file}.gone`, file),
    },
    "replaced by a copy of itself": {
      lose: (file) => {
        copyFileSync(file, `${file}.copy`);
        renameSync(file, `${file}.gone`);
        renameSync(`${file}.copy`, file);
      },
      restore: (file) => renameSync(`${file}.gone`, file),
    },
    "without their log": {
      lose: (file) => renameSync(`${file}-wal`, `${file}-wal.gone`),
      restore: (file) => renameSync(`${file}-wal.gone`, `${file}-wal`),
    },
    "without their shared memory": {
      lose: (file) => rmSync(`${file}-shm`),
      restore: () => {},
    },
    "with another log in the place of theirs": {
      lose: (file) => {
        renameSync(`${file}-wal`, `${file}-wal.gone`);
        writeFileSync(`${file}-wal`, "");
      },
      restore: (file) => renameSync(`${file}-wal.gone`, `${file}-wal`),
    },
  };

  for (const [name, { lose, restore }] of Object.entries(cases)) {
    it(`${name}: not one write more is acknowledged, reads and /readyz say so, and a restart mends it`, async () => {
      const dataDir = temporaryFolder();
      const file = `${dataDir}/keystead.db`;
      let server: ServerProcess = await startServerProcess({ dataDir });
      const { root } = server;
      const { userId } = await root.read("whoami");
      const writes = startWrites(root, userId);
      await until(() => writes.sent.filter(acknowledged).length > 100, "the load");
      lose(file);
      const lostAt = performance.now();
      await until(() => writes.sent.filter((one) => one.sentAt > lostAt).length > 50, "writes after that");
      await writes.stop();
      for (const { answer } of writes.sent.filter((one) => !acknowledged(one) || one.sentAt > lostAt)) {
        assert.equal(answer.status, 503);
        assert.match(answer.body.message, LOST);
      }
      const read = await root.query("whoami");
      assert.equal(read.status, 503);
      assert.match(read.body.message, LOST);
      const probe = await fetch(`${server.baseUrl}/readyz`);
      assert.equal(probe.status, 503);
      const { database, reasons } = (await probe.json()) as { database: string; reasons: { database: string } };
      assert.equal(database, "unavailable");
      assert.match(reasons.database, /removed or replaced while the server ran; put the right one back and restart/);
      assert.match(server.stdout(), /"file":"[^"]*keystead\.db[^"]*","msg":"the database file was removed or replaced/);

      restore(file);
      assert.equal((await root.query("whoami")).status, 503, "not even when it is back");
      await server.end("SIGKILL");
      server = await startServerProcess({ dataDir });
      const stored = await storedBodies(`sqlite:${file}`);
      for (const { body } of writes.sent.filter(acknowledged))
        assert.ok(stored.has(body), "what was acknowledged is there");
      await server.root.result("update_user_name", { userId, userName: "after the restart" });
      assert.equal((await fetch(`${server.baseUrl}/readyz`)).status, 200);
      await server.end("SIGTERM");
    });
  }

  it("removed for good: the next start does not make a new installation of it", async () => {
    const dataDir = temporaryFolder();
    const server = await startServerProcess({ dataDir });
    for (const suffix of ["", "-wal", "-shm"]) rmSync(`${dataDir}/keystead.db${suffix}`);
    await until(async () => (await server.root.query("whoami")).status === 503, "reads to say so");
    assert.deepEqual(await server.end("SIGTERM"), { code: 0, signal: null });
    assert.match(
      await refusalOf({ dataDir }),
      /keystead\.db is empty, but .*root\.key and .*credentials\.json are there/,
    );
  });
});
