import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { type OpenRequest, PROTOCOL_VERSION } from "../protocol.ts";
import { SigningRefused } from "./refused.ts";
import { answer, forgetSecrets } from "./verbs.ts";

/** What a signer does with the file of root keys that it has open. */

const folders: string[] = [];
afterEach(() => {
  forgetSecrets();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "keystead-open-root-keys-"));
  folders.push(folder);
  return join(folder, "root.key");
}

const open = (rootKeyFile: string, more: Partial<OpenRequest> = {}) => {
  const opened = answer({
    verb: "open",
    protocolVersion: PROTOCOL_VERSION,
    rootKeyFile,
    mayCreate: true,
    mayReplaceFile: false,
    seedCache: { entries: 0, lifetimeMs: 0 },
    recordUses: false,
    ...more,
  });
  assert.equal(opened.state, "open");
  return opened as Extract<typeof opened, { state: "open" }>;
};
const addKey = () => answer({ verb: "replaceRootKeyFile", keys: "one more" });
const refuses = (ask: () => unknown, expected: RegExp) =>
  assert.throws(ask, (error: unknown) => error instanceof SigningRefused && expected.test(error.message));

describe("a signer's root keys", () => {
  it("are not written by a signer that serves, whatever is asked of it later", () => {
    const file = newFile();
    open(file);
    const before = readFileSync(file, "utf8");
    for (const keys of ["same", "one more", "the one that seals"] as const) {
      refuses(() => answer({ verb: "replaceRootKeyFile", keys }), /was not started to replace the root key file/);
      open(file, { mayReplaceFile: true });
    }
    refuses(() => open(newFile(), { mayReplaceFile: true }), /another root key file is open/);
    assert.equal(readFileSync(file, "utf8"), before);
  });

  it("stay open when the file was replaced by one without the key that seals", () => {
    const file = newFile();
    const [sealsWith] = open(file).rootKeyIds as [string];
    const { organizationKey } = answer({ verb: "createOrganizationKey", organizationId: "organization" });
    writeFileSync(
      file,
      JSON.stringify({ version: 1, protection: "none", rootKey: Buffer.alloc(32, 7).toString("base64") }),
    );
    assert.throws(() => open(file, { sealsWith }), /does not contain the root key [0-9a-f]{32} any more/);
    const keys = [{ keyId: "key", curve: "CURVE_SECP256K1" as const }];
    answer({ verb: "generateKeys", organizationId: "organization", organizationKey, keys });
  });

  it("are not read again and again with a passphrase that does not open the file", () => {
    const file = newFile();
    const passphrase = "correct horse battery staple";
    const { rootKeyIds } = open(file, { passphrase });
    const opens = readFileSync(file);
    const other = newFile();
    forgetSecrets();
    open(other, { passphrase: "incorrect horse, battery staple" });
    const doesNot = readFileSync(other);
    forgetSecrets();
    open(file, { passphrase });
    writeFileSync(file, doesNot);
    utimesSync(file, 1, 1);
    const wrong = /the passphrase does not open the root key file/;
    assert.throws(() => open(file, { passphrase }), wrong);
    // The same status shows that nothing is read.
    const { ino, size } = statSync(file);
    writeFileSync(file, opens);
    utimesSync(file, 1, 1);
    assert.deepEqual([statSync(file).ino, statSync(file).size], [ino, size]);
    assert.throws(() => open(file, { passphrase }), wrong);
    utimesSync(file, 2, 2);
    assert.deepEqual(open(file, { passphrase }).rootKeyIds, rootKeyIds);
  });

  it("are read again when the file was replaced, and seal as they are told", () => {
    const file = newFile();
    const { rootKeyIds } = open(file, { mayReplaceFile: true });
    const [old, added] = addKey().rootKeyIds as [string, string];
    assert.deepEqual(rootKeyIds, [old]);
    forgetSecrets();
    assert.deepEqual(open(file).rootKeyIds, [old, added], "the first seals by default");
    const organization = { organizationId: "organization" };
    const { organizationKey } = answer({ verb: "createOrganizationKey", ...organization });
    const resealed = () =>
      answer({ verb: "resealOrganizationKeys", organizations: [{ ...organization, organizationKey }] })
        .organizationKeys;
    assert.deepEqual(resealed(), [organizationKey]);
    assert.deepEqual(open(file, { sealsWith: added }).rootKeyIds, [added, old]);
    const [after] = resealed() as [string];
    assert.notEqual(after, organizationKey);
    const keys = [{ keyId: "key", curve: "CURVE_SECP256K1" }] as const;
    for (const sealed of [organizationKey, after]) {
      answer({ verb: "generateKeys", ...organization, organizationKey: sealed, keys: [...keys] });
    }
    forgetSecrets();
    open(file, { sealsWith: added, mayReplaceFile: true });
    assert.deepEqual(answer({ verb: "replaceRootKeyFile", keys: "the one that seals" }).rootKeyIds, [added]);
    forgetSecrets();
    open(file);
    answer({ verb: "generateKeys", ...organization, organizationKey: after, keys: [...keys] });
    refuses(
      () => answer({ verb: "generateKeys", ...organization, organizationKey, keys: [...keys] }),
      /was not sealed with this root key/,
    );
    assert.deepEqual(resealed(), [null]);
  });
});
