import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import {
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { before, describe, it } from "node:test";
import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { copyDatabase } from "../../src/main/backup/copy.ts";
import { restore } from "../../src/main/backup/restore.ts";
import { loadConfig } from "../../src/main/config.ts";
import { sqliteReader } from "../../src/storage/backup/row-reader.ts";
import { writeBackup } from "../../src/storage/backup/write-file.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { FolderInUse, type LockHolder, ServerLock } from "../../src/storage/server-lock.ts";
import type { Json } from "../support/client.ts";
import { dumpOf, linesOf, newPlace, type Place, refuses, runIn, runWell } from "../support/place.ts";
import { carryFiles, populate } from "../support/populated.ts";
import { engines, freshDatabaseUrl, itInTurns, startTestServer } from "../support/server.ts";
import {
  readJson,
  refusalOf,
  settingsOf,
  spawnKeystead,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** `keystead backup`, `restore` and `copy`, from each engine to each. */

/** As the command does it, without a process of its own. */
const restoreHere = ({ dataDir, databaseUrl }: Place, file: string) =>
  restore(loadConfig({ KEYSTEAD_DATA_DIR: dataDir, DATABASE_URL: databaseUrl }), {
    file,
    identity: undefined,
    sha256: undefined,
    onProgress: () => {},
  });

const isEmpty = async ({ databaseUrl, dataDir }: Place): Promise<boolean> => {
  if (databaseUrl.startsWith("sqlite:")) return !readdirSync(dataDir).some((name) => name.startsWith("keystead.db"));
  const database = openDatabase({ url: databaseUrl });
  const { isEmpty } = await database.schemaState();
  await database.close();
  return isEmpty;
};

for (const engine of engines) {
  describe(`a backup of ${engine}`, () => {
    const source: Place = { dataDir: temporaryFolder(), databaseUrl: "" };
    const file = join(temporaryFolder(), "keystead.backup");
    const other = engine === "sqlite" ? "postgres" : "sqlite";
    let written: Json;
    /** After the server was stopped. */
    let second: Json;
    const itInTurn = itInTurns(engine);

    before(async () => {
      source.databaseUrl = await freshDatabaseUrl(engine, source.dataDir);
      const server = await startTestServer(engine, source);
      await populate(server);
      // While it runs.
      written = await runWell(source, "backup", file);
      await server.close();
      second = await runWell(source, "backup", `${file}-2`);
    });

    it(`tells ${other} of no server of its source, and neither does a copy from there`, async () => {
      const [restored, copied] = [await newPlace(other), await newPlace(engine)];
      const withServers = async ({ databaseUrl }: Place, use: (database: Database) => Promise<unknown>) => {
        const database = openDatabase({ url: databaseUrl });
        await use(database);
        const servers = await database.read.selectFrom("servers").select("id").execute();
        await database.close();
        return servers.map(({ id }) => id);
      };
      const { manifest } = await restoreHere(restored, file);
      assert.equal(manifest.tables.servers, 1, "the one that ran while it was made");
      assert.deepEqual(await withServers(restored, async () => {}), []);
      const killed = { id: "killed", host: "a", pid: 1, version: "0.1.0", url: "", state: "serving" as const };
      const row = { ...killed, is_draining: 0, started_at: 1, seen_at: 1 };
      const servers = await withServers(restored, ({ transact }) =>
        transact(undefined, (tx) => tx.insertInto("servers").values(row).execute()),
      );
      assert.deepEqual(servers, ["killed"]);
      await copyDatabase({ from: restored.databaseUrl, to: copied.databaseUrl, onProgress: () => {}, warn: () => {} });
      assert.deepEqual(await withServers(copied, async () => {}), []);
    });

    itInTurn("is one file for its owner alone, with a manifest in front and a digest at the end", () => {
      assert.equal(statSync(file).mode & 0o777, 0o600);
      assert.deepEqual(
        readdirSync(join(file, "..")).sort(),
        ["keystead.backup", "keystead.backup-2"],
        "no partial file is left",
      );
      const text = zstdDecompressSync(readFileSync(file)).toString();
      const lines = text.trimEnd().split("\n");
      const manifest = JSON.parse(lines[0] as string);
      assert.deepEqual([manifest.keystead, manifest.format, manifest.engine], ["backup", 1, engine]);
      assert.match(manifest.rootKeyId, /^[0-9a-f]{32}$/);
      assert.match(manifest.installationId, /^[0-9a-f]{32}$/);
      const end = lines.at(-1) as string;
      const digest = createHash("sha256")
        .update(text.slice(0, -end.length - 1))
        .digest("hex");
      assert.deepEqual(JSON.parse(end), { end: true, sha256: digest });
      assert.equal(written.sha256, digest);
      const rows = lines.filter((line) => line.startsWith("[")).length;
      assert.equal(written.rows, rows);
      assert.equal(
        Object.values(manifest.tables as Record<string, number>).reduce((sum, count) => sum + count, 0),
        rows,
      );
    });

    itInTurn("holds no key in clear", () => {
      const { rootKey } = JSON.parse(readFileSync(join(source.dataDir, "root.key"), "utf8"));
      const text = zstdDecompressSync(readFileSync(file)).toString();
      for (const secret of [rootKey, Buffer.from(rootKey, "base64").toString("hex")]) assert.ok(!text.includes(secret));
    });

    for (const target of engines) {
      itInTurn(`restores into ${target}, row by row, and into ${engine} again from there`, async () => {
        const place = await newPlace(target);
        await runWell(place, "restore", `${file}-2`);
        assert.deepEqual(await linesOf(place), await linesOf(source));
        const back = await newPlace(engine);
        const again = join(place.dataDir, "again.backup");
        await runWell(place, "backup", again);
        await runWell(back, "restore", again);
        assert.deepEqual(await dumpOf(back), await dumpOf(source));
        if (target === engine) assert.deepEqual(await dumpOf(place), await dumpOf(source));
      });
    }

    itInTurn(`serves from ${other}, with the root key and the credentials of before`, async () => {
      const place = await newPlace(other);
      carryFiles(source.dataDir, place.dataDir);
      await runWell(place, "restore", `${file}-2`, "--sha256", second.sha256);
      if (other === "sqlite") assert.equal(statSync(join(place.dataDir, "keystead.db")).mode & 0o777, 0o600);
      const server = await startServerProcess(place);
      const { privateKeys } = await server.root.read("list_private_keys");
      assert.deepEqual(privateKeys, []);
      await server.root.result("create_user_tag", { userTagName: "works", userIds: [] });
      const { address } = (
        await server.root.result("create_private_keys", {
          privateKeys: [
            {
              privateKeyName: "new",
              curve: "CURVE_SECP256K1",
              privateKeyTags: [],
              addressFormats: ["ADDRESS_FORMAT_ETHEREUM"],
            },
          ],
        })
      ).privateKeys[0].addresses[0];
      await server.root.result("sign_raw_payload", {
        signWith: address,
        payload: "00".repeat(32),
        encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
        hashFunction: "HASH_FUNCTION_NO_OP",
      });
      await server.end("SIGKILL");
    });

    itInTurn(`is copied into ${other} and back, and a copy into a place that is not empty is refused`, async () => {
      const there = await newPlace(other);
      const back = await newPlace(engine);
      const copied = await runWell(source, "copy", "--from", source.databaseUrl, "--to", there.databaseUrl);
      assert.equal(copied.rows, second.rows);
      await runWell(source, "copy", "--from", there.databaseUrl, "--to", back.databaseUrl);
      assert.deepEqual(await linesOf(there), await linesOf(source));
      assert.deepEqual(await dumpOf(back), await dumpOf(source));
      const again = ["copy", "--from", source.databaseUrl, "--to", there.databaseUrl];
      await refuses(/there is a database already/, source, ...again);
    });

    itInTurn("is restored to where a link leads, to a file or to nowhere yet", async () => {
      const place = await newPlace("sqlite");
      const link = join(place.dataDir, "keystead.db");
      const volume = temporaryFolder();
      symlinkSync("keystead-2.db", join(volume, "keystead.db"));
      symlinkSync(join(volume, "keystead.db"), link);
      await restoreHere(place, `${file}-2`);
      assert.equal(readlinkSync(link), join(volume, "keystead.db"));
      assert.equal(readlinkSync(join(volume, "keystead.db")), "keystead-2.db");
      assert.ok(statSync(join(volume, "keystead-2.db")).size > 0);
      assert.deepEqual(await linesOf(place), await linesOf(source));
      const circle = await newPlace("sqlite");
      symlinkSync("keystead.db", join(circle.dataDir, "keystead.db"));
      await assert.rejects(restoreHere(circle, `${file}-2`), /ELOOP/);
    });

    itInTurn("leaves nothing when it or its drill is ended by a signal", async () => {
      const place = await newPlace("sqlite");
      const { dataDir } = place;
      const rootKey = join(source.dataDir, "root.key");
      for (const [args, unfinished] of [
        [["backup", join(dataDir, "ended.backup")], /\.partial$/],
        [["backup", "verify", file, "--root-key", rootKey, "--scratch", dataDir], /^keystead-verify-/],
      ] as const) {
        const left = () => readdirSync(dataDir).filter((name) => unfinished.test(name));
        const started = spawnKeystead(args, { settings: settingsOf(source) });
        let exit: unknown;
        void started.exited.then((how) => {
          exit = how;
        });
        await until(() => left().length > 0 || exit !== undefined, "the work to begin");
        await started.end("SIGINT");
        assert.deepEqual(left(), [], started.stderr());
        rmSync(join(dataDir, "keystead.db"), { force: true });
      }
    });

    itInTurn(
      "is copied into a SQLite database whose folder no server has, and no server has it meanwhile",
      async () => {
        const place = await newPlace("sqlite");
        const copy = ["copy", "--from", source.databaseUrl, "--to", place.databaseUrl];
        const holder = { command: "serve", pid: process.pid, host: hostname(), since: new Date().toISOString() };
        const lock = ServerLock.take(place.dataDir, holder);
        await refuses(/is in use by another Keystead \(keystead serve/, source, ...copy);
        assert.ok(await isEmpty(place));
        lock.release();
        let lockedBy: string | undefined;
        const onProgress = () => {
          assert.throws(() => ServerLock.take(place.dataDir, holder), FolderInUse);
          lockedBy ??= (readJson(join(place.dataDir, "server.lock.json")) as LockHolder).command;
        };
        const warn = (text: string) => assert.fail(text);
        const { rows } = await copyDatabase({ from: source.databaseUrl, to: place.databaseUrl, onProgress, warn });
        assert.deepEqual([rows, lockedBy], [second.rows, "copy"]);
        ServerLock.take(place.dataDir, holder).release();
        const beside = { ...place, databaseUrl: `sqlite:${join(place.dataDir, "beside.db")}` };
        await runWell(source, "copy", "--from", place.databaseUrl, "--to", beside.databaseUrl);
        assert.deepEqual(await linesOf(beside), await linesOf(source));
      },
    );

    itInTurn("is refused, before anything is written, when it is not whole or not ours", async () => {
      const place = await newPlace(engine);
      const whole = readFileSync(`${file}-2`);
      const text = zstdDecompressSync(whole).toString();
      const lines = text.trimEnd().split("\n");
      const broken = join(temporaryFolder(), "broken.backup");
      const refused = async (content: Buffer, expected: RegExp) => {
        writeFileSync(broken, content);
        await assert.rejects(restoreHere(place, broken), expected);
        assert.ok(await isEmpty(place));
        assert.deepEqual(readdirSync(place.dataDir), []);
      };
      const compressed = (text: string) => zstdCompressSync(text);
      const altered = (from: string | RegExp, to: string) => compressed(text.replace(from, to));
      const rehashed = (lines: string[]) => {
        const content = `${lines.join("\n")}\n`;
        const end = { end: true, sha256: createHash("sha256").update(content).digest("hex") };
        return compressed(`${content}${JSON.stringify(end)}\n`);
      };

      await refuses(/the file does not exist/, place, "restore", `${broken}-missing`);
      await refused(Buffer.alloc(0), /it is not a Keystead backup/);
      await refused(randomBytes(4096), /it is not a Keystead backup/);
      await refused(Buffer.from(text), /it is not a Keystead backup/);
      await refused(compressed("hello\n"), /it is not a Keystead backup/);
      for (const share of [0.1, 0.5, 0.99]) {
        await refused(whole.subarray(0, Math.floor(whole.length * share)), /damaged or cut off|it is cut off/);
      }
      await refused(whole.subarray(0, whole.length - 64), /damaged or cut off|it is cut off/);
      const flipped = Buffer.from(whole);
      const middle = Math.floor(whole.length / 2);
      flipped[middle] = (flipped[middle] as number) ^ 1;
      // What a flipped bit makes of the compressed text is another thing each time.
      await refused(flipped, /cannot be used: (it|tables) /);
      await refused(compressed(lines.slice(0, -1).join("\n").concat("\n")), /it is cut off: its end is missing/);
      await refused(compressed(text.slice(0, -20)), /it is cut off in the middle of a line/);
      await refused(compressed(`${text}[]\n`), /it continues after its end/);
      await refused(Buffer.concat([whole, Buffer.from("more")]), /it continues after its end/);
      await refused(Buffer.concat([whole, whole]), /it continues after its end/);
      const emptyFrame = Buffer.from("28b52ffd2000010000", "hex");
      const hasOne = emptyFrame.equals(whole.subarray(-emptyFrame.length));
      const bare = hasOne ? whole.subarray(0, -emptyFrame.length) : whole;
      await refused(Buffer.concat([bare, emptyFrame.subarray(0, 8)]), /it is cut off/);
      await refused(altered("World", "Wurld"), /it was altered/);
      await refused(altered('"format":1', '"format":2'), /it has format 2, and this version reads format 1/);
      await refused(
        altered(/"schema":"[^"]+"/, '"schema":"9999-later"'),
        /a newer version .* does not know .* 9999-later/,
      );
      const row = lines.findIndex((line) => line.startsWith("["));
      await refused(rehashed(lines.slice(0, -1).toSpliced(row, 1)), /rows of [a-z0-9_]+ but announces/);
      const inserted = lines.slice(0, -1).toSpliced(row, 1, "[1]");
      await refused(rehashed(inserted), /a row that fits no table/);
      const table = lines.findIndex((line) => line.startsWith('{"table"'));
      const renamed = lines.slice(0, -1).toSpliced(table, 1, '{"table":"elsewhere","columns":[]}');
      await refused(rehashed(renamed), /does not contain the tables of schema/);
      const long = zstdCompressSync(Buffer.alloc(70 * 1024 * 1024, 65), {
        params: { [constants.ZSTD_c_windowLog]: 20 },
      });
      await refused(long, /longer than any row/);
      const sha256 = "0".repeat(64);
      await refuses(/has the digest [0-9a-f]{64}, not 0{64}/, place, "restore", `${file}-2`, "--sha256", sha256);
      assert.ok(await isEmpty(place));
    });

    itInTurn("whose references do not hold leaves nothing", async () => {
      const place = await newPlace(engine);
      const lines = zstdDecompressSync(readFileSync(`${file}-2`))
        .toString()
        .trimEnd()
        .split("\n")
        .slice(0, -1);
      const at = lines.findIndex((line) => line.startsWith('{"table":"users"'));
      const manifest = JSON.parse(lines[0] as string);
      manifest.tables.users = 0;
      const end = lines.findIndex((line, index) => index > at && line.startsWith("{"));
      const content = `${[JSON.stringify(manifest), ...lines.slice(1, at + 1), ...lines.slice(end)].join("\n")}\n`;
      const digest = createHash("sha256").update(content).digest("hex");
      const broken = join(temporaryFolder(), "broken.backup");
      writeFileSync(broken, zstdCompressSync(`${content}{"end":true,"sha256":"${digest}"}\n`));
      await refuses(/refers to a row|violates foreign key/, place, "restore", broken);
      assert.ok(await isEmpty(place));
      assert.ok(!existsSync(join(place.dataDir, "restore.unfinished.json")));
    });

    itInTurn("is restored into an empty place alone, and beside its own root key alone", async () => {
      const before = await linesOf(source);
      await refuses(/there is a database already/, source, "restore", `${file}-2`);
      assert.deepEqual(await linesOf(source), before);
      const foreign = await newPlace(engine);
      await (await startServerProcess(await newPlaceIn(foreign.dataDir))).end("SIGTERM");
      await refuses(
        /is not the one that sealed the keys in this backup; nothing was written/,
        foreign,
        "restore",
        `${file}-2`,
      );
      const served = await newPlace(engine);
      const told = await runIn(served, "restore", `${file}-2`);
      assert.equal(JSON.parse(told.stdout).rootKey, "missing, not checked");
      assert.match(told.stderr, /^keystead: the root key file .+ does not exist, so it could not be checked; /m);
      await refuses(/there is a database already/, served, "restore", `${file}-2`);
      assert.match(await refusalOf(served), /root key/);
    });

    itInTurn("is refused where there is a file already, and of a database that is not there", async () => {
      const content = readFileSync(file);
      await refuses(/the file .* exists already/, source, "backup", file);
      assert.deepEqual(readFileSync(file), content);
      const meanwhile = `${file}-4`;
      const onProgress = () => writeFileSync(meanwhile, "another's");
      const writing = writeBackup({ url: source.databaseUrl, file: meanwhile, version: "1", onProgress });
      await assert.rejects(writing, /the file .* exists already/);
      assert.equal(readFileSync(meanwhile, "utf8"), "another's");
      const nothing = await newPlace(engine);
      await refuses(/there is no database|the database is empty/, nothing, "backup", `${file}-5`);
      assert.ok(!existsSync(`${file}-5`));
    });
  });
}

it("rows of SQLite are counted in portions, between which others have their turn", async () => {
  const database = new DatabaseSync(":memory:");
  database.exec("create table numbers (number text primary key)");
  const upTo = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) select i from n";
  database.exec(`insert into numbers ${upTo}; delete from numbers where rowid between 5000 and 5999`);
  let turns = 0;
  let isDone = false;
  const turn = () => {
    turns++;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  const count = await sqliteReader(database).count({ name: "numbers", columns: [], key: [] });
  isDone = true;
  assert.equal(count, 19_000);
  assert.ok(turns >= 5, `${turns} turns`);
  database.close();
});

/** A SQLite installation of another name in this folder: its root key is what counts. */
const newPlaceIn = async (dataDir: string): Promise<Place> => ({
  dataDir,
  databaseUrl: `sqlite:${join(temporaryFolder(), "elsewhere.db")}`,
});
