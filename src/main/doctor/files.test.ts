import assert from "node:assert/strict";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it, mock } from "node:test";
import { systemClock } from "../../kernel/clock.ts";
import { loadConfig } from "../config.ts";
import { checkDatabase } from "./database.ts";
import { checkFiles } from "./files.ts";
import { checkRootKey } from "./root-key.ts";

let folder: string;
before(() => {
  folder = fs.mkdtempSync(join(tmpdir(), "keystead-files-"));
});
after(() => {
  mock.restoreAll();
  syncBuiltinESMExports();
  fs.rmSync(folder, { recursive: true });
});

/** As the system answers whom it does not let: tests may run as root, whom it lets. */
function refuse(name: "statSync" | "accessSync", code: string): void {
  mock.method(fs, name, () => {
    throw Object.assign(new Error(code), { code });
  });
  syncBuiltinESMExports();
}

it("a data directory of another user is not taken for an empty one", async () => {
  const config = loadConfig({ KEYSTEAD_DATA_DIR: folder });
  refuse("statSync", "EACCES");
  const { findings, rootKey } = await checkDatabase(config, systemClock);
  const all = [...findings, ...checkFiles(config, undefined), await checkRootKey(config, rootKey)];
  mock.restoreAll();
  syncBuiltinESMExports();
  assert.equal(rootKey, "unknown");
  assert.deepEqual(
    all.map(({ check, state }) => [check, state]),
    [
      ["database", "fail"],
      ["files", "fail"],
      ["root key", "fail"],
    ],
  );
  for (const { text } of all)
    assert.match(text, / cannot be accessed \(EACCES\); run this command as the server's user/);
});

it("on a file system that is read-only it is mounted for writing, and not given to another user", () => {
  refuse("accessSync", "EROFS");
  const [finding] = checkFiles(loadConfig({ KEYSTEAD_DATA_DIR: folder }), undefined);
  mock.restoreAll();
  syncBuiltinESMExports();
  assert.match(finding?.text ?? "", /is on a read-only file system; mount it for writing$/);
});

it("what a command of another user left there is named", () => {
  const lock = join(folder, "archive.lock");
  fs.writeFileSync(lock, "");
  mock.method(fs, "accessSync", (path: string) => {
    if (path === lock) throw Object.assign(new Error("EACCES"), { code: "EACCES" });
  });
  syncBuiltinESMExports();
  const texts = checkFiles(loadConfig({ KEYSTEAD_DATA_DIR: folder }), undefined).map(({ text }) => text);
  mock.restoreAll();
  syncBuiltinESMExports();
  fs.rmSync(lock);
  assert.deepEqual(
    texts.filter((text) => text.includes(lock)),
    [`this user cannot read and write ${lock}; run: chmod 600 ${lock}`],
  );
});

it("no root key beside a database that does not tell is no proof that it holds keys", async () => {
  const { state, text } = await checkRootKey(loadConfig({ KEYSTEAD_DATA_DIR: folder }), "unknown");
  assert.equal(state, "warn");
  assert.match(
    text,
    /root\.key does not exist, and it could not be read from the database whether it holds keys sealed with one\. /,
  );
});
