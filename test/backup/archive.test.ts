import assert from "node:assert/strict";
import { copyFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { basename, dirname, join } from "node:path";
import { before, it } from "node:test";
import { fileURLToPath } from "node:url";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import pg from "pg";
import { archivedBefore, removeArchived, stillNeeded } from "../../src/engine/activities/archived.ts";
import { DAY_MS } from "../../src/kernel/durations.ts";
import { newId } from "../../src/kernel/ids.ts";
import { archive as archiveTo } from "../../src/main/archive/archive.ts";
import { readDate } from "../../src/main/archive/commands.ts";
import { ArchiveProblem } from "../../src/main/archive/format.ts";
import { lockArchives } from "../../src/main/archive/lock.ts";
import { archiveKeysOf, verifyArchive } from "../../src/main/archive/verify.ts";
import { writeArchive } from "../../src/main/archive/write.ts";
import type { Reader } from "../../src/storage/engine.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import { addUser, authenticatorParams, type Client, type Json } from "../support/client.ts";
import { onEachEngine } from "../support/server.ts";
import { runKeystead, settingsOf, spawnKeystead, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";
import { createWorld } from "../support/world.ts";

/** `keystead archive` and `keystead verify`, beside a server that runs. */

const KILLER = fileURLToPath(new URL("../support/kill-at-step.ts", import.meta.url));
/** For commands, it is two months later. */
const later = `data:text/javascript,${encodeURIComponent(`const now=Date.now;Date.now=()=>now()+${60 * DAY_MS}`)}`;

const tables = ["activities", "votes", "authentications", "policy_evaluations", "app_proofs"] as const;
const lineNames = { activities: "activity", votes: "vote", authentications: "authentication" } as const;
const nameOf = (table: (typeof tables)[number]): string =>
  ({ ...lineNames, policy_evaluations: "policyEvaluation", app_proofs: "appProof" })[table];

/** All rows of the record, as text. */
async function recordOf(read: Reader): Promise<Map<string, string[]>> {
  const record = new Map<string, string[]>();
  for (const table of tables) {
    const rows = await read.selectFrom(table).selectAll().execute();
    record.set(
      nameOf(table),
      rows.map((row) => canonical(row)),
    );
  }
  return record;
}

/** Columns in one order: the engines keep them in different ones. */
const canonical = (row: object): string =>
  JSON.stringify(Object.entries(row).sort(([one], [other]) => (one < other ? -1 : 1)));

const linesIn = (file: string): Json[] =>
  zstdDecompressSync(readFileSync(file))
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));

const isOf = (row: string, id: string): boolean => row.includes(`"${id}"`);

onEachEngine("an archive of activities", (server) => {
  const folder = temporaryFolder();
  const file = join(folder, "old.archive");
  let date: string;
  let client: Client;
  let open: Json;
  let proved: Json;
  let all: Map<string, string[]>;
  let keys: string[];

  const settings = (more: Record<string, string> = {}) => {
    const { dataDir, databaseUrl } = server();
    return settingsOf({ dataDir, databaseUrl, settings: more });
  };
  const archive = (target: string, until: string, more: Record<string, string> = {}) =>
    runKeystead(["archive", target, "--before", until], settings({ NODE_OPTIONS: `--import=${later}`, ...more }));

  /** As the command does it, without a process of its own. */
  const archiveHere = (target: string, until: string, now = Date.now() + 60 * DAY_MS) =>
    archiveTo(server().opened, { file: target, before: Date.parse(until), now, onProgress: () => {} });

  before(async () => {
    const { root } = await createWorld(server());
    ({ client } = root);
    const passkey = { authenticator: createAuthenticator(), origin: "https://app.example.com", rpId: "example.com" };
    const second = await addUser(client, "Second");
    await client.result("create_policy", { policyName: "p", effect: "EFFECT_ALLOW", condition: "true", notes: "" });
    await second.client.result("create_user_tag", { userTagName: "by a policy", userIds: [] });
    await client.result("create_authenticators", {
      userId: second.userId,
      authenticators: [authenticatorParams(passkey)],
    });
    proved = (
      await client.submit(
        "update_organization_name",
        { organizationName: "Ours" },
        { more: { generateAppProofs: true } },
      )
    ).body.activity;
    // More than are removed at once.
    for (let count = 0; count < 50; count++) {
      await client.result("create_user_tag", { userTagName: `tag ${count}`, userIds: [] });
    }
    await client.result("update_root_quorum", { threshold: 2, userIds: [root.userId, second.userId] });
    const asked = (await client.submit("update_organization_name", { organizationName: "Voted" })).body.activity;
    await client.withPasskey(passkey).submit("approve_activity", { fingerprint: asked.fingerprint });
    open = (await client.submit("update_organization_name", { organizationName: "Open" })).body.activity;
    assert.equal(open.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    const other = await createWorld(server());
    await other.root.client.result("create_user_tag", { userTagName: "elsewhere", userIds: [] });
    date = new Date(Date.now() + 1).toISOString();
    all = await recordOf(server().opened.database.read);
    keys = await archiveKeysOf(server().opened.database.read);
    assert.equal(keys.length, 1);
  });

  it("is not made of what is young, nor of nothing, nor over another file", async () => {
    await assert.rejects(archiveHere(file, date, Date.now()), /35 days ago or more/);
    await assert.rejects(
      archiveHere(file, "2020-01-01"),
      /there are no activities to archive: .+ before 2020-01-01T00:00:00\.000Z$/,
    );
    assert.deepEqual(readdirSync(folder), [], "and leaves no file");
    const foreign = join(temporaryFolder(), "notes.txt");
    writeFileSync(foreign, "notes");
    await assert.rejects(archiveHere(foreign, date), /notes\.txt cannot be used: it is not a Keystead archive/);
    assert.equal(readFileSync(foreign, "utf8"), "notes");
    assert.deepEqual(await recordOf(server().opened.database.read), all, "nothing was removed");
  });

  it("is made of what was before a day that there is", () => {
    assert.equal(readDate("2024-02-29"), Date.UTC(2024, 1, 29));
    assert.equal(readDate("2025-01-01T00:30:00+01:00"), Date.UTC(2024, 11, 31, 23, 30));
    for (const text of ["2025-02-29", "2025-02-30", "2025-04-31T00:00:00Z", "2025-13-01", "1960-01-01"]) {
      assert.throws(() => readDate(text), /--before must be a date/, text);
    }
  });

  it("never takes the place of one that another command wrote meanwhile", async () => {
    const target = join(temporaryFolder(), "twice.archive");
    const write = () => writeArchive(server().opened, { file: target, before: Date.parse(date), now: Date.now() });
    await write();
    const written = readFileSync(target);
    await assert.rejects(write(), /another archive command has written .* run the same command again/);
    assert.deepEqual(readFileSync(target), written);
    assert.deepEqual(readdirSync(dirname(target)), [basename(target)]);
  });

  it("leaves an activity that an event came to need after the file was written", async () => {
    const { database } = server().opened;
    const [id, owner] = [proved.id, proved.organizationId];
    const [{ updated_at: updatedAt } = { updated_at: 0 }] = await database.read
      .selectFrom("activities")
      .select("updated_at")
      .where("id", "=", id)
      .execute();
    const event = { id: newId(), organization_id: owner, event_type: "ACTIVITY_UPDATES", body: "{}", activity_id: id };
    await database.transact(owner, (tx) =>
      tx
        .insertInto("webhook_events")
        .values({ ...event, created_at: Date.now() })
        .execute(),
    );
    const removed = await database.transact(owner, (tx) =>
      removeArchived(tx, owner, [{ id, updatedAt }], Date.parse(date)),
    );
    assert.equal(removed, 0);
    await database.transact(owner, (tx) => tx.deleteFrom("webhook_events").where("id", "=", event.id).execute());
    assert.deepEqual(await recordOf(database.read), all);
  });

  it("leaves an activity whose transaction is on its way", async () => {
    const { database } = server().opened;
    const [id, owner] = [proved.id, proved.organizationId];
    const [{ updated_at: updatedAt } = { updated_at: 0 }] = await database.read
      .selectFrom("activities")
      .select("updated_at")
      .where("id", "=", id)
      .execute();
    const send = {
      organization_id: owner,
      id: newId(),
      activity_id: id,
      caip2: "eip155:1",
      status: "BROADCASTING",
      signed_transaction: Buffer.alloc(0),
      transaction_hash: "0x00",
      sponsored: 0,
      error: null,
      progress: null,
      sent_at: null,
      created_at: 1,
      updated_at: 1,
    } as const;
    await database.transact(owner, (tx) => tx.insertInto("send_transactions").values(send).execute());
    const removed = await database.transact(owner, (tx) =>
      removeArchived(tx, owner, [{ id, updatedAt }], Date.parse(date)),
    );
    assert.equal(removed, 0);
    const without = join(temporaryFolder(), "without.archive");
    await writeArchive(server().opened, { file: without, before: Date.parse(date), now: Date.now() });
    const archived = linesIn(without).flatMap(({ activity }) => activity?.id ?? []);
    assert.equal(archived.length, (all.get("activity")?.length as number) - 2, "nor is the open one in it");
    assert.ok(!archived.includes(id));
    const ended = (status: "INCLUDED") =>
      database.transact(owner, (tx) =>
        tx.updateTable("send_transactions").set({ status }).where("id", "=", send.id).execute(),
      );
    await ended("INCLUDED");
    assert.ok(!(await stillNeeded(database.read, owner, [id])).has(id));
    await database.transact(owner, (tx) => tx.deleteFrom("send_transactions").where("id", "=", send.id).execute());
    assert.deepEqual(await recordOf(database.read), all);
  });

  it("is made by one command at a time, and another one names it", async () => {
    const held = join(temporaryFolder(), "held.archive");
    const stopped = spawnKeystead(["archive", held, "--before", date], {
      settings: settings({
        NODE_OPTIONS: `--import=${later} --import=${KILLER}`,
        KILL_AT_STEP: basename(held),
        KILL_SIGNAL: "SIGSTOP",
      }),
    });
    await until(() => existsSync(held), "its file to be there");
    for (const target of [held, join(temporaryFolder(), "another.archive")]) {
      const { code, stderr } = await archive(target, date);
      assert.equal(code, 1);
      assert.match(
        stderr,
        new RegExp(
          `^keystead: another archive command is working on this database \\(keystead archive, process ${stopped.pid} on ${hostname()}, since \\d{4}-\\d\\d-\\d\\dT[^)]*Z\\); run this one again`,
        ),
      );
      assert.equal(existsSync(target), target === held);
    }
    assert.deepEqual(await recordOf(server().opened.database.read), all, "neither removed anything");
    assert.equal((await stopped.end("SIGKILL")).signal, "SIGKILL");
    // PostgreSQL hears of it a moment later.
    await until(async () => {
      const lock = await lockArchives(server().databaseUrl).catch((error: unknown) => {
        assert.ok(error instanceof ArchiveProblem);
      });
      await lock?.release();
      return lock !== undefined;
    }, "the dead one's lock to be free");
  });

  it("loses nothing, wherever it is killed, and the same command finishes it", async () => {
    const { read } = server().opened.database;
    let kills = 0;
    for (let step = 1; ; step++) {
      const killed = { NODE_OPTIONS: `--import=${later} --import=${KILLER}`, KILL_AT_STEP: String(step) };
      const { code, signal, stdout, stderr } = await archive(file, date, killed);
      const kept = await recordOf(read);
      const isWhole = existsSync(file) && (await verifyArchive(file, keys)).ok;
      const archived = isWhole ? linesIn(file).map((line) => canonical(Object.values(line)[0] as object)) : [];
      const known = new Set([...[...kept.values()].flat(), ...archived]);
      for (const rows of all.values()) for (const row of rows) assert.ok(known.has(row), `step ${step} lost ${row}`);
      for (const vote of kept.get("vote") ?? []) {
        const { activity_id: id } = Object.fromEntries(JSON.parse(vote));
        assert.ok(
          kept.get("activity")?.some((row) => isOf(row, id)),
          "votes go with their activities",
        );
      }
      if (signal === "SIGKILL") {
        kills++;
        continue;
      }
      assert.equal(code, 0, stderr);
      assert.equal(JSON.parse(stdout).activities, archived.length === 0 ? -1 : linesIn(file).at(-1).activities);
      break;
    }
    assert.ok(kills >= 4, "its name, and each batch");
  });

  it("holds every row of what had ended, and the database holds the others", async () => {
    const kept = await recordOf(server().opened.database.read);
    assert.equal(kept.get("activity")?.length, 1);
    assert.ok(isOf(kept.get("activity")?.[0] as string, open.id));
    const lines = linesIn(file);
    for (const [name, rows] of all) {
      const archived = lines.flatMap((line) => (line[name] ? [canonical(line[name])] : []));
      assert.deepEqual([...archived, ...(kept.get(name) ?? [])].sort(), [...rows].sort(), name);
    }
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const [manifest, seal] = [lines[0], lines.at(-1)];
    assert.equal(manifest.before, date);
    assert.equal(seal.activities, (all.get("activity")?.length as number) - 1);
    const others = readdirSync(dirname(file)).filter((name) => name !== basename(file));
    assert.ok(
      others.every((name) => name.endsWith(".partial")),
      others.join(),
    );
  });

  it("tells who asks for an activity that is in it, and lets the open one be voted on", async () => {
    const { status, body } = await client.query("get_activity", { activityId: proved.id });
    assert.equal(status, 404);
    assert.match(body.message, /submitted and ended before .* are in an archive/);
    assert.deepEqual(
      (await client.read("list_activities")).activities.map(({ id }: Json) => id),
      [open.id],
    );
    assert.equal((await client.query("get_activity", { activityId: open.id })).status, 200);
    const votes = await runKeystead(["verify-votes", proved.id], settings());
    assert.equal(votes.code, 1);
    assert.match(
      votes.stderr,
      /before .+Z are in an archive: `keystead verify <archive>` verifies every stamp in it\n$/,
    );
  });

  it("may account for rows of which it is therefore not known whether any activity does", async () => {
    const { code, stdout } = await runKeystead(["verify-authority"], settings());
    const { unaccounted, unknown, archivedBefore } = JSON.parse(stdout);
    assert.deepEqual([code, unaccounted, archivedBefore], [0, [], date]);
    assert.deepEqual(unknown.map(({ what }: { what: string }) => what.split(" ")[0]).sort(), [
      "API",
      "organizations",
      "passkeys",
      "policies",
      "users",
    ]);
  });

  it("is verified by the database's keys, or by a key alone, and tells every stamp", async () => {
    const byDatabase = await runKeystead(["verify", file], settings());
    assert.equal(byDatabase.code, 0, byDatabase.stderr + byDatabase.stdout);
    const report = JSON.parse(byDatabase.stdout);
    const activities = (all.get("activity")?.length as number) - 1;
    // The passkey's vote beside those of the submissions.
    assert.deepEqual([report.ok, report.activities, report.stamps.valid], [true, activities, activities + 1]);
    assert.deepEqual([report.stamps.invalid, report.proofs], [0, { valid: 1, invalid: 0 }]);
    const published = (await (await fetch(`${server().baseUrl}/.well-known/keystead.json`)).json()) as Json;
    const { publicKey } = published.serviceKeys.archive[0];
    const elsewhere = { KEYSTEAD_DATA_DIR: temporaryFolder() };
    const alone = await runKeystead(["verify", file, "--key", publicKey], elsewhere);
    assert.deepEqual(JSON.parse(alone.stdout), report);
    await assert.rejects(
      verifyArchive(file, [`02${"ab".repeat(32)}`]),
      /not one of the keys that it may be signed with/,
    );
  });

  it("is refused where it is altered or cut off, and nothing is removed because of it", async () => {
    const text = zstdDecompressSync(readFileSync(file)).toString();
    const copy = join(temporaryFolder(), "altered.archive");
    const refusedAs = async (expected: RegExp, content: Buffer) => {
      writeFileSync(copy, content);
      await assert.rejects(verifyArchive(copy, keys), expected);
      await assert.rejects(archiveHere(copy, date), expected);
    };
    await refusedAs(/digest is not the one/, zstdCompressSync(text.replace("tag 7", "tag 8")));
    await refusedAs(/its end is missing/, zstdCompressSync(text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1)));
    await refusedAs(/damaged or cut off|its end is missing/, readFileSync(file).subarray(0, -100));
    await refusedAs(/it continues after its end/, Buffer.concat([readFileSync(file), Buffer.from("more")]));
    const seal = JSON.parse(text.trimEnd().split("\n").at(-1) as string);
    const forged = {
      ...seal,
      signature: `${seal.signature.slice(0, -2)}${seal.signature.endsWith("00") ? "01" : "00"}`,
    };
    await refusedAs(/signature does not match/, zstdCompressSync(text.replace(seal.signature, forged.signature)));
    copyFileSync(file, copy);
    const otherDate = new Date(Date.parse(date) - 1).toISOString();
    await assert.rejects(archiveHere(copy, otherDate), /an archive of activities before/);
    assert.equal((await recordOf(server().opened.database.read)).get("activity")?.length, 1);
  });

  it("notes the latest time, whichever of two archives is told of last", async () => {
    const { database } = server().opened;
    const [at, latest] = [Date.parse(date), Date.parse(date) + DAY_MS];
    const updated = await database.read
      .selectFrom("activities")
      .select("updated_at")
      .where("id", "=", open.id)
      .execute();
    const [{ updated_at: updatedAt } = { updated_at: 0 }] = updated;
    const remove = () =>
      database.transact(open.organizationId, (tx) =>
        removeArchived(tx, open.organizationId, [{ id: open.id, updatedAt }], at + 1),
      );
    if (database.read.kind === "postgres") {
      // It has not seen the time that another one is about to note.
      const another = new pg.Client({ connectionString: server().databaseUrl });
      await another.connect();
      try {
        await another.query("begin");
        await another.query("update installation set value = $1 where name = 'activities_archived_before'", [
          String(latest),
        ]);
        const removing = remove();
        await until(async () => {
          const { rows } = await another.query(
            "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
          );
          return rows.length > 0;
        }, "the second to wait");
        await another.query("commit");
        assert.equal(await removing, 1);
      } finally {
        await another.end();
      }
    } else {
      const value = String(latest);
      await database.transact(undefined, (tx) =>
        tx.updateTable("installation").set({ value }).where("name", "=", "activities_archived_before").execute(),
      );
      assert.equal(await remove(), 1);
    }
    assert.equal(await archivedBefore(database.read), latest);
  });
});
