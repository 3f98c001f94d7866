import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { it } from "node:test";
import { fileURLToPath } from "node:url";

/** What a run of the tests says last. */

const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

it("says on its last line that what is tested in a browser was left out, and why", () => {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const { stdout, status } = spawnSync(process.execPath, [pathOf("../run-files.ts"), "src/kernel/places.test.ts"], {
    cwd: pathOf("../.."),
    env: { ...env, KEYSTEAD_TEST_CHROMIUM: "/nowhere/chromium" },
    encoding: "utf8",
  });
  assert.equal(status, 0, stdout);
  assert.equal(
    stdout.trimEnd().split("\n").at(-1),
    "Left out: what is tested in a browser. Chromium is not installed: none of /nowhere/chromium.",
  );
});
