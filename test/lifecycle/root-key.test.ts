import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import type { Client } from "../support/client.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { testPostgresUrl } from "../support/server.ts";
import {
  readJson,
  refusalOf,
  runKeystead,
  type ServerProcess,
  settingsOf,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";

/** The root key file and the database belong together; without the right one a start says so and changes nothing. */

const newKey = { privateKeyName: "key", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };

async function createKey(root: Client): Promise<string> {
  const { privateKeys } = await root.result("create_private_keys", { privateKeys: [newKey] });
  return privateKeys[0].privateKeyId;
}

const signing = (signWith: string) => ({
  signWith,
  payload: "payload",
  encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
  hashFunction: "HASH_FUNCTION_SHA256",
});

describe("a root key file that does not fit", () => {
  const dataDir = temporaryFolder();
  const rootKeyFile = `${dataDir}/root.key`;
  const databaseFile = `${dataDir}/keystead.db`;
  let rightFile: string;
  let databaseBytes: Buffer;
  let key: string;

  before(async () => {
    const server = await startServerProcess({ dataDir });
    key = await createKey(server.root);
    await server.end("SIGTERM");
    rightFile = readFileSync(rootKeyFile, "utf8");
    databaseBytes = readFileSync(databaseFile);
  });

  const plain = (rootKey: Buffer) =>
    JSON.stringify({ version: 1, protection: "none", rootKey: rootKey.toString("base64") });
  const cases: Record<string, { text: string; expected: RegExp; settings?: Record<string, string> }> = {
    "of another installation": {
      text: plain(Buffer.alloc(32, 7)),
      expected: /is not the one that sealed the keys in this database; nothing was changed/,
    },
    "that is empty": { text: "", expected: /is damaged; restore it from its backup/ },
    "cut short": { text: plain(Buffer.alloc(32, 7)).slice(0, 40), expected: /is damaged/ },
    "with a short key": { text: plain(Buffer.alloc(31, 7)), expected: /is damaged/ },
    "that is not an object": { text: "null", expected: /is damaged/ },
    "of a later version": { text: plain(Buffer.alloc(32, 7)).replace("1", "2"), expected: /is damaged/ },
    "under a passphrase, with its parameters lost": {
      text: JSON.stringify({ version: 1, protection: "passphrase", sealedRootKey: "AAAA" }),
      expected: /is damaged/,
    },
    "under a passphrase, with parameters that are none": {
      text: JSON.stringify({
        version: 1,
        protection: "passphrase",
        scrypt: { N: 3, r: 8, p: 1, salt: "AAAA" },
        sealedRootKey: "AAAA",
      }),
      settings: { KEYSTEAD_ROOT_KEY_PASSPHRASE: "correct horse battery staple" },
      expected: /is damaged/,
    },
  };

  for (const [name, { text, expected, settings }] of Object.entries(cases)) {
    it(name, async () => {
      writeFileSync(rootKeyFile, text, { mode: 0o600 });
      assert.match(await refusalOf({ dataDir, ...(settings ? { settings } : {}) }), expected);
      assert.ok(readFileSync(databaseFile).equals(databaseBytes), "the database was not touched");
      assert.equal(readFileSync(rootKeyFile, "utf8"), text, "the root key file was not touched");
    });
  }

  it("that is missing", async () => {
    rmSync(rootKeyFile);
    assert.match(
      await refusalOf({ dataDir }),
      /root\.key is missing, but the database already holds keys sealed with it/,
    );
    assert.throws(() => statSync(rootKeyFile), "none was made");
    assert.ok(readFileSync(databaseFile).equals(databaseBytes));
  });

  it("that is a folder", async () => {
    mkdirSync(rootKeyFile);
    assert.match(await refusalOf({ dataDir }), /cannot be read \(EISDIR\)/);
    rmSync(rootKeyFile, { recursive: true });
  });

  it("that others can read", async () => {
    writeFileSync(rootKeyFile, rightFile);
    for (const mode of [0o640, 0o604, 0o644]) {
      chmodSync(rootKeyFile, mode);
      assert.match(await refusalOf({ dataDir }), /can be read by others; run: chmod 600 /);
    }
    assert.ok(readFileSync(databaseFile).equals(databaseBytes));
    chmodSync(rootKeyFile, 0o600);
  });

  it("that is not protected, with a passphrase given", async () => {
    const settings = { KEYSTEAD_ROOT_KEY_PASSPHRASE: "correct horse battery staple" };
    assert.match(await refusalOf({ dataDir, settings }), /is not protected by a passphrase, but one was given/);
  });

  it("and the right one again: everything works", async () => {
    const server = await startServerProcess({ dataDir });
    await server.root.result("sign_raw_payload", signing(key));
    await server.end("SIGTERM");
  });

  it("to a database on PostgreSQL", async () => {
    const databaseUrl = await createTestDatabase(testPostgresUrl(), `root_${newId().replaceAll("-", "")}`);
    const first = await startServerProcess({ dataDir: temporaryFolder(), databaseUrl });
    await first.end("SIGTERM");
    const other = temporaryFolder();
    assert.match(await refusalOf({ dataDir: other, databaseUrl }), /is missing, but the database already holds keys/);
    writeFileSync(`${other}/root.key`, plain(Buffer.alloc(32, 7)), { mode: 0o600 });
    assert.match(await refusalOf({ dataDir: other, databaseUrl }), /is not the one that sealed the keys/);
  });
});

describe("a root key that cannot be made", () => {
  it("says which file it is about", async () => {
    const dataDir = temporaryFolder();
    writeFileSync(`${dataDir}/file`, "");
    const settings = { KEYSTEAD_ROOT_KEY_FILE: `${dataDir}/file/root.key` };
    assert.match(
      await refusalOf({ dataDir, settings }),
      /root key file .+\/file\/root\.key cannot be (read|written) \(E/,
    );
  });
});

describe("a root key under a passphrase", () => {
  const dataDir = temporaryFolder();
  const settings = { KEYSTEAD_ROOT_KEY_PASSPHRASE: "correct horse battery staple" };
  let key: string;
  let server: ServerProcess;
  after(() => server.end("SIGKILL"));

  it("is made at the first start, and not readable in the file", async () => {
    server = await startServerProcess({ dataDir, settings });
    key = await createKey(server.root);
    await server.end("SIGTERM");
    const file = readJson(`${dataDir}/root.key`) as Record<string, unknown>;
    assert.equal(file.protection, "passphrase");
    assert.ok(!("rootKey" in file));
    assert.equal(statSync(`${dataDir}/root.key`).mode & 0o777, 0o600);
  });

  it("opens with it", async () => {
    server = await startServerProcess({ dataDir, settings });
    await server.root.result("sign_raw_payload", signing(key));
    await server.end("SIGTERM");
  });

  it("does not open with another, and says so without naming either", async () => {
    const wrong = "wrong horse battery staple";
    const line = await refusalOf({ dataDir, settings: { KEYSTEAD_ROOT_KEY_PASSPHRASE: wrong } });
    assert.match(line, /the passphrase does not open the root key file/);
    assert.ok(!line.includes("horse"));
  });

  it("does not open with one that is too short, and the text does not repeat it", async () => {
    const line = await refusalOf({ dataDir, settings: { KEYSTEAD_ROOT_KEY_PASSPHRASE: "tooshort" } });
    assert.match(line, /bad value for KEYSTEAD_ROOT_KEY_PASSPHRASE/);
    assert.ok(!line.includes("tooshort"));
  });

  it("stays sealed without one: reads and plain writes work, signing and making keys say why not", async () => {
    server = await startServerProcess({ dataDir });
    const { root, baseUrl } = server;
    const probe = await fetch(`${baseUrl}/readyz`);
    assert.equal(probe.status, 503);
    const { reasons, ...states } = (await probe.json()) as { reasons: { signer: string } };
    assert.deepEqual(states, { status: "not ready", database: "ready", signer: "sealed", organization: "ready" });
    assert.match(reasons.signer, /needs a passphrase: restart the server with KEYSTEAD_ROOT_KEY_PASSPHRASE/);
    assert.equal((await fetch(`${baseUrl}/healthz`)).status, 200);

    const { userId } = await root.read("whoami");
    assert.equal((await root.read("get_private_key", { privateKeyId: key })).privateKey.privateKeyId, key);
    await root.result("update_user_name", { userId, userName: "renamed while sealed" });
    for (const [path, parameters] of [
      ["sign_raw_payload", signing(key)],
      ["create_private_keys", { privateKeys: [newKey] }],
    ] as const) {
      const { status, body } = await root.submit(path, parameters);
      assert.equal(status, 503);
      assert.equal(body.code, 14);
      assert.match(body.message, /^the signer is sealed: its root key needs a passphrase/);
    }
    const byType = { filterByType: ["ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2", "ACTIVITY_TYPE_CREATE_PRIVATE_KEYS_V2"] };
    assert.equal((await root.read("list_activities", byType)).activities.length, 2, "only those from before");
    await server.end("SIGTERM");
  });

  it("stays sealed for commands too, which say in a line how to give it", async () => {
    for (const args of [["init"], ["rotate", "webhook"]]) {
      const { code, stdout, stderr } = await runKeystead(args, settingsOf({ dataDir }));
      assert.deepEqual([code, stdout], [1, ""], stderr);
      assert.match(stderr, /^keystead: the signer is sealed: [^\n]+; set KEYSTEAD_ROOT_KEY_PASSPHRASE [^\n]+\n$/);
    }
  });

  it("cannot be used sealed for the first start of a database", async () => {
    const fresh = temporaryFolder();
    const settings = { KEYSTEAD_ROOT_KEY_FILE: `${dataDir}/root.key` };
    const line = await refusalOf({ dataDir: fresh, settings, args: ["--new-installation"] });
    assert.match(line, /is protected by a passphrase; set KEYSTEAD_ROOT_KEY_PASSPHRASE for the first start/);
  });
});
