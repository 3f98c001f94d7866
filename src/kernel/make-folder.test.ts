import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeFolder } from "./make-folder.ts";

const place = mkdtempSync(join(tmpdir(), "keystead-folders-"));
after(() => rmSync(place, { recursive: true }));

test("a folder is made with those above it, and one that is there stays", () => {
  const folder = join(place, "one", "two", "three");
  makeFolder(folder, 0o700);
  makeFolder(folder, 0o711);
  for (const each of [folder, join(place, "one")]) assert.equal(statSync(each).mode & 0o777, 0o700);
});

test("a file in its way, or in that of one above it, is an error", () => {
  const file = join(place, "file");
  writeFileSync(file, "");
  assert.throws(() => makeFolder(file, 0o700), { code: "EEXIST" });
  assert.throws(() => makeFolder(join(file, "below"), 0o700), { code: "ENOTDIR" });
});

// Node's recursive `mkdir` never returns there.
test("a file system that makes no folders is an error", { skip: existsSync("/proc/self") ? false : "no /proc" }, () => {
  assert.throws(() => makeFolder("/proc/keystead/backups", 0o700), { code: "ENOENT" });
});
