import assert from "node:assert/strict";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it, mock } from "node:test";
import { readCredentials, writeFileDurably } from "./credentials-file.ts";

let folder: string;
before(() => {
  folder = fs.mkdtempSync(join(tmpdir(), "keystead-durable-"));
});
after(() => {
  mock.restoreAll();
  syncBuiltinESMExports();
  fs.rmSync(folder, { recursive: true });
});

it("a file that is written durably is synced before its name, and its folder after", () => {
  const steps: string[] = [];
  const inodes = () => new Map(fs.readdirSync(folder).map((name) => [fs.statSync(join(folder, name)).ino, name]));
  const { fsyncSync, renameSync } = fs;
  mock.method(fs, "fsyncSync", (descriptor: number) => {
    const { ino } = fs.fstatSync(descriptor);
    steps.push(`sync ${ino === fs.statSync(folder).ino ? "folder" : inodes().get(ino)?.replace(/\d+/, "0")}`);
    fsyncSync(descriptor);
  });
  mock.method(fs, "renameSync", (from: string, to: string) => {
    steps.push("rename");
    renameSync(from, to);
  });
  syncBuiltinESMExports();
  const file = join(folder, "secret.json");
  writeFileDurably(file, "{}", 0o600);
  assert.deepEqual(steps, ["sync secret.json.0.tmp", "rename", "sync folder"]);
  assert.equal(fs.readFileSync(file, "utf8"), "{}");
  assert.equal(fs.statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(fs.readdirSync(folder), ["secret.json"]);
});

it("credentials that are there and cannot be read are not taken for none", () => {
  assert.equal(readCredentials(join(folder, "none.json")), undefined);
  assert.throws(() => readCredentials(folder), {
    message: new RegExp(`credentials file ${folder} cannot be read .EISDIR`),
  });
  const file = join(folder, "cut.json");
  fs.writeFileSync(file, '{"baseUrl"');
  assert.throws(() => readCredentials(file), { message: /cut\.json is not valid JSON/ });
});
