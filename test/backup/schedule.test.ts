import assert from "node:assert/strict";
import { mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Registry } from "prom-client";
import type { Readiness } from "../../src/http/pages.ts";
import type { Logger } from "../../src/kernel/log.ts";
import { newestBackup, ScheduledBackups } from "../../src/main/backup/schedule.ts";
import { loadConfig } from "../../src/main/config.ts";
import { openBackup } from "../../src/storage/backup/read-file.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { whenReady } from "../lifecycle/load.ts";
import { reservePort } from "../support/ports.ts";
import { engines, freshDatabaseUrl } from "../support/server.ts";
import { runKeystead, settingsOf, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** Backups that a server makes by itself. */

for (const engine of engines) {
  describe(`scheduled backups (${engine})`, () => {
    it("are made when the newest is old enough, the oldest go, and metrics and log tell", async () => {
      const [dataDir, directory] = [temporaryFolder(), join(temporaryFolder(), "backups")];
      const databaseUrl = await freshDatabaseUrl(engine, dataDir);
      mkdirSync(directory);
      const [oldest, older] = ["keystead-20260101T000000Z.backup", "keystead-20260102T000000Z.backup"] as const;
      const [stale, foreign] = ["keystead-20260102T000000Z.backup.00.partial", "notes.txt"] as const;
      for (const name of [oldest, older, stale, foreign]) writeFileSync(join(directory, name), "");
      utimesSync(join(directory, stale), 0, 0);
      const config = join(dataDir, "config.json");
      writeFileSync(config, JSON.stringify({ backup: { every: 3600, keep: 2, directory } }));
      const adminPort = await reservePort();
      const settings = { KEYSTEAD_CONFIG: config, KEYSTEAD_ADMIN_PORT: String(adminPort) };
      const server = await startServerProcess({ dataDir, databaseUrl, settings });
      await until(() => server.stdout().includes('"backed up"') && readdirSync(directory).length === 3, "the backup");
      const [kept, made] = readdirSync(directory)
        .filter((name) => name.endsWith(".backup"))
        .sort();
      assert.deepEqual([kept, readdirSync(directory).includes(foreign)], [older, true]);
      const { manifest } = await openBackup({ file: join(directory, made as string) });
      assert.equal(manifest.engine, engine);
      const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
      const seconds = Number(/^keystead_backup_last_success_timestamp_seconds (\d+)$/m.exec(metrics)?.[1]);
      assert.equal(Math.floor(seconds / 60) <= Math.floor(Date.now() / 60_000), true);
      assert.ok(seconds * 1000 >= Date.parse(manifest.takenAt) - 600_000);
      const newest = new Date(seconds * 1000).toISOString();
      const shown = async (...more: string[]) =>
        (await runKeystead(["status", ...more], settingsOf({ dataDir, databaseUrl, settings }))).stdout;
      assert.match(await shown(), new RegExp(`^backup: the newest is from ${newest}$`, "m"));
      assert.equal((JSON.parse(await shown("--json")) as { newestBackup: unknown }).newestBackup, newest);
      await server.end("SIGTERM");
    });
  });
}

it("a backup that fails is told, and the server goes on", async () => {
  const dataDir = temporaryFolder();
  const directory = join(dataDir, "file");
  writeFileSync(directory, "no folder");
  const config = join(dataDir, "config.json");
  writeFileSync(config, JSON.stringify({ backup: { every: 3600, keep: 2, directory } }));
  const adminPort = await reservePort();
  const settings = { KEYSTEAD_CONFIG: config, KEYSTEAD_ADMIN_PORT: String(adminPort) };
  const server = await startServerProcess({ dataDir, settings });
  await until(() => server.stdout().includes('"a scheduled backup failed"'), "the warning");
  const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  assert.match(metrics, /^keystead_backup_failures_total 1$/m);
  assert.match(metrics, /^keystead_backup_last_success_timestamp_seconds 0$/m);
  const { warnings } = (await (await fetch(`${server.baseUrl}/readyz`)).json()) as Pick<Readiness, "warnings">;
  assert.match(warnings?.backup ?? "", /^the scheduled backup of 20\S+Z failed: it is in a place that does not exist$/);
  await whenReady(server);
  const { code, stdout } = await runKeystead(["status"], settingsOf({ dataDir, settings }));
  assert.deepEqual([code, stdout.includes(`\nwarning backup: ${warnings?.backup}\n`)], [0, true], stdout);
  assert.match(stdout, /^backup: there is none yet$/m);
  await server.root.read("whoami");
  assert.deepEqual(await server.end("SIGTERM"), { code: 0, signal: null });
});

/** The schedule of one server of several, that is looked at when the test says so. */
function scheduled(
  directory: string,
  url: string,
  { every = 3600, keep = 2, now = Date.now(), clock = () => now } = {},
) {
  const told: string[] = [];
  const tell = (_facts: object, text: string) => void told.push(text);
  const log = { info: tell, warn: tell } as unknown as Logger;
  const backups = new ScheduledBackups({ every, keep, directory }, { url, clock, log });
  const look = () => backups.job.run({} as Parameters<typeof backups.job.run>[0]);
  return { told, look, backups };
}

async function migratedUrl(): Promise<string> {
  const url = await freshDatabaseUrl("sqlite", temporaryFolder());
  const database = openDatabase({ url });
  await database.migrate();
  await database.close();
  return url;
}

const backupsIn = (directory: string) => readdirSync(directory).filter((name) => name.endsWith(".backup"));

it("a backup that another server is making is not made twice, unless nothing is written to it any more", async () => {
  const [directory, url] = [temporaryFolder(), await migratedUrl()];
  const now = Date.now();
  const [first, second] = [scheduled(directory, url), scheduled(directory, url, { now: now + 60_000 })];
  await Promise.all([first.look(), second.look()]);
  assert.equal(readdirSync(directory).length, 1, "the first has begun, and the second has not");
  await until(() => first.told.includes("backed up"), "the backup");
  assert.deepEqual([backupsIn(directory).length, second.told], [1, []]);

  const elsewhere = temporaryFolder();
  const partial = join(elsewhere, "keystead-20260102T000000Z.backup.00.partial");
  writeFileSync(partial, "");
  const third = scheduled(elsewhere, url);
  await third.look();
  assert.deepEqual(readdirSync(elsewhere).length, 1);
  for (const minutes of [-30, 30]) {
    const seconds = now / 1000 + minutes * 60;
    utimesSync(partial, seconds, seconds);
    const next = scheduled(elsewhere, url);
    await next.look();
    await until(() => next.told.includes("backed up"), "the backup");
    for (const name of backupsIn(elsewhere)) rmSync(join(elsewhere, name));
  }
});

it("backups of a time that has not come neither keep others from being made nor from being kept", async () => {
  const [directory, url] = [temporaryFolder(), await migratedUrl()];
  const [old, future] = ["keystead-20260101T000000Z.backup", "keystead-29990101T000000Z.backup"];
  for (const name of [old, future]) writeFileSync(join(directory, name), "");
  assert.equal(newestBackup({ directory }, Date.now()), Date.parse("2026-01-01T00:00:00Z"));
  const { look, told, backups } = scheduled(directory, url, { keep: 1 });
  await look();
  await until(() => told.includes("backed up"), "the backup");
  await backups.stop();
  const kept = backupsIn(directory).sort();
  assert.deepEqual([kept.length, kept.includes(old), kept.includes(future)], [2, false, true]);
});

it("a backup that was made is no failure where old ones cannot be removed", async () => {
  const [directory, url] = [temporaryFolder(), await migratedUrl()];
  // Whoever runs this may remove any file; a folder is none.
  mkdirSync(join(directory, "keystead-20260101T000000Z.backup"));
  const { look, told, backups } = scheduled(directory, url, { keep: 1 });
  await look();
  await until(() => told.length === 2, "the warning");
  assert.deepEqual(told, ["backed up", "old backups could not be removed"]);
  const registry = new Registry();
  backups.measure(registry);
  assert.match(await registry.metrics(), /^keystead_backup_failures_total 0$/m);
});

it("a backup that failed is tried again after the pause, wherever the clock was set, and is a problem until then", async (test) => {
  const [folder, url] = [temporaryFolder(), await migratedUrl()];
  const directory = join(folder, "backups");
  writeFileSync(directory, "no folder");
  let [now, elapsed] = [Date.now(), 0];
  test.mock.method(performance, "now", () => elapsed);
  const { look, told, backups } = scheduled(directory, url, { clock: () => now });
  await look();
  assert.deepEqual(told, ["a scheduled backup failed"]);
  assert.match(backups.problem() ?? "", /it is in a place that does not exist$/);
  rmSync(directory);
  now -= 7 * 86_400_000;
  elapsed += 9 * 60_000;
  await look();
  assert.equal(told.length, 1, "it pauses");
  elapsed += 2 * 60_000;
  await look();
  await until(() => told.includes("backed up"), "the backup");
  assert.equal(backups.problem(), undefined);
});

it("a backup that failed is tried again by the time that the next one is due, where that is before the pause ends", async (test) => {
  const [folder, url] = [temporaryFolder(), await migratedUrl()];
  const directory = join(folder, "backups");
  writeFileSync(directory, "no folder");
  let elapsed = 0;
  test.mock.method(performance, "now", () => elapsed);
  const { look, told } = scheduled(directory, url, { every: 60 });
  await look();
  rmSync(directory);
  elapsed += 20_000;
  await look();
  assert.deepEqual(told, ["a scheduled backup failed"], "it pauses");
  elapsed += 40_000;
  await look();
  await until(() => told.includes("backed up"), "the backup");
});

it("a schedule that cannot be is refused at the start", () => {
  const refused = (backup: object, expected: RegExp, more: Record<string, string> = {}) => {
    const file = join(temporaryFolder(), "config.json");
    writeFileSync(file, JSON.stringify({ backup }));
    assert.throws(() => loadConfig({ KEYSTEAD_CONFIG: file, ...more }), expected);
  };
  const right = { every: 3600, keep: 2, directory: "/var/backups" };
  refused({ ...right, directory: "backups" }, /bad value for `backup`: `directory` must be an absolute path/);
  refused({ ...right, every: 1 }, /bad value for `backup`: `backup\.every` must be an integer from 60 to 2592000/);
  refused({ ...right, keep: 0 }, /bad value for `backup`/);
  refused(
    { ...right, often: true },
    /`backup\.often` is unknown; the known ones are every, keep, directory, encryptTo/,
  );
  refused({ ...right, encryptTo: "age1nobody" }, /`encryptTo`: the recipient must be an age recipient/);
  refused(right, /a database in memory cannot be backed up/, { DATABASE_URL: "sqlite::memory:" });
});
