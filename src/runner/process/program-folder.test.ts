import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { excessIn, removeFolder } from "./program-folder.ts";

const MANY = { bytes: 2 ** 40, entries: 1000 };

function inFolder(test: (folder: string) => Promise<void>): () => Promise<void> {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), "keystead-folder-"));
    try {
      await test(folder);
    } finally {
      await removeFolder(folder);
    }
  };
}

it(
  "files in all folders count, up to the bound",
  inFolder(async (folder) => {
    mkdirSync(join(folder, "a/b"), { recursive: true });
    for (const name of ["1", "a/2", "a/b/3"]) writeFileSync(join(folder, name), Buffer.alloc(100_000, 1));
    assert.equal(await excessIn(folder, { bytes: 400_000, entries: 5 }), undefined);
    assert.equal(await excessIn(folder, { bytes: 250_000, entries: 5 }), "more than 250000 bytes");
    assert.equal(await excessIn(folder, { bytes: 400_000, entries: 4 }), "more than 4 files and folders");
  }),
);

it(
  "a sparse file counts for what it takes, and a link for itself",
  inFolder(async (folder) => {
    writeFileSync(join(folder, "sparse"), "x");
    truncateSync(join(folder, "sparse"), 2 ** 30);
    symlinkSync("/", join(folder, "everything"));
    assert.equal(await excessIn(folder, { bytes: 100_000, entries: 2 }), undefined);
  }),
);

it(
  "folders nested too deep to be read are an excess, and are removed; a folder that is gone is no excess",
  inFolder(async (folder) => {
    const start = process.cwd();
    const name = "n".repeat(250);
    try {
      process.chdir(folder);
      for (let depth = 0; depth < 20; depth++) {
        mkdirSync(name);
        process.chdir(name);
      }
      mkdirSync("locked", { mode: 0 });
    } finally {
      process.chdir(start);
    }
    assert.equal(await excessIn(folder, MANY), "a folder that cannot be read");
    await removeFolder(folder);
    assert.ok(!existsSync(folder));
    assert.equal(await excessIn(folder, MANY), undefined);
  }),
);
