import assert from "node:assert/strict";
import { copyFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { openDatabase } from "../../src/storage/database.ts";
import type { Client, TestAnswer } from "../support/client.ts";
import { reservePort } from "../support/ports.ts";
import { refusalOf, type ServerProcess, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";
import { readyz, whenReady } from "./load.ts";

/** The files of a SQLite database that are taken from under a running server. */

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
  const activities = await database.read.selectFrom("activities").select("body").execute();
  await database.close();
  return new Set(activities.flatMap(({ body }) => body ?? []));
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

  it("out of reach: /readyz says that they are, metrics go on, and a restart mends it", async () => {
    const dataDir = temporaryFolder();
    const data = `${dataDir}/data`;
    const adminPort = await reservePort();
    const options = { dataDir: data, settings: { KEYSTEAD_ADMIN_PORT: String(adminPort) } };
    const server = await startServerProcess(options);
    renameSync(data, `${dataDir}/away`);
    // Whoever looks there, root too, is told ELOOP.
    symlinkSync(data, data);
    await until(async () => (await readyz(server)).status === 503, "the server to notice");
    const { reasons } = (await readyz(server)).body;
    assert.match(reasons?.database ?? "", /^the database has a file that this server can no longer access \(ELOOP\)/);
    const metrics = await fetch(`http://127.0.0.1:${adminPort}/metrics`);
    assert.equal(metrics.status, 200);
    assert.match(await metrics.text(), /^keystead_build_info/m);
    rmSync(data);
    renameSync(`${dataDir}/away`, data);
    await server.end("SIGTERM");
    const again = await startServerProcess(options);
    assert.equal((await readyz(again)).status, 200);
    await again.end("SIGTERM");
  });

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
      await whenReady(server);
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
