import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import type { AuditSettings } from "../../src/main/audit/settings.ts";
import { checkClock } from "../../src/main/doctor/clock.ts";
import { checkWrites } from "../../src/main/doctor/database.ts";
import { checkRoom } from "../../src/main/doctor/files.ts";
import { checkPostgres } from "../../src/main/doctor/postgres.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { DatabaseFailure } from "../../src/storage/failure.ts";
import { type Inspection, openInspection } from "../../src/storage/inspection.ts";
import { POSTGRES_DEFAULTS } from "../../src/storage/postgres-settings.ts";
import { areLong } from "../support/long-tests.ts";
import { startMailServer } from "../support/mail-server.ts";
import { reservePort } from "../support/ports.ts";
import { createTestDatabase, startPostgres, type TestPostgres } from "../support/postgres.ts";
import { roomOnDisk } from "../support/room-on-disk.ts";
import { startRpcNode } from "../support/rpc-node.ts";
import { engines, itInTurns } from "../support/server.ts";
import {
  KEYSTEAD,
  runKeystead,
  type ServerProcess,
  settingsOf,
  spawnKeystead,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/until.ts";

/** `keystead doctor` and `keystead status`, as processes, on installations that are well and on such as are not. */

const guide = readFileSync(new URL("../../docs/guide/operating.md", import.meta.url), "utf8");
const PASSPHRASE = "correct horse battery staple";

interface Report {
  ok: boolean;
  checks: { check: string; state: "ok" | "warn" | "fail"; text: string }[];
}

// The server of all other tests gives durability up for speed, which is what this looks for.
let postgres: TestPostgres;
before(async () => {
  postgres = await startPostgres({ durable: true });
});
after(() => postgres.stop());

let databases = 0;
const freshUrl = async (engine: string, dataDir: string): Promise<string> =>
  engine === "sqlite" ? `sqlite:${dataDir}/keystead.db` : createTestDatabase(postgres.url, `doctor_${++databases}`);

async function operate(url: string, ...statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

async function examine(settings: Record<string, string>, args: string[] = []): Promise<Report & { text: string }> {
  const { code, stdout, stderr } = await runKeystead(["doctor", "--json", ...args], settings);
  assert.equal(stderr, "");
  const report = JSON.parse(stdout) as Report;
  assert.equal(code, report.ok ? 0 : 1);
  assert.equal(
    report.ok,
    report.checks.every(({ state }) => state !== "fail"),
  );
  return { ...report, text: stdout };
}

const failed = ({ checks }: Report) => checks.filter(({ state }) => state === "fail").map(({ check }) => check);
const of = ({ checks }: Report, check: string) => checks.filter((each) => each.check === check);

/** The one finding of a check. */
function the(report: Report, check: string): [state: string, text: string] {
  const found = of(report, check);
  assert.equal(found.length, 1, JSON.stringify(report.checks, null, 1));
  return [found[0]?.state as string, found[0]?.text as string];
}

for (const engine of engines) {
  describe(`keystead doctor (${engine})`, () => {
    const itInTurn = itInTurns(engine);
    const dataDir = temporaryFolder();
    const settings = { KEYSTEAD_ROOT_KEY_PASSPHRASE: PASSPHRASE };
    let databaseUrl: string;
    let own: Record<string, string>;
    let server: ServerProcess;
    before(async () => {
      databaseUrl = await freshUrl(engine, dataDir);
      own = settingsOf({ dataDir, databaseUrl, settings });
      server = await startServerProcess({ dataDir, databaseUrl, settings });
    });
    after(() => server.end("SIGKILL"));

    const write = (name: string, content: object) => {
      const file = `${dataDir}/${name}`;
      writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
      return file;
    };

    it("finds all well beside a running server, with mail, a node, a public URL and backups", async (test) => {
      const mail = await startMailServer();
      test.after(() => mail.close());
      const node = await startRpcNode();
      test.after(() => node.close());
      node.when("eth_chainId", { result: "0x1" });
      const directory = `${dataDir}/backups`;
      mkdirSync(directory, { mode: 0o700 });
      const now = new Date()
        .toISOString()
        .replace(/\.\d+Z$/, "Z")
        .replaceAll(/[-:]/g, "");
      writeFileSync(`${directory}/keystead-${now}.backup`, "");
      const config = write("all.json", {
        smtpUrl: mail.url,
        mailFrom: "keystead@example.com",
        chains: { "eip155:1": { rpcUrls: [node.url] } },
        publicUrl: server.baseUrl,
        backup: { every: 86_400, keep: 3, directory },
      });
      const report = await examine(own, ["--config", config]);
      assert.ok(
        report.checks.every(({ state }) => state === "ok"),
        report.text,
      );
      const checks = report.checks.map(({ check }) => check);
      for (const check of ["configuration", "files", "database", "schema", "root key", "mail"]) {
        assert.ok(checks.includes(check), check);
      }
      assert.deepEqual(the(report, "chain eip155:1"), ["ok", `${new URL(node.url).host} serves this chain`]);
      assert.deepEqual(the(report, "public URL"), ["ok", "it leads to Keystead"]);
      assert.match(the(report, "backup")[1], /^the newest is from /);
      assert.equal(checks.includes("postgresql synchronous_commit"), engine === "postgres");
      assert.equal(mail.caught.length, 0, "no mail was sent");
    });

    it("prints a line for each check", async () => {
      const { code, stdout } = await runKeystead(["doctor"], own);
      assert.equal(code, 0, stdout);
      assert.match(stdout, /^(ok {4}[^\n]+: [^\n]+\n)+$/);
    });

    itInTurn("a root key that others can read", async () => {
      chmodSync(`${dataDir}/root.key`, 0o644);
      const report = await examine(own);
      chmodSync(`${dataDir}/root.key`, 0o600);
      assert.deepEqual(failed(report), ["root key"]);
      assert.match(the(report, "root key")[1], /can be read by others; run: chmod 600 /);
    });

    itInTurn("a wrong passphrase, and none, without a word of either", async () => {
      const report = await examine({ ...own, KEYSTEAD_ROOT_KEY_PASSPHRASE: "wrong horse battery staple" });
      assert.deepEqual(failed(report), ["root key"]);
      assert.match(the(report, "root key")[1], /the passphrase does not open the root key file/);
      assert.ok(!report.text.includes("horse"));
      const none = await examine(settingsOf({ dataDir, databaseUrl }));
      assert.match(the(none, "root key")[1], /is protected by a passphrase; set KEYSTEAD_ROOT_KEY_PASSPHRASE/);
    });

    itInTurn("the root key of another installation", async () => {
      const file = `${dataDir}/other.key`;
      const rootKey = Buffer.alloc(32, 7).toString("base64");
      writeFileSync(file, JSON.stringify({ version: 1, protection: "none", rootKey }), { mode: 0o600 });
      const report = await examine({ ...settingsOf({ dataDir, databaseUrl }), KEYSTEAD_ROOT_KEY_FILE: file });
      assert.deepEqual(failed(report), ["root key"]);
      assert.match(the(report, "root key")[1], /is not the one that sealed the keys in this database/);
      assert.ok(!report.text.includes(rootKey));
    });

    itInTurn("files that others can read are warned of", async () => {
      chmodSync(`${dataDir}/credentials.json`, 0o644);
      chmodSync(dataDir, 0o755);
      const report = await examine(own);
      chmodSync(`${dataDir}/credentials.json`, 0o600);
      chmodSync(dataDir, 0o700);
      assert.deepEqual(failed(report), []);
      const texts = of(report, "files").map(({ state, text }) => `${state} ${text}`);
      assert.equal(texts.length, 2, report.text);
      assert.match(texts[0] as string, /^warn .+ has mode 0755, .+ chmod 700 /);
      assert.match(texts[1] as string, /^warn .+credentials\.json has mode 0644, .+ chmod 600 /);
    });

    itInTurn(
      "nodes: one dead of two is a warning, all dead a failure, and the key in a URL is not shown",
      async (test) => {
        const node = await startRpcNode();
        test.after(() => node.close());
        node.when("eth_chainId", { result: "0x1" });
        const dead = `http://127.0.0.1:${await reservePort()}/v2/secret-of-the-node`;
        const report = await examine(own, [
          "--config",
          write("chains.json", {
            chains: { "eip155:1": { rpcUrls: [node.url, dead] }, "eip155:10": { rpcUrls: [node.url, dead] } },
          }),
        ]);
        assert.deepEqual(
          of(report, "chain eip155:1").map(({ state }) => state),
          ["ok", "warn"],
        );
        assert.deepEqual(
          of(report, "chain eip155:10").map(({ state }) => state),
          ["fail", "fail"],
        );
        assert.match(of(report, "chain eip155:10")[0]?.text as string, /serves eip155:1 and not eip155:10/);
        assert.ok(!report.text.includes("secret-of-the-node"));
      },
    );

    itInTurn("a mail server that refuses, and repeats the password; and one that is not there", async () => {
      const password = "opens-the-mail";
      const mail = createServer((socket) => {
        socket.on("error", () => socket.destroy());
        socket.write("220 mail\r\n");
        socket.on("data", (bytes) => {
          const line = bytes.toString();
          if (/^EHLO/i.test(line)) socket.write("250-mail\r\n250 AUTH PLAIN\r\n");
          else if (/^AUTH/i.test(line)) socket.write(`535 5.7.8 not with ${password}, nor ${line.split(" ")[2]}`);
          else socket.end("221 bye\r\n");
        });
      });
      const port = await reservePort();
      await new Promise<void>((resolve) => mail.listen(port, "127.0.0.1", resolve));
      const mailSettings = {
        ...own,
        KEYSTEAD_SMTP_URL: `smtp://ada:${password}@127.0.0.1:${port}`,
        KEYSTEAD_MAIL_FROM: "keystead@example.com",
      };
      const refused = await examine(mailSettings);
      assert.deepEqual(failed(refused), ["mail"]);
      assert.match(
        the(refused, "mail")[1],
        /does not accept mail \(.*535 5\.7\.8 not with \*\*\*, nor \*\*\*.*\); check KEYSTEAD_SMTP_URL/,
      );
      await new Promise((resolve) => mail.close(resolve));
      const gone = await examine(mailSettings);
      assert.deepEqual(failed(gone), ["mail"]);
      for (const { text } of [refused, gone]) assert.ok(!text.includes(password));
    });

    it("a maintenance that is on, since when, why, by whom, and what ends it", async () => {
      await runKeystead(["maintenance", "on", "--reason", "the disk is exchanged"], own);
      const [state, text] = the(await examine(own), "maintenance");
      await runKeystead(["maintenance", "off"], own);
      assert.equal(state, "warn");
      assert.match(
        text,
        /^on since 20\S+Z \(the disk is exchanged\), by \S+ on \S+: .+ `keystead maintenance off` ends it$/,
      );
      assert.deepEqual(of(await examine(own), "maintenance"), []);
    });

    itInTurn("a public URL that leads elsewhere", async () => {
      const report = await examine({ ...own, KEYSTEAD_PUBLIC_URL: `http://127.0.0.1:${await reservePort()}` });
      assert.deepEqual(failed(report), ["public URL"]);
    });

    itInTurn("backups: none yet, and one that is long overdue", async () => {
      const directory = `${dataDir}/late`;
      const config = write("late.json", { backup: { every: 3600, keep: 3, directory } });
      assert.equal(the(await examine(own, ["--config", config]), "backup")[0], "warn");
      mkdirSync(directory, { mode: 0o700 });
      const below = `${config}/backups`;
      const nowhere = write("nowhere.json", { backup: { every: 3600, keep: 3, directory: below } });
      const [hindered, why] = the(await examine(own, ["--config", nowhere]), "backup");
      assert.equal(hindered, "fail");
      assert.ok(
        why.startsWith(
          `${below} does not exist and cannot be created: ${config} is not a folder, but backups are written to ${below}. Mount it`,
        ),
        why,
      );
      writeFileSync(`${directory}/keystead-20240101T000000Z.backup`, "");
      const [state, text] = the(await examine(own, ["--config", config]), "backup");
      assert.equal(state, "fail");
      assert.match(text, /2024-01-01T00:00:00\.000Z, and there should be one every 3600 s/);
    });

    itInTurn("a bad setting, which is the one thing it tells then", async () => {
      const report = await examine({ ...own, KEYSTEAD_PORT: "many" });
      assert.deepEqual(failed(report), ["configuration"]);
      assert.match(the(report, "configuration")[1], /^bad value for KEYSTEAD_PORT/);
    });

    it("rows of authority that somebody edited, and which", async () => {
      const { userId, organizationId } = server.credentials;
      const store = openDatabase({ url: databaseUrl });
      const change = (sql: string) => store.transact(undefined, (tx) => tx.all({ sql, parameters: [] }));
      const edits: [edit: string, undo: string, said: RegExp][] = [
        [
          `update users set mfa_policies = 1 where id = '${userId}'`,
          `update users set mfa_policies = 0 where id = '${userId}'`,
          new RegExp(`users whose row has a wrong number of MFA policies: ${userId} of`),
        ],
        [
          `update organizations set quorum_threshold = 2 where id = '${organizationId}'`,
          `update organizations set quorum_threshold = 1 where id = '${organizationId}'`,
          new RegExp(`root quorum requires more members than it has, or none: ${organizationId} of`),
        ],
        [
          `update api_keys set expires_at = 1 where user_id = '${userId}'`,
          `update api_keys set expires_at = null where user_id = '${userId}'`,
          /API keys whose expiry does not follow from their creation and lifetime/,
        ],
        [
          `update api_keys set public_key = upper(public_key) where user_id = '${userId}'`,
          `update api_keys set public_key = lower(public_key) where user_id = '${userId}'`,
          /API keys whose public key is not in lowercase/,
        ],
        [
          `update users set root_id = 'another' where id = '${userId}'`,
          `update users set root_id = organization_id where id = '${userId}'`,
          /users whose row names another parent/,
        ],
        [
          `insert into verified_contacts (root_id, type, contact, organization_id, user_id, created_at)
            values ('${organizationId}', 'EMAIL', 'mallory@example.com', '${organizationId}', '${userId}', 1)`,
          "delete from verified_contacts",
          /users whose verified contact is not their current one/,
        ],
        [
          `insert into policies (id, organization_id, name, effect, consensus, condition, notes, created_at, updated_at)
            values ('of-nobody', '${organizationId}', 'Mallory', 'EFFECT_ALLOW', 'true', '', '', 1, 1)`,
          "delete from policies where id = 'of-nobody'",
          /policies whose effect, condition, consensus or time no activity gave them: of-nobody of/,
        ],
      ];
      // One of two on each database.
      const chosen = edits.filter((_, index) => areLong || engines[index % engines.length] === engine);
      for (const [edit, undo, said] of chosen) {
        await change(edit);
        const report = await examine(own);
        await change(undo);
        assert.deepEqual([...new Set(failed(report))], ["authority"], edit);
        const texts = of(report, "authority").map(({ text }) => text);
        assert.ok(
          texts.some((text) => said.test(text)),
          `${edit}: ${texts.join("\n")}`,
        );
        for (const text of texts) assert.match(text, /Undo the change or restore a backup, then restart every server/);
      }
      await store.close();
      const account = "the rows that say who may do what are consistent, and completed activities account for them";
      assert.deepEqual(the(await examine(own), "authority"), ["ok", account]);
    });

    it("rows that belong to nothing", { skip: engine === "postgres" && "it does not let them be" }, async () => {
      const file = new DatabaseSync(`${dataDir}/keystead.db`);
      file.exec("pragma foreign_keys = off");
      const { organizationId } = server.credentials;
      file.exec(
        `insert into user_tag_members (organization_id, tag_id, member_id) values ('${organizationId}', 'x', 'y')`,
      );
      const report = await examine(own);
      file.exec("delete from user_tag_members where tag_id = 'x'");
      file.close();
      assert.match(
        the(report, "authority")[1],
        /there are tables with rows that refer to missing rows: user_tag_members\./,
      );
    });

    it("a newer schema", async () => {
      const store = openDatabase({ url: databaseUrl });
      const change = (sql: string) => store.transact(undefined, (tx) => tx.all({ sql, parameters: [] }));
      await change("insert into migrations (name, timestamp) values ('9999-of-later', 'x')");
      const report = await examine(own);
      await change("delete from migrations where name = '9999-of-later'");
      await store.close();
      assert.deepEqual(failed(report), ["schema"]);
      assert.match(
        the(report, "schema")[1],
        /newer version of Keystead than \d+\.\d+\.\d+: it has 9999-of-later; start the newer/,
      );
    });

    it("the database gone: it says so, makes none, and checks the rest", async () => {
      await server.end("SIGTERM");
      const file = `${dataDir}/keystead.db`;
      if (engine === "sqlite") renameSync(file, `${file}.away`);
      const url = engine === "sqlite" ? databaseUrl : databaseUrl.replace(/:\d+\//, `:${await reservePort()}/`);
      const before = readdirSync(dataDir);
      const report = await examine({ ...own, DATABASE_URL: url });
      assert.deepEqual(failed(report), ["database"]);
      const expected = engine === "sqlite" ? /is empty, but .+root\.key/ : /refuses connections: nothing listens/;
      assert.match(the(report, "database")[1], expected);
      assert.deepEqual(the(report, "root key")[0], "warn");
      assert.deepEqual(readdirSync(dataDir), before, "nothing was made");
      if (engine === "sqlite") renameSync(`${file}.away`, file);
      assert.deepEqual(failed(await examine(own)), [], "and without a server");
    });

    it("a place where nothing was started yet, which stays as it is", async () => {
      const empty = temporaryFolder();
      rmSync(empty, { recursive: true });
      const report = await examine(settingsOf({ dataDir: empty, databaseUrl: await freshUrl(engine, empty) }));
      assert.deepEqual(failed(report), []);
      assert.equal(the(report, "database")[0], "warn");
      assert.equal(the(report, "root key")[0], "warn");
      assert.ok(!existsSync(empty));
    });
  });
}

describe("keystead doctor on what cannot be written", () => {
  const GIB = 1024 ** 3;

  it("room: where it is short, and of what", (test) => {
    const dataDir = temporaryFolder();
    const room = roomOnDisk(test);
    const backup = { every: 60, keep: 1, directory: `${dataDir}/later/backups` };
    const audit = { file: { path: `${dataDir}/audit.log`, maxBytes: 4 * GIB, keep: 1 } };
    const config = { dataDir, databaseUrl: `sqlite:${dataDir}/keystead.db`, backup, audit: audit as AuditSettings };
    const found = (free: number) => {
      room(free);
      return checkRoom(config).map(({ state, text }) => `${state} ${text}`);
    };
    assert.deepEqual(found(4 * GIB), ["ok there is enough free space where the server writes"]);
    assert.match(
      found(2 * GIB).join(),
      /^warn 2147483648 bytes are free in \S+ for the audit file; [^,]+, or move it[^,]+$/,
    );
    for (const [free, state] of [
      [GIB / 2, "warn"],
      [0, "fail"],
    ] as const) {
      const texts = found(free);
      assert.equal(texts.length, 3);
      assert.ok(
        texts.every((text) => text.startsWith(`${state} ${free} bytes are free in ${dataDir}`)),
        texts.join("\n"),
      );
    }
  });

  for (const suffix of ["", "-wal", "-shm"]) {
    it(`keystead.db${suffix} that cannot be written`, async () => {
      const dataDir = temporaryFolder();
      const server = await startServerProcess({ dataDir });
      // Left as a server leaves them that is killed.
      await server.end("SIGKILL");
      chmodSync(`${dataDir}/keystead.db${suffix}`, 0o400);
      const own = process.getuid?.() as number;
      // Root may write whatever its mode says.
      const uid = own === 0 ? 65_534 : own;
      if (own === 0) for (const name of ["", ...readdirSync(dataDir)]) chownSync(`${dataDir}/${name}`, uid, uid);
      const { stdout } = spawnSync(process.execPath, [KEYSTEAD, "doctor", "--json"], {
        env: settingsOf({ dataDir }),
        encoding: "utf8",
        ...(own === 0 ? { uid, gid: uid } : {}),
      });
      const report = JSON.parse(stdout) as Report;
      const [state, text] = the(report, "files");
      assert.equal(state, "fail");
      const file = `${dataDir}/keystead.db${suffix}`;
      assert.equal(text, `this user cannot read and write ${file}; run: chmod 600 ${file}`);
      assert.equal(report.ok, false);
    });
  }

  it("a disk that takes no writes any more, under a server that has its files open", async (test) => {
    const dataDir = temporaryFolder();
    const server = await startServerProcess({ dataDir });
    test.after(() => server.end("SIGKILL"));
    // The system takes not a byte of this process for a file, as a disk does that became read-only: what is open stays open.
    const { exited, stdout } = spawnKeystead(["doctor", "--json"], {
      settings: { ...settingsOf({ dataDir }), NODE_DISABLE_COMPILE_CACHE: "1" },
      shellPrefix: "ulimit -f 0",
    });
    await exited;
    const report = JSON.parse(stdout()) as Report;
    const [state, text] = the(report, "database writes");
    assert.equal(state, "fail", text);
    assert.match(text, /^the database is in a folder that accepts no writes \(EFBIG\); .*mounted for writing/);
    assert.deepEqual(the(await examine(settingsOf({ dataDir })), "database writes"), ["ok", "it accepts writes"]);
    assert.deepEqual(
      readdirSync(dataDir).filter((name) => name.startsWith("keystead-doctor")),
      [],
    );
  });

  it("a SQLite file that another process is writing to is in use, and not broken", async (test) => {
    const dataDir = temporaryFolder();
    await (await startServerProcess({ dataDir })).end("SIGTERM");
    const other = new DatabaseSync(`${dataDir}/keystead.db`);
    test.after(() => other.close());
    assert.deepEqual(the(await examine(settingsOf({ dataDir })), "database writes"), ["ok", "it accepts writes"]);
    other.exec("begin immediate");
    assert.deepEqual(the(await examine(settingsOf({ dataDir })), "database writes"), ["ok", "it is being written to"]);
  });

  it("PostgreSQL whose disk is full: what asks takes room there", async () => {
    const url = await createTestDatabase(postgres.url, `doctor_${++databases}`);
    const inspection = await openInspection(url);
    const taken = async () => {
      const [row] = await inspection.all<{ bytes: number }>(
        "select temp_bytes as bytes from pg_stat_database where datname = current_database()",
      );
      return Number(row?.bytes);
    };
    assert.equal((await checkWrites(inspection)).state, "ok");
    await until(async () => (await taken()) > 4_000_000, "what was taken");
    const full = new DatabaseFailure("unavailable", { code: "53100" });
    const { state, text } = await checkWrites({ tryWrite: () => Promise.reject(full) });
    assert.equal(state, "fail");
    assert.match(text, /^the database has no room left on its disk; make room on its disk, /);
    await inspection.close();
  });
});

describe("keystead doctor on settings of PostgreSQL", () => {
  const dataDir = temporaryFolder();
  let databaseUrl: string;
  before(async () => {
    databaseUrl = await freshUrl("postgres", dataDir);
    await (await startServerProcess({ dataDir, databaseUrl })).end("SIGTERM");
  });
  const name = () => new URL(databaseUrl).pathname.slice(1);
  const own = () => settingsOf({ dataDir, databaseUrl });

  it("synchronous_commit that is off, time-outs that cut off, and a database that is read-only", async () => {
    await operate(
      postgres.url,
      `alter database ${name()} set synchronous_commit = off`,
      `alter database ${name()} set statement_timeout = '7s'`,
      `alter database ${name()} set default_transaction_read_only = on`,
    );
    const report = await examine(own());
    await operate(postgres.url, `alter database ${name()} reset all`);
    assert.deepEqual(failed(report), ["postgresql synchronous_commit", "postgresql writes"]);
    assert.match(the(report, "postgresql synchronous_commit")[1], /^off: .+ set synchronous_commit = on/);
    const [state, text] = the(report, "postgresql time-outs");
    assert.equal(state, "warn");
    assert.match(text, /^statement_timeout = 7000 ms: /);
  });

  it("a time-out that is shorter than what it tries out, which servers do not go by", async () => {
    await operate(postgres.url, `alter database ${name()} set statement_timeout = '20ms'`);
    const report = await examine(own());
    await operate(postgres.url, `alter database ${name()} reset all`);
    assert.deepEqual(failed(report), []);
    assert.deepEqual(the(report, "database writes"), ["ok", "it accepts writes"]);
  });

  it("no connection for it at all", async () => {
    await operate(postgres.url, "create role unwelcome login connection limit 0");
    const url = new URL(databaseUrl);
    url.username = "unwelcome";
    const report = await examine(settingsOf({ dataDir, databaseUrl: url.href }));
    await operate(postgres.url, "drop role unwelcome");
    assert.match(the(report, "database")[1], /no connection left for this server; raise max_connections, or the/);
  });

  it("fewer connections than a server takes", async () => {
    await operate(postgres.url, `alter database ${name()} connection limit 9`);
    // A limit of a database does not bind its superusers, and is told of all the same.
    const report = await examine(own());
    await operate(postgres.url, `alter database ${name()} connection limit -1`);
    assert.deepEqual(failed(report), ["postgresql max_connections"]);
    assert.match(the(report, "postgresql max_connections")[1], /room for 9 connections, but each server uses up to 16/);
  });

  it("what is in between: those who could read along, and a pooler", async () => {
    const inspection = await openInspection(databaseUrl);
    const found = async (check: string, seen: Partial<Inspection>, prepared: boolean) => {
      const findings = await checkPostgres({ ...inspection, ...seen }, { ...POSTGRES_DEFAULTS, prepared });
      return findings.find((finding) => finding.check === check);
    };
    for (const encryption of ["none", "unverified", "nameless"] as const) {
      const { state, text = "" } = (await found("postgresql tls", { encryption }, true)) ?? {};
      assert.equal(state, "warn");
      assert.match(text, /set sslmode=verify-full in DATABASE_URL/);
    }
    for (const [whose, days, expected] of [
      ["PostgreSQL", 15, "ok"],
      ["PostgreSQL", 13, "warn"],
      ["client", 13, "warn"],
    ] as const) {
      const certificates = [{ whose, endsAt: Date.now() + days * 86_400_000 }];
      const { state, text = "" } = (await found("postgresql certificate", { certificates }, true)) ?? {};
      assert.equal(state, expected, text);
      if (state === "warn")
        assert.match(text, /is valid until \d{4}-.+; after that, no connection succeeds\. (Renew|Replace) it/);
    }
    assert.equal(await found("postgresql certificate", {}, true), undefined, "there is none without TLS");
    for (const [pooler, prepared, expected] of [
      ["none", true, "ok"],
      ["none", false, "warn"],
      ["sessions", true, "warn"],
      ["sessions", false, "ok"],
      ["transactions", true, "fail"],
      ["transactions", false, "ok"],
    ] as const) {
      const finding = await found("postgresql pooler", { pooler: async () => pooler }, prepared);
      assert.equal(finding?.state, expected, finding?.text);
    }
    await inspection.close();
  });

  it("a database that hangs", async () => {
    const proxy = await startTcpProxy(Number(new URL(databaseUrl).port));
    proxy.stall();
    const url = databaseUrl.replace(/:\d+\//, `:${proxy.port}/`);
    const report = await examine({ ...own(), DATABASE_URL: url });
    assert.deepEqual(failed(report), ["database"]);
    await proxy.close();
  });

  it("a clock an hour off, either way, and one that is a little", async () => {
    const inspection = await openInspection(databaseUrl);
    const withClock = (offsetMs: number) => checkClock(inspection, () => Date.now() + offsetMs);
    assert.equal((await withClock(0)).state, "ok");
    const ahead = await withClock(3_600_000);
    assert.equal(ahead.state, "fail");
    assert.match(ahead.text, /^this machine's clock is 3\d{3}\.\d s ahead of the database's; let NTP/);
    const behind = await withClock(-3_600_000);
    assert.equal(behind.state, "fail");
    assert.match(behind.text, /s behind the database's/);
    assert.equal((await withClock(15_000)).state, "warn");
    await inspection.close();
  });
});

for (const engine of engines) {
  describe(`keystead status (${engine})`, () => {
    it("ready, sealed, and none that runs, by the commands of the guide", async () => {
      const [commands = ""] = [...guide.matchAll(/```sh\n(npx keystead doctor\n[\s\S]*?)```/g)].map(([, text]) => text);
      const [doctor, status] = commands
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => line.replace(/^npx keystead /, "").split(" "));
      assert.deepEqual([doctor, status], [["doctor"], ["status"]]);

      const dataDir = temporaryFolder();
      const databaseUrl = await freshUrl(engine, dataDir);
      const admin = { KEYSTEAD_ADMIN_PORT: String(await reservePort()) };
      const settings = { ...admin, KEYSTEAD_ROOT_KEY_PASSPHRASE: PASSPHRASE };
      const server = await startServerProcess({ dataDir, databaseUrl, settings });
      const ready = await runKeystead(status as string[], settingsOf({ dataDir, databaseUrl, settings }));
      assert.equal(ready.code, 0, ready.stdout + ready.stderr);
      assert.match(
        ready.stdout,
        /^state: ready\nversion: \d+\.\d+\.\d+\S*\nuptime: \d+ .+\n(warning .+\n)*jobs: \d+ waiting, 0 dead\n$/,
      );
      const examined = await runKeystead(doctor as string[], settingsOf({ dataDir, databaseUrl, settings }));
      assert.equal(examined.code, 0, examined.stdout);
      await server.end("SIGTERM");

      const none = await runKeystead(["status", "--json"], settingsOf({ dataDir, databaseUrl, settings }));
      assert.equal(none.code, 3);
      const { state, reason } = JSON.parse(none.stdout);
      assert.equal(state, "none");
      assert.match(reason, /^no server answers at http:\/\/127\.0\.0\.1:\d+ \(/);

      const sealed = await startServerProcess({ dataDir, databaseUrl, settings: admin });
      const unready = await runKeystead(["status"], settingsOf({ dataDir, databaseUrl, settings: admin }));
      assert.equal(unready.code, 2);
      assert.match(unready.stdout, /^state: not ready\n[\s\S]*\nsigner: the root key needs a passphrase: restart /);
      await sealed.end("SIGTERM");
    });
  });
}

describe("keystead status", () => {
  it("where something else listens or nothing is answered, and where the admin port is switched off", async () => {
    const other = createHttpServer((_request, response) => response.end("{}"));
    const port = String(await reservePort());
    await new Promise<void>((resolve) => other.listen(Number(port), "127.0.0.1", resolve));
    const foreign = await runKeystead(["status"], { KEYSTEAD_ADMIN_PORT: port });
    assert.equal(foreign.code, 3);
    assert.match(foreign.stdout, /^not running: something other than Keystead answers at /);
    const proxy = await startTcpProxy(Number(port));
    proxy.stall();
    const silent = await runKeystead(["status"], { KEYSTEAD_ADMIN_PORT: String(proxy.port) });
    await proxy.close();
    assert.equal(silent.code, 4);
    assert.match(
      silent.stdout,
      /^no answer: http:\/\/127\.0\.0\.1:\d+ accepts connections, but did not answer within \d+ s; /,
    );
    await new Promise((resolve) => other.close(resolve));
    const off = await runKeystead(["status"], { KEYSTEAD_ADMIN_PORT: "0" });
    assert.equal(off.code, 4);
    assert.match(off.stdout, /^unknown: KEYSTEAD_ADMIN_PORT is 0/);
  });
});
