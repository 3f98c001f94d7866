import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { describeCode } from "./code.ts";

test("in a clone the signer names its sources in order, without tests, and a digest that sha256sum would make", () => {
  const { version, nodeVersion, files, codeDigest } = describeCode();
  assert.match(version, /^\d+\.\d+\.\d+/);
  assert.equal(nodeVersion, process.version);
  const paths = files.map(({ path }) => path);
  assert.ok(paths.length > 40, `${paths.length} files`);
  assert.deepEqual(paths, paths.toSorted());
  for (const path of [
    "signer/process/verbs.ts",
    "signer/protocol.ts",
    "chains/evm/abi.ts",
    "crypto/hpke.ts",
    "kernel/bytes.ts",
  ]) {
    assert.ok(paths.includes(path), path);
  }
  assert.ok(!paths.some((path) => path.endsWith(".test.ts")));
  const lines = files.map(({ path, sha256 }) => {
    const content = readFileSync(join(import.meta.dirname, "../..", path));
    assert.equal(sha256, createHash("sha256").update(content).digest("hex"), path);
    return `${sha256}  ${path}\n`;
  });
  assert.equal(codeDigest, createHash("sha256").update(lines.join("")).digest("hex"));
});
