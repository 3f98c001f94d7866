import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import crypto from "node:crypto";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it, mock } from "node:test";
import { newRootKey, openRootKeyFile, type RootKeyOutcome, RootKeyProblem, writeRootKeyFile } from "./root-key-file.ts";

const folder = mkdtempSync(join(tmpdir(), "keystead-root-key-"));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `${++files}`, "root.key");

const PASSPHRASE = "correct horse battery staple";

type Opened = Extract<RootKeyOutcome, { state: "open" }>;

function opened(outcome: RootKeyOutcome): Opened & { rootKey: Buffer } {
  assert.equal(outcome.state, "open");
  const open = outcome as Opened;
  return { ...open, rootKey: open.rootKeys[0] as Buffer };
}

const refuses = (open: () => unknown, expected: RegExp) =>
  assert.throws(open, (error: unknown) => error instanceof RootKeyProblem && expected.test(error.message));

describe("a root key file", () => {
  it("is made when it may be, for its owner alone, with nothing beside it", () => {
    const file = newFile();
    const { rootKey, created } = opened(openRootKeyFile(file, undefined, true));
    assert.equal(created, true);
    assert.equal(rootKey.length, 32);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(join(file, "..")), ["root.key"]);
    const again = opened(openRootKeyFile(file, undefined, true));
    assert.deepEqual(again.rootKey, rootKey);
    assert.equal(again.created, false);
  });

  it("is not made when it may not be", () => {
    const file = newFile();
    refuses(() => openRootKeyFile(file, undefined, false), /is missing, but the database already holds keys/);
    assert.throws(() => statSync(file));
  });

  it("is not made in the place of a link that leads nowhere", () => {
    const file = newFile();
    opened(openRootKeyFile(file, undefined, true));
    rmSync(file);
    symlinkSync(join(folder, "nowhere", "root.key"), file);
    refuses(
      () => openRootKeyFile(file, undefined, true),
      /root\.key is a link to where nothing is; mount what it leads to/,
    );
    assert.deepEqual(readdirSync(join(file, "..")), ["root.key"]);
  });

  it("is rid of what killed starts and commands left beside it, and of nothing else", () => {
    const file = newFile();
    opened(openRootKeyFile(file, undefined, true));
    const folder = join(file, "..");
    const link = join(newFile(), "..");
    symlinkSync(folder, link);
    const old = [
      "root.key.4711.tmp",
      "root.key.00112233445566ff.tmp",
      "root.key.copy.tmp",
      "root.key.4711",
      "4711.tmp",
    ];
    for (const name of old) {
      writeFileSync(join(folder, name), '{"version":1,"prot', { mode: 0o600 });
      utimesSync(join(folder, name), 1, 1);
    }
    writeFileSync(join(folder, "root.key.4712.tmp"), "is being written");
    opened(openRootKeyFile(join(link, "root.key"), undefined, false));
    assert.deepEqual(readdirSync(folder).sort(), [
      "4711.tmp",
      "root.key",
      "root.key.4711",
      "root.key.4712.tmp",
      "root.key.copy.tmp",
    ]);
  });

  it("differs from every other", () => {
    const keys = [1, 2, 3].map(() => opened(openRootKeyFile(newFile(), undefined, true)).rootKey.toString("hex"));
    assert.equal(new Set(keys).size, 3);
  });

  it("is refused when others can read it", () => {
    const file = newFile();
    opened(openRootKeyFile(file, undefined, true));
    for (const mode of [0o640, 0o660, 0o604, 0o601, 0o777]) {
      chmodSync(file, mode);
      refuses(() => openRootKeyFile(file, undefined, true), /can be read by others; run: chmod 600/);
    }
  });

  it("is refused with a passphrase that it does not have", () => {
    const file = newFile();
    opened(openRootKeyFile(file, undefined, true));
    refuses(() => openRootKeyFile(file, PASSPHRASE, true), /is not protected by a passphrase, but one was given/);
  });

  it("is refused when it is not whole, and stays as it is", () => {
    const file = newFile();
    opened(openRootKeyFile(file, undefined, true));
    const whole = readFileSync(file, "utf8");
    for (let length = 0; length < whole.trimEnd().length; length++) {
      writeFileSync(file, whole.slice(0, length));
      refuses(() => openRootKeyFile(file, undefined, true), /is damaged; restore it from its backup/);
      assert.equal(readFileSync(file, "utf8"), whole.slice(0, length));
    }
  });
});

describe("a root key file under a passphrase", () => {
  const file = newFile();
  const { rootKey } = opened(openRootKeyFile(file, PASSPHRASE, true));

  it("does not hold the key in the clear", () => {
    const text = readFileSync(file, "utf8");
    assert.ok(!text.includes(rootKey.toString("base64")) && !text.includes(rootKey.toString("hex")));
    const { scrypt } = JSON.parse(text);
    assert.deepEqual([scrypt.N, scrypt.r, scrypt.p], [2 ** 17, 8, 1]);
    assert.equal(Buffer.from(scrypt.salt, "base64").length, 16);
  });

  it("opens with it, and stays sealed without one", () => {
    assert.deepEqual(opened(openRootKeyFile(file, PASSPHRASE, false)).rootKey, rootKey);
    assert.deepEqual(openRootKeyFile(file, undefined, false), { state: "sealed" });
  });

  it("does not open with another", () => {
    refuses(() => openRootKeyFile(file, `${PASSPHRASE} `, false), /the passphrase does not open the root key file/);
  });

  it("is refused with parameters that would cost too much or are none", () => {
    const content = JSON.parse(readFileSync(file, "utf8"));
    for (const change of [{ N: 2 ** 20 }, { N: 3 }, { r: 2 ** 20 }, { p: -1 }, { N: "many" }]) {
      const changed = newFile();
      opened(openRootKeyFile(changed, undefined, true));
      writeFileSync(changed, JSON.stringify({ ...content, scrypt: { ...content.scrypt, ...change } }));
      refuses(() => openRootKeyFile(changed, PASSPHRASE, false), /is damaged/);
    }
  });
});

describe("a root key file that is replaced", () => {
  const made = (passphrase?: string) => {
    const file = newFile();
    const { rootKeys, revision } = opened(openRootKeyFile(file, passphrase, true));
    return { file, revision, rootKeys };
  };
  const rootKeysOf = (file: string, passphrase?: string) => opened(openRootKeyFile(file, passphrase, false)).rootKeys;

  it("holds one key in the form that earlier releases read, and two in another", () => {
    for (const passphrase of [undefined, PASSPHRASE]) {
      const { file, revision, rootKeys } = made(passphrase);
      const two = [...rootKeys, newRootKey()];
      writeRootKeyFile({ file, revision }, two, passphrase);
      assert.deepEqual(rootKeysOf(file, passphrase), two);
      assert.equal(JSON.parse(readFileSync(file, "utf8")).version, 2);
      const { revision: later } = opened(openRootKeyFile(file, passphrase, false));
      writeRootKeyFile({ file, revision: later }, two.slice(1), passphrase);
      assert.deepEqual(rootKeysOf(file, passphrase), two.slice(1));
      assert.equal(JSON.parse(readFileSync(file, "utf8")).version, 1);
      assert.deepEqual(readdirSync(join(file, "..")), ["root.key"]);
    }
  });

  it("gets a passphrase, another, and none", () => {
    const { file, revision, rootKeys } = made();
    writeRootKeyFile({ file, revision }, rootKeys, PASSPHRASE);
    assert.deepEqual(openRootKeyFile(file, undefined, false), { state: "sealed" });
    const { revision: second } = opened(openRootKeyFile(file, PASSPHRASE, false));
    writeRootKeyFile({ file, revision: second }, rootKeys, "another passphrase");
    refuses(() => openRootKeyFile(file, PASSPHRASE, false), /the passphrase does not open/);
    const { revision: third } = opened(openRootKeyFile(file, "another passphrase", false));
    writeRootKeyFile({ file, revision: third }, rootKeys, undefined);
    assert.deepEqual(rootKeysOf(file), rootKeys);
  });

  it("stays with its owner, for the owner alone", () => {
    const { file, rootKeys } = made();
    // Only root can give a file away.
    const isRoot = process.getuid?.() === 0;
    if (isRoot) chownSync(file, 1234, 5678);
    const before = statSync(file);
    const { revision } = opened(openRootKeyFile(file, undefined, false));
    writeRootKeyFile({ file, revision }, rootKeys, undefined);
    const { uid, gid, mode } = statSync(file);
    assert.deepEqual([uid, gid, mode & 0o777], [before.uid, before.gid, 0o600]);
    if (isRoot) assert.deepEqual([uid, gid], [1234, 5678]);
  });

  it("is replaced where a link leads, and the link stays", () => {
    const { file, revision, rootKeys } = made();
    const link = join(folder, "link.key");
    symlinkSync(file, link);
    writeRootKeyFile({ file: link, revision }, [...rootKeys, newRootKey()], undefined);
    assert.ok(lstatSync(link).isSymbolicLink());
    assert.equal(rootKeysOf(file).length, 2);
  });

  it("is not replaced by a third key, nor if it was changed in the meantime", () => {
    const { file, revision, rootKeys } = made();
    const three = [...rootKeys, newRootKey(), newRootKey()];
    refuses(() => writeRootKeyFile({ file, revision }, three, undefined), /already contains 2 root keys; complete the/);
    const other = `${readFileSync(file, "utf8")}\n`;
    writeFileSync(file, other);
    refuses(() => writeRootKeyFile({ file, revision }, rootKeys, undefined), /was changed in the meantime/);
    assert.equal(readFileSync(file, "utf8"), other);
  });

  it("is not replaced if it is changed while the passphrase is prepared", () => {
    const { file, revision, rootKeys } = made();
    const { scryptSync } = crypto;
    // Another command adds a key while this one seals the keys under the passphrase.
    mock.method(crypto, "scryptSync", (...given: Parameters<typeof scryptSync>) => {
      writeRootKeyFile({ file, revision }, [...rootKeys, newRootKey()], undefined);
      return scryptSync(...given);
    });
    syncBuiltinESMExports();
    try {
      refuses(() => writeRootKeyFile({ file, revision }, rootKeys, PASSPHRASE), /was changed in the meantime/);
    } finally {
      mock.restoreAll();
      syncBuiltinESMExports();
    }
    assert.equal(rootKeysOf(file).length, 2);
    assert.deepEqual(readdirSync(join(file, "..")), ["root.key"]);
  });

  it("is not replaced by a part of one on a disk that takes no more", () => {
    const { file, rootKeys } = made();
    const module = new URL("root-key-file.ts", import.meta.url).href;
    const script = `
      const { newRootKey, openRootKeyFile, writeRootKeyFile } = await import(${JSON.stringify(module)});
      const { rootKeys, revision } = openRootKeyFile(process.argv[1], undefined, false);
      writeRootKeyFile({ file: process.argv[1], revision }, [...rootKeys, newRootKey()], undefined);
    `;
    const command = [process.execPath, ...process.execArgv, "--input-type=module", "-e", script, file];
    const { status, stderr } = spawnSync("prlimit", ["--fsize=100", ...command], { encoding: "utf8" });
    assert.equal(status, 1, stderr);
    assert.match(stderr, /cannot be replaced \(EFBIG\); nothing was changed/);
    assert.deepEqual(rootKeysOf(file), rootKeys);
    assert.deepEqual(readdirSync(join(file, "..")), ["root.key"]);
  });

  it("is refused with more keys than two, or with none", () => {
    const { file } = made();
    const key = Buffer.alloc(32, 1).toString("base64");
    for (const rootKeys of [[], [key, key, key], [key, "AAAA"], "none", null]) {
      writeFileSync(file, JSON.stringify({ version: 2, protection: "none", rootKeys }));
      refuses(() => openRootKeyFile(file, undefined, false), /is damaged/);
    }
  });
});
