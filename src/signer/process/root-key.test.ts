import assert from "node:assert/strict";
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openRootKey, type RootKeyOutcome, RootKeyProblem, rootKeyId } from "./root-key.ts";

const folder = mkdtempSync(join(tmpdir(), "keystead-root-key-"));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `${++files}`, "root.key");

const PASSPHRASE = "correct horse battery staple";

function opened(outcome: RootKeyOutcome): { rootKey: Buffer; created: boolean } {
  assert.equal(outcome.state, "open");
  return outcome as { rootKey: Buffer; created: boolean } & RootKeyOutcome;
}

const refuses = (open: () => unknown, expected: RegExp) =>
  assert.throws(open, (error: unknown) => error instanceof RootKeyProblem && expected.test(error.message));

describe("a root key file", () => {
  it("is made when it may be, for its owner alone, with nothing beside it", () => {
    const file = newFile();
    const { rootKey, created } = opened(openRootKey(file, undefined, true));
    assert.equal(created, true);
    assert.equal(rootKey.length, 32);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.deepEqual(readdirSync(join(file, "..")), ["root.key"]);
    const again = opened(openRootKey(file, undefined, true));
    assert.deepEqual(again.rootKey, rootKey);
    assert.equal(again.created, false);
  });

  it("is not made when it may not be", () => {
    const file = newFile();
    refuses(() => openRootKey(file, undefined, false), /is missing, but the database already holds keys/);
    assert.throws(() => statSync(file));
  });

  it("is not made in the place of a link that leads nowhere", () => {
    const file = newFile();
    opened(openRootKey(file, undefined, true));
    rmSync(file);
    symlinkSync(join(folder, "nowhere", "root.key"), file);
    refuses(
      () => openRootKey(file, undefined, true),
      /root\.key is a link to where nothing is; mount what it leads to/,
    );
    assert.deepEqual(readdirSync(join(file, "..")), ["root.key"]);
  });

  it("is made although a start that was killed left a part of one, under the same process id", () => {
    const file = newFile();
    opened(openRootKey(file, undefined, true));
    rmSync(file);
    writeFileSync(`${file}.${process.pid}.tmp`, '{"version":1,"prot', { mode: 0o600 });
    opened(openRootKey(file, undefined, true));
    assert.deepEqual(readdirSync(join(file, "..")), ["root.key"]);
  });

  it("differs from every other", () => {
    const keys = [1, 2, 3].map(() => opened(openRootKey(newFile(), undefined, true)).rootKey.toString("hex"));
    assert.equal(new Set(keys).size, 3);
  });

  it("is refused when others can read it", () => {
    const file = newFile();
    opened(openRootKey(file, undefined, true));
    for (const mode of [0o640, 0o660, 0o604, 0o601, 0o777]) {
      chmodSync(file, mode);
      refuses(() => openRootKey(file, undefined, true), /can be read by others; run: chmod 600/);
    }
  });

  it("is refused with a passphrase that it does not have", () => {
    const file = newFile();
    opened(openRootKey(file, undefined, true));
    refuses(() => openRootKey(file, PASSPHRASE, true), /is not protected by a passphrase, but one was given/);
  });

  it("is refused when it is not whole, and stays as it is", () => {
    const file = newFile();
    opened(openRootKey(file, undefined, true));
    const whole = readFileSync(file, "utf8");
    for (let length = 0; length < whole.trimEnd().length; length++) {
      writeFileSync(file, whole.slice(0, length));
      refuses(() => openRootKey(file, undefined, true), /is damaged; restore it from its backup/);
      assert.equal(readFileSync(file, "utf8"), whole.slice(0, length));
    }
  });
});

describe("a root key file under a passphrase", () => {
  const file = newFile();
  const { rootKey } = opened(openRootKey(file, PASSPHRASE, true));

  it("does not hold the key in the clear", () => {
    const text = readFileSync(file, "utf8");
    assert.ok(!text.includes(rootKey.toString("base64")) && !text.includes(rootKey.toString("hex")));
    const { scrypt } = JSON.parse(text);
    assert.deepEqual([scrypt.N, scrypt.r, scrypt.p], [2 ** 17, 8, 1]);
    assert.equal(Buffer.from(scrypt.salt, "base64").length, 16);
  });

  it("opens with it, and stays sealed without one", () => {
    assert.deepEqual(opened(openRootKey(file, PASSPHRASE, false)).rootKey, rootKey);
    assert.deepEqual(openRootKey(file, undefined, false), { state: "sealed" });
  });

  it("does not open with another", () => {
    refuses(() => openRootKey(file, `${PASSPHRASE} `, false), /the passphrase does not open the root key file/);
  });

  it("is refused with parameters that would cost too much or are none", () => {
    const content = JSON.parse(readFileSync(file, "utf8"));
    for (const change of [{ N: 2 ** 20 }, { N: 3 }, { r: 2 ** 20 }, { p: -1 }, { N: "many" }]) {
      const changed = newFile();
      opened(openRootKey(changed, undefined, true));
      writeFileSync(changed, JSON.stringify({ ...content, scrypt: { ...content.scrypt, ...change } }));
      refuses(() => openRootKey(changed, PASSPHRASE, false), /is damaged/);
    }
  });
});

describe("the id of a root key", () => {
  it("names it and tells nothing of it", () => {
    const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    assert.match(rootKeyId(one), /^[0-9a-f]{32}$/);
    assert.equal(rootKeyId(one), rootKeyId(Buffer.from(one)));
    assert.notEqual(rootKeyId(one), rootKeyId(two));
  });
});
