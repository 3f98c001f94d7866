import assert from "node:assert/strict";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { SignerProcess } from "../../src/signer/client.ts";
import { openDatabase } from "../../src/storage/database.ts";
import type { Client, Json } from "../support/client.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { engines, freshDatabaseUrl } from "../support/server.ts";
import {
  refusalOf,
  runKeystead,
  type ServerProcess,
  settingsOf,
  signerOf,
  spawnKeystead,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** The root key is replaced while servers run and are used: nothing is lost, and the old one is not needed any more. */

const newKey = { privateKeyName: "key", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };
const signing = (signWith: string) => ({
  signWith,
  payload: "payload",
  encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
  hashFunction: "HASH_FUNCTION_SHA256",
});
const wallet = (walletName: string) => ({
  walletName,
  accounts: [
    {
      curve: "CURVE_SECP256K1",
      pathFormat: "PATH_FORMAT_BIP32",
      path: "m/44'/60'/0'/0/0",
      addressFormat: "ADDRESS_FORMAT_ETHEREUM",
    },
  ],
});

for (const engine of engines) {
  describe(`a rotation of the root key (${engine})`, () => {
    const dataDir = temporaryFolder();
    const otherDir = temporaryFolder();
    const rootKeyFile = join(dataDir, "root.key");
    const otherFile = join(otherDir, "root.key");
    let databaseUrl: string;
    const servers: ServerProcess[] = [];
    let backup: string;
    let keysBefore: Buffer;
    let address: string;
    let privateKeyId: string;

    const auditFile = join(dataDir, "audit.ndjson");
    const settings = { KEYSTEAD_CONFIG: join(dataDir, "config.json") };
    const run = (...args: string[]) => runKeystead(args, settingsOf({ dataDir, databaseUrl, settings }));
    const answerOf = async (...args: string[]): Promise<Json> => {
      const { code, stdout, stderr } = await run(...args);
      assert.equal(code, 0, stdout + stderr);
      return JSON.parse(stdout);
    };
    const refused = async (expected: RegExp, ...args: string[]) => {
      const { code, stdout, stderr } = await run(...args);
      assert.deepEqual([code, stdout], [1, ""], stderr);
      assert.match(stderr, expected);
    };
    const shown = () => answerOf("root-key", "show");
    const first = () => servers[0] as ServerProcess;
    const startServers = async () => {
      servers.push(await startServerProcess({ dataDir, databaseUrl }));
      if (engine === "postgres") {
        servers.push(await startServerProcess({ dataDir: otherDir, credentialsFrom: dataDir, databaseUrl }));
      }
    };
    const stopServers = () => Promise.all(servers.splice(0).map((server) => server.end("SIGTERM")));
    const subOrganization = async (root: Client): Promise<Json> => {
      const { wallet: made } = await root.result("create_sub_organization", {
        subOrganizationName: newId(),
        rootQuorumThreshold: 1,
        rootUsers: [
          { userName: "Sub", userEmail: "sub@example.com", apiKeys: [], authenticators: [], oauthProviders: [] },
        ],
        wallet: wallet(newId()),
      });
      return made;
    };
    const signWithAll = async () => {
      for (const { root } of servers) {
        await root.result("sign_raw_payload", signing(address));
        await root.result("sign_raw_payload", signing(privateKeyId));
        // A token that a key of the installation signs.
        await root.result("create_read_only_session", {});
      }
    };
    /** Repeats the command as its message says, for a machine that is too busy to confirm in time. */
    const rotate = async (): Promise<Json> => {
      for (let resealed = 0; ; ) {
        const { code, stdout, stderr } = await run("root-key", "rotate");
        if (code === 0) return JSON.parse(stdout);
        assert.match(stderr, /then run this command again\n$/, String(++resealed));
      }
    };

    before(async () => {
      databaseUrl = await freshDatabaseUrl(engine, dataDir, MIGRATED_DATABASE);
      const audit = { file: { path: auditFile }, whenFull: "block" };
      writeFileSync(settings.KEYSTEAD_CONFIG, JSON.stringify({ audit }));
      servers.push(await startServerProcess({ dataDir, databaseUrl, settings }));
      copyFileSync(rootKeyFile, otherFile);
      if (engine === "postgres") {
        servers.push(await startServerProcess({ dataDir: otherDir, credentialsFrom: dataDir, databaseUrl }));
      }
      const { root } = first();
      ({
        addresses: [address],
      } = await root.result("create_wallet", wallet("wallet")));
      const { privateKeys } = await root.result("create_private_keys", { privateKeys: [newKey] });
      ({ privateKeyId } = privateKeys[0]);
      await subOrganization(root);
      keysBefore = readFileSync(rootKeyFile);
      backup = join(dataDir, "before.backup");
      await answerOf("backup", backup);
    });
    after(() => Promise.all(servers.map((server) => server.end("SIGKILL"))));

    it("needs a new root key in the file", async () => {
      const { rootKeyIds, database, protected: isProtected } = await shown();
      assert.deepEqual([rootKeyIds, isProtected], [[database.current], false]);
      await refused(/contains no new root key; run: keystead root-key add/, "root-key", "rotate");
      await refused(/contains only the root key that is in use/, "root-key", "retire");
      const added = await answerOf("root-key", "add");
      assert.equal(added.rootKeyIds.length, 2);
      assert.equal(added.rootKeyIds[0], database.current);
      await refused(/already contains 2 root keys; complete the rotation first/, "root-key", "add");
      assert.deepEqual((await shown()).database, { current: database.current }, "nothing is sealed with it yet");
    });

    if (engine === "postgres") {
      it("does not begin before every server has the file, and names the one that has not", async () => {
        await refused(/has not opened the new root key; nothing is sealed with it yet. Copy/, "root-key", "rotate");
        const { database, servers: listed } = await shown();
        assert.deepEqual(Object.keys(database), ["current", "next"]);
        assert.deepEqual(listed.map(({ rootKeys }: Json) => rootKeys.open.length).sort(), [1, 2]);
        await subOrganization(first().root);
        await signWithAll();
        copyFileSync(rootKeyFile, otherFile);
      });
    }

    it("is completed after kills, while servers are used", async () => {
      const { database: before } = await shown();
      const opened = openDatabase({ url: databaseUrl, onConnectionError: () => {} });
      let isOver = false;
      const addresses: string[] = [];
      const load = servers.map(async ({ root }) => {
        while (!isOver) {
          const { addresses: made } = await subOrganization(root);
          addresses.push(...made);
          await root.result("sign_raw_payload", signing(address));
        }
      });
      const rowOf = async (name: string) => {
        const row = await opened.read.selectFrom("installation").select("value").where("name", "=", name);
        return (await row.executeTakeFirst())?.value;
      };
      try {
        for (const row of ["next_root_key_id", "previous_root_key_id"]) {
          const command = spawnKeystead(["root-key", "rotate"], {
            settings: settingsOf({ dataDir, databaseUrl, settings }),
          });
          const { exited } = command;
          let hasEnded = false;
          void exited.then(() => {
            hasEnded = true;
          });
          await until(async () => hasEnded || (await rowOf(row)) !== undefined, row);
          process.kill(command.pid, "SIGKILL");
          await exited;
        }
        const rotated = await rotate();
        assert.equal(rotated.previousRootKeyId, before.current);
        assert.notEqual(rotated.rootKeyId, before.current);
        assert.deepEqual(rotated.unopened, []);
      } finally {
        isOver = true;
        await opened.close();
      }
      await Promise.all(load);
      assert.ok(addresses.length >= servers.length);
      await signWithAll();
      const lines = () =>
        readFileSync(auditFile, "utf8")
          .split("\n")
          .filter((line) => line.includes("root_key_rotated"));
      await until(() => lines().length > 0, "a line in the audit stream");
      assert.equal(lines().length, 1, "one, although the command was killed and repeated");
      const { database } = await shown();
      const { id, time, by, ...line } = JSON.parse(lines()[0] as string);
      const rootKeys = { rootKeyId: database.current, previousRootKeyId: before.current };
      assert.deepEqual(line, { event: "root_key_rotated", ...rootKeys });
      assert.deepEqual(Object.keys(by.operator), ["user", "host"]);
    });

    it("is not undone when the command is repeated, which seals what was left", async () => {
      const { rootKeyIds, database } = await shown();
      const before = readFileSync(rootKeyFile);
      const again = await rotate();
      const [previousRootKeyId] = rootKeyIds;
      assert.deepEqual(again, { rootKeyId: database.current, previousRootKeyId, resealed: 0, unopened: [] });
      // As if a server that started while the others were asked had sealed it.
      const { read, transact, close } = openDatabase({ url: databaseUrl, onConnectionError: () => {} });
      const { id, sealed_key } = await read
        .selectFrom("organizations")
        .select(["id", "sealed_key"])
        .executeTakeFirstOrThrow();
      const { signer } = await SignerProcess.start({
        rootKeyFile,
        mayCreateRootKey: false,
        seedCache: { entries: 0, lifetimeMs: 0 },
        recordUses: false,
        log: createLogger("silent"),
        sealsWith: previousRootKeyId,
      });
      const organizations = [{ organizationId: id, organizationKey: Buffer.from(sealed_key).toString("base64") }];
      const { organizationKeys } = await signer.ask({ verb: "resealOrganizationKeys", organizations });
      await signer.close();
      await transact(undefined, async (tx) => {
        const sealed = Buffer.from(organizationKeys[0] as string, "base64");
        await tx.updateTable("organizations").set({ sealed_key: sealed }).where("id", "=", id).execute();
      });
      await close();
      await refused(
        /is still sealed with the root key to be removed; run: keystead root-key rotate/,
        "root-key",
        "retire",
      );
      assert.equal((await rotate()).resealed, 1);
      assert.deepEqual(readFileSync(rootKeyFile), before);
      assert.deepEqual((await shown()).database, { current: database.current });
    });

    it("is what servers say, and doctor", async () => {
      const { database, servers: listed } = await shown();
      assert.deepEqual(Object.keys(database), ["current"]);
      for (const { rootKeys } of listed) {
        assert.deepEqual([rootKeys.open[0], rootKeys.open.length, rootKeys.isRotating], [database.current, 2, false]);
      }
      const { stdout } = await run("doctor");
      assert.match(
        stdout,
        /contains a root key that is not in use: before a rotation.+ after one, keystead root-key retire/,
      );
    });

    it("survives the end of a signer", async () => {
      process.kill(await signerOf(first()), "SIGKILL");
      await until(async () => (await first().root.submit("sign_raw_payload", signing(address))).status === 200);
      const { privateKeys } = await first().root.result("create_private_keys", { privateKeys: [newKey] });
      await first().root.result("sign_raw_payload", signing(privateKeys[0].privateKeyId));
      await subOrganization(first().root);
    });

    it("leaves the old root key without use: servers run without it, and a backup is verified without it", async () => {
      const { rootKeyIds } = await answerOf("root-key", "retire");
      assert.deepEqual(rootKeyIds, [(await shown()).database.current]);
      assert.equal(JSON.parse(readFileSync(rootKeyFile, "utf8")).version, 1, "as earlier releases read it");
      // Signers that end are replaced by ones without the old root key.
      process.kill(await signerOf(first()), "SIGKILL");
      await until(async () => (await first().root.submit("sign_raw_payload", signing(address))).status === 200);
      copyFileSync(rootKeyFile, otherFile);
      await signWithAll();
      await stopServers();
      await startServers();
      await signWithAll();
      const later = join(dataDir, "later.backup");
      const { installationId } = await answerOf("backup", later);
      const report = await answerOf("backup", "verify", later, "--root-key", rootKeyFile);
      assert.deepEqual([report.ok, report.problems, report.rootKeyId], [true, [], rootKeyIds[0]]);
      assert.ok(report.opened.organizations > 1);
      const earlier = await run("backup", "verify", backup, "--root-key", rootKeyFile);
      const { ok, installationId: same } = JSON.parse(earlier.stdout);
      assert.deepEqual([earlier.code, ok, same], [1, false, installationId], "the installation is still the same");
    });

    it("leaves backups from before to the old root key", async () => {
      const keysAfter = readFileSync(rootKeyFile);
      const place = temporaryFolder();
      const settings = settingsOf({ dataDir: place });
      writeFileSync(join(place, "root.key"), keysAfter, { mode: 0o600 });
      const restored = await runKeystead(["restore", backup], settings);
      assert.match(restored.stderr, /is not the one that sealed the keys in this backup; nothing was written/);
      writeFileSync(join(place, "root.key"), keysBefore, { mode: 0o600 });
      const again = await runKeystead(["restore", backup], settings);
      assert.equal(again.code, 0, again.stderr);
      await stopServers();
      writeFileSync(rootKeyFile, keysBefore);
      assert.match(await refusalOf({ dataDir, databaseUrl }), /is not the one that sealed the keys in this database/);
      await refused(/does not contain [0-9a-f]{32}, with which keys in this database are sealed/, "root-key", "rotate");
      writeFileSync(rootKeyFile, keysAfter);
      await startServers();
      await signWithAll();
    });

    if (engine === "postgres") {
      it("stops the signer of a server that missed it, until that has the file", async () => {
        const { rootKeyIds } = await answerOf("root-key", "add");
        const [current, target] = rootKeyIds;
        // As if the other server had been suspended while the rotation waited for servers.
        const { transact, close } = openDatabase({ url: databaseUrl, onConnectionError: () => {} });
        await transact(undefined, async (tx) => {
          await tx.updateTable("installation").set({ value: target }).where("name", "=", "root_key_id").execute();
          await tx.insertInto("installation").values({ name: "previous_root_key_id", value: current }).execute();
        });
        await close();
        const [, other] = servers as [ServerProcess, ServerProcess];
        const readiness = async (): Promise<Json> => (await fetch(`${other.baseUrl}/readyz`)).json();
        await until(async () => /does not contain the root key that seals/.test((await readiness()).reasons?.signer));
        const { status, body } = await other.root.submit("sign_raw_payload", signing(address));
        assert.deepEqual([status, body.code], [503, 14]);
        await first().root.result("sign_raw_payload", signing(address));
        copyFileSync(rootKeyFile, otherFile);
        await until(async () => (await readiness()).signer === "ready");
        await signWithAll();
        await rotate();
        await answerOf("root-key", "retire");
        await signWithAll();
      });
    }
  });
}

describe("the passphrase of a root key file", () => {
  const dataDir = temporaryFolder();
  const rootKeyFile = join(dataDir, "root.key");
  const first = "correct horse battery staple";
  const second = "incorrect horse, battery staple";
  const file = join(dataDir, "new-passphrase");
  const run = (passphrase: string | undefined, ...args: string[]) =>
    runKeystead(["root-key", ...args], settingsOf({ dataDir, settings: given(passphrase) }));
  const given = (passphrase: string | undefined): Record<string, string> =>
    passphrase === undefined ? {} : { KEYSTEAD_ROOT_KEY_PASSPHRASE: passphrase };
  const setPassphrase = async (before: string | undefined, after: string | undefined) => {
    if (after !== undefined) writeFileSync(file, `${after}\n`);
    const option = after === undefined ? ["--none"] : ["--new-file", file];
    const { code, stdout, stderr } = await run(before, "passphrase", ...option);
    assert.equal(code, 0, stderr);
    assert.equal(JSON.parse(stdout).protected, after !== undefined);
    assert.ok(!stdout.includes("horse") && !stderr.includes("horse"));
  };
  const idsOf = async (passphrase: string | undefined): Promise<string[]> => {
    const { code, stdout, stderr } = await run(passphrase, "show");
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout).rootKeyIds;
  };

  it("is added, changed and removed, and the keys stay the same", async () => {
    const server = await startServerProcess({ dataDir });
    const { privateKeys } = await server.root.result("create_private_keys", { privateKeys: [newKey] });
    const { privateKeyId } = privateKeys[0];
    await server.end("SIGTERM");
    const { rootKey } = JSON.parse(readFileSync(rootKeyFile, "utf8"));
    const ids = await idsOf(undefined);
    await setPassphrase(undefined, first);
    assert.ok(!readFileSync(rootKeyFile, "utf8").includes(rootKey));
    assert.deepEqual(await idsOf(first), ids);
    await setPassphrase(first, second);
    assert.match((await run(first, "show")).stderr, /the passphrase does not open the root key file/);
    const added = await run(second, "add");
    assert.equal(added.code, 0, added.stderr);
    assert.equal(JSON.parse(readFileSync(rootKeyFile, "utf8")).protection, "passphrase");
    const both = await idsOf(second);
    assert.deepEqual([both.length, both[0]], [2, ids[0]]);
    await setPassphrase(second, undefined);
    assert.deepEqual(await idsOf(undefined), both);
    const again = await startServerProcess({ dataDir });
    await again.root.result("sign_raw_payload", signing(privateKeyId));
    await again.end("SIGTERM");
  });

  it("is refused without a new one, with a short one, and without the present one", async () => {
    const before = readFileSync(rootKeyFile, "utf8");
    writeFileSync(file, "tooshort\n");
    const cases: [string[], RegExp][] = [
      [[], /give the new passphrase with --new-file, or use --none/],
      [["--new-file", file, "--none"], /give the new passphrase with --new-file, or use --none/],
      [["--new-file", file], /the new passphrase must have at least 12 characters/],
      [
        ["--new-file", join(dataDir, "missing")],
        /the file with the new passphrase, .+missing, cannot be read \(ENOENT\)/,
      ],
    ];
    for (const [args, expected] of cases) {
      const { code, stderr } = await run(undefined, "passphrase", ...args);
      assert.equal(code, 1);
      assert.match(stderr, expected);
      assert.ok(!stderr.includes("tooshort"));
    }
    assert.equal(readFileSync(rootKeyFile, "utf8"), before);
    await setPassphrase(undefined, first);
    const sealed = await run(undefined, "passphrase", "--none");
    assert.match(sealed.stderr, /is protected by a passphrase; set KEYSTEAD_ROOT_KEY_PASSPHRASE/);
  });
});
