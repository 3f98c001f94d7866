import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { before, describe, it } from "node:test";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { sealedColumns } from "../../src/main/backup/sealed-rows.ts";
import { tablesAt } from "../../src/storage/backup/tables.ts";
import { migrations } from "../../src/storage/migrations/index.ts";
import type { Json } from "../support/client.ts";
import { populate } from "../support/populated.ts";
import { startTestServer } from "../support/server.ts";
import {
  runKeystead,
  settingsOf,
  spawnKeystead,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { noSmallDisks, smallDiskAt } from "../support/small-disk.ts";

/** `keystead backup verify`, on backups in clear and on encrypted ones. */

it("the drill knows every column that holds something sealed", async () => {
  const tables = await tablesAt(Object.keys(migrations).at(-1) as string);
  const sealed = tables.flatMap(({ name, columns }) =>
    columns.filter((column) => column.name.startsWith("sealed_")).map((column) => `${name}.${column.name}`),
  );
  assert.deepEqual(sealedColumns, sealed.sort());
});

describe("a backup that is verified", () => {
  const source = { dataDir: temporaryFolder(), databaseUrl: "" };
  const folder = temporaryFolder();
  const [file, rootKey] = [join(folder, "keystead.backup"), join(source.dataDir, "root.key")];
  const database = join(source.dataDir, "keystead.db");
  let written: Json;

  before(async () => {
    source.databaseUrl = `sqlite:${database}`;
    const server = await startTestServer("sqlite", source);
    await populate(server);
    for (const curve of ["CURVE_P256", "CURVE_ED25519"]) {
      const key = { privateKeyName: curve, curve, privateKeyTags: [], addressFormats: [] };
      await server.root.result("create_private_keys", { privateKeys: [key] });
    }
    const path = (index: number) => `m/44'/60'/0'/0/${index}`;
    const account = {
      curve: "CURVE_SECP256K1",
      pathFormat: "PATH_FORMAT_BIP32",
      addressFormat: "ADDRESS_FORMAT_ETHEREUM",
    };
    const accounts = Array.from({ length: 230 }, (_, index) => ({ ...account, path: path(index) }));
    const { walletId } = await server.root.result("create_wallet", { walletName: "large", accounts: [] });
    for (const part of [accounts.slice(0, 90), accounts.slice(90, 180), accounts.slice(180)]) {
      await server.root.result("create_wallet_accounts", { walletId, accounts: part });
    }
    await server.close();
    written = JSON.parse((await run("backup", file)).stdout);
  });

  const run = (...args: string[]) => runKeystead(args, settingsOf(source));
  const verify = async (backup: string, ...more: string[]) => {
    const scratch = join(folder, "scratch");
    mkdirSync(scratch, { recursive: true });
    const ended = await run("backup", "verify", backup, "--root-key", rootKey, "--scratch", scratch, ...more);
    assert.deepEqual(readdirSync(scratch), [], "nothing is left there");
    return ended;
  };

  it("needs a scratch place that is there", async () => {
    const scratch = join(folder, "nowhere");
    const { code, stderr } = await run("backup", "verify", file, "--root-key", rootKey, "--scratch", scratch);
    assert.equal(code, 1);
    assert.match(stderr, /^keystead: ENOENT: [^\n]+nowhere[^\n]+; check the path: it is not there\n$/);
  });

  const noSmallDisk = noSmallDisks(folder);

  it("says where there is no room for it", { skip: noSmallDisk }, async () => {
    const scratch = join(folder, "small");
    mkdirSync(scratch);
    const place = { dataDir: join(scratch, "data"), databaseUrl: `sqlite:${join(scratch, "data", "keystead.db")}` };
    const refusal = async (args: string[], settings: Record<string, string>, kibibytes: number) => {
      const started = spawnKeystead(args, {
        settings: { ...settings, NODE_DISABLE_COMPILE_CACHE: "1" },
        shellPrefix: smallDiskAt(scratch, kibibytes),
      });
      assert.deepEqual(await started.exited, { code: 1, signal: null });
      return started.stderr();
    };
    // For neither its tables nor its rows.
    for (const kibibytes of [100, 1200]) {
      assert.match(
        await refusal(
          ["backup", "verify", file, "--root-key", rootKey, "--scratch", scratch],
          settingsOf(source),
          kibibytes,
        ),
        /^keystead: the restored database in \S+small\S+ has no room left on its disk \([^\n]+\); make room there, or name another folder with --scratch\n$/m,
      );
      assert.match(
        await refusal(["restore", file], settingsOf(place), kibibytes),
        /^keystead: the restored database in \S+small\S+ has no room left on its disk \([^\n]+\); nothing was left behind\. Make room there, or set KEYSTEAD_DATA_DIR to another folder\n$/m,
      );
    }
  });

  it("leaves nothing where it cannot be written", async () => {
    const dataDir = temporaryFolder();
    const started = spawnKeystead(["restore", file], {
      settings: {
        ...settingsOf({ dataDir, databaseUrl: `sqlite:${join(dataDir, "keystead.db")}` }),
        NODE_DISABLE_COMPILE_CACHE: "1",
      },
      // Of a file, in the 512-byte blocks of a POSIX shell.
      shellPrefix: "ulimit -f 1000",
    });
    assert.deepEqual(await started.exited, { code: 1, signal: null });
    assert.match(started.stderr(), /^keystead: the restored database in \S+ .*\bdisk\b.*; nothing was left behind\./m);
    assert.deepEqual(readdirSync(dataDir), ["server.lock"]);
  });

  it("is not made of a database that is damaged, which is what is said to be", async () => {
    const damaged = temporaryFolder();
    await run("copy", "--from", source.databaseUrl, "--to", `sqlite:${join(damaged, "keystead.db")}`);
    const copy = new DatabaseSync(join(damaged, "keystead.db"));
    const { id } = copy.prepare("select id from organizations limit 1").get() as { id: string };
    // The pages that a long value goes on in are read with its row, and not when rows are counted.
    copy
      .prepare("insert into policy_lists (organization_id, id, policy_ids) values (?, 'long', ?)")
      .run(id, "x".repeat(500_000));
    copy.exec("pragma wal_checkpoint(truncate)");
    copy.close();
    const bytes = readFileSync(join(damaged, "keystead.db"));
    const value = bytes.lastIndexOf("x".repeat(4000));
    assert.ok(value > 0);
    bytes.fill(0xff, value - 100_000, value + 4000);
    writeFileSync(join(damaged, "keystead.db"), bytes);
    const { code, stderr } = await runKeystead(
      ["backup", join(damaged, "keystead.backup")],
      settingsOf({ dataDir: damaged }),
    );
    assert.equal(code, 1);
    assert.match(stderr, /^keystead: the database does not work: database disk image is malformed\n$/m);
    assert.ok(!readdirSync(damaged).some((name) => name.includes(".backup")));
  });

  it("takes the settings of the server from its file too", async () => {
    const config = join(folder, "nowhere.json");
    const { code, stderr } = await run("backup", "verify", file, "--root-key", rootKey, "--config", config);
    assert.equal(code, 1);
    assert.match(stderr, /^keystead: [^\n]*nowhere\.json[^\n]*\n$/);
  });

  it("is restored, every sealed value is opened, and each curve signs", async () => {
    const { code, stdout, stderr } = await verify(file, "--sha256", written.sha256);
    assert.equal(code, 0, stderr + stdout);
    const report = JSON.parse(stdout);
    assert.deepEqual([report.ok, report.problems], [true, []]);
    assert.deepEqual(report.signed, { CURVE_SECP256K1: "ok", CURVE_P256: "ok", CURVE_ED25519: "ok" });
    const { rows, ...facts } = written;
    assert.deepEqual(
      [report.rootKeyId, report.installationId, report.sha256],
      [facts.rootKeyId, facts.installationId, facts.sha256],
    );
    const counts = Object.values(report.tables as Record<string, number>);
    assert.equal(
      counts.reduce((sum, count) => sum + count, 0),
      rows,
    );
    const opened = new DatabaseSync(database, { readOnly: true });
    for (const [table, column] of sealedColumns.map((each) => each.split(".") as [string, string])) {
      if (table === "jobs") continue;
      const live = table === "organizations" ? "deleted_at is null" : `${column} is not null`;
      const { count } = opened.prepare(`select count(*) as count from ${table} where ${live}`).get() as {
        count: number;
      };
      assert.ok(count > 0, `there is something sealed in ${table}`);
      assert.equal(report.opened[table], count, table);
    }
    opened.close();
  });

  it("signs on curves that accounts of wallets alone have, beside others, and with another key where one cannot be opened", async () => {
    const dataDir = temporaryFolder();
    const databaseUrl = `sqlite:${join(dataDir, "keystead.db")}`;
    const settings = settingsOf({ dataDir, databaseUrl });
    const { close, root } = await startTestServer("sqlite", { dataDir, databaseUrl });
    const path = { pathFormat: "PATH_FORMAT_BIP32", path: "m/44'/60'/0'/0'" };
    const account = (curve: string, addressFormat: string) => ({ ...path, curve, addressFormat });
    const ethereum = account("CURVE_SECP256K1", "ADDRESS_FORMAT_ETHEREUM");
    const solana = account("CURVE_ED25519", "ADDRESS_FORMAT_SOLANA");
    await root.result("create_wallet", { walletName: "two curves", accounts: [ethereum, solana] });
    await close();
    const signed = async (name: string) => {
      const backup = join(folder, name);
      assert.equal((await runKeystead(["backup", backup], settings)).code, 0);
      const { stdout } = await runKeystead(
        ["backup", "verify", backup, "--root-key", join(dataDir, "root.key")],
        settings,
      );
      return JSON.parse(stdout).signed;
    };
    const opened = new DatabaseSync(join(dataDir, "keystead.db"));
    // The installation has a key on each curve.
    opened.exec("delete from service_keys where curve = 'CURVE_ED25519'");
    const all = { CURVE_SECP256K1: "ok", CURVE_P256: "ok", CURVE_ED25519: "ok" };
    assert.deepEqual(await signed("two-curves.backup"), all);
    opened.exec("update wallets set sealed_wallet = zeroblob(length(sealed_wallet))");
    assert.deepEqual(await signed("wallet-lost.backup"), { ...all, CURVE_ED25519: "failed" });
    opened.close();
  });

  it("shows what cannot be opened, and with another root key that nothing can", async () => {
    const changed = join(folder, "changed");
    mkdirSync(changed);
    await run("copy", "--from", source.databaseUrl, "--to", `sqlite:${join(changed, "keystead.db")}`);
    const database = new DatabaseSync(join(changed, "keystead.db"));
    const [one, two] = database.prepare("select id from private_keys order by id limit 2").all() as { id: string }[];
    database.exec(
      `update private_keys set sealed_key = (select sealed_key from private_keys where id = '${two?.id}') where id = '${one?.id}'`,
    );
    database.exec("update wallet_accounts set public_key = (select max(public_key) from wallet_accounts)");
    database.close();
    const backup = join(folder, "changed.backup");
    const settings = settingsOf({ dataDir: changed });
    assert.equal((await runKeystead(["backup", backup], settings)).code, 0);
    const { code, stdout } = await verify(backup);
    const report = JSON.parse(stdout);
    assert.deepEqual([code, report.ok], [1, false]);
    assert.ok(
      report.problems.some((text: string) =>
        text.startsWith(`key ${one?.id} cannot be opened: it was sealed for something else`),
      ),
    );
    assert.ok(
      report.problems.some((text: string) => /a public key of wallets .* does not belong to the sealed key/.test(text)),
    );

    const other = temporaryFolder();
    await (await startServerProcess({ dataDir: other })).end("SIGTERM");
    const foreign = await run("backup", "verify", file, "--root-key", join(other, "root.key"));
    const told = JSON.parse(foreign.stdout);
    assert.deepEqual([foreign.code, told.ok, told.opened], [1, false, {}]);
    assert.match(
      told.problems[0],
      /^the root key file contains [0-9a-f]{32}, but the backup's keys are sealed with [0-9a-f]{32}$/,
    );
    const missing = await run("backup", "verify", file, "--root-key", join(other, "none.key"));
    assert.match(
      missing.stderr,
      /the root key file .*none\.key is missing; name the one that belongs to the backup: on a server/,
    );
  });

  it("is for its recipient alone when it is encrypted", async () => {
    const [identity, stranger] = [await generateX25519Identity(), await generateX25519Identity()];
    const encrypted = join(folder, "keystead.backup.age");
    const done = await run("backup", encrypted, "--encrypt-to", await identityToRecipient(identity));
    assert.equal(done.code, 0, done.stderr);
    const bytes = readFileSync(encrypted);
    assert.ok(bytes.subarray(0, 22).equals(Buffer.from("age-encryption.org/v1\n")));
    const [mine, theirs, none] = ["mine.txt", "theirs.txt", "none.txt"].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    writeFileSync(mine, `# created: today\n${identity}\n`);
    writeFileSync(theirs, stranger);
    writeFileSync(none, "hello");
    const report = await verify(encrypted, "--identity", mine, "--sha256", JSON.parse(done.stdout).sha256);
    assert.equal(report.code, 0, report.stderr);
    assert.match((await verify(encrypted)).stderr, /it is encrypted; use --identity/);
    assert.match((await verify(encrypted, "--identity", theirs)).stderr, /encrypted to a recipient other than/);
    assert.match((await verify(encrypted, "--identity", none)).stderr, /contains no age identity/);
    const cut = join(folder, "cut.age");
    writeFileSync(cut, bytes.subarray(0, bytes.length - 1));
    assert.match((await verify(cut, "--identity", mine)).stderr, /damaged or cut off/);
    const wrong = await run("backup", join(folder, "never"), "--encrypt-to", "age1nobody");
    assert.match(wrong.stderr, /the recipient must be an age recipient/);
    assert.ok(!readdirSync(folder).some((name) => name.startsWith("never")));
  });
});
