import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const MANIFEST = fileURLToPath(new URL("../../test/vectors/manifests/v1-envelope.json", import.meta.url));
const KEYSTEAD = fileURLToPath(new URL("../../bin/keystead.js", import.meta.url));

/** Loaded before the command: tells at its end which modules it has loaded. */
const RECORDER = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  import { writeFileSync } from "node:fs";
  const loaded = [];
  registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
  process.on("exit", () => writeFileSync(2, loaded.join("\\n")));
`)}`;

/** What a command loads: the packages of others, and the folders of ours. */
async function loadedBy(...args: string[]): Promise<Set<string>> {
  const { PATH } = process.env;
  const ran = promisify(execFile)(process.execPath, ["--import", RECORDER, KEYSTEAD, ...args], {
    env: { PATH, KEYSTEAD_ADMIN_PORT: "1" },
  });
  const { stderr } = await ran.catch((error: { stderr: string }) => error);
  const names = stderr.split("\n").flatMap((url) => {
    // What is settled for a capability is all that settings need of it.
    const found = /\/node_modules\/((?:@[^/]+\/)?[^/]+)|\/src\/(?!capabilities\/[^/]+\/services\.ts$)([^/]+)/.exec(url);
    return found?.[1] ?? found?.[2] ?? [];
  });
  assert.ok(names.includes("commander"), stderr);
  return new Set(names);
}

test("the version is told without a module of the server, nor one that checks settings", async () => {
  assert.deepEqual(await loadedBy("--version"), new Set(["commander", "main", "storage", "kernel"]));
});

test("a mistyped command is the first of few lines, and one without its arguments shows how it is used", async () => {
  const refusalOf = (...args: string[]) =>
    promisify(execFile)(process.execPath, [KEYSTEAD, ...args]).then(
      () => assert.fail("it was run"),
      ({ code, stderr }: { code: number; stderr: string }) => [code, stderr] as const,
    );
  const [code, stderr] = await refusalOf("statsu");
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^error: unknown command 'statsu'\n\(Did you mean status\?\)\n+"keystead --help" lists the commands\.\n$/,
  );
  assert.match((await refusalOf("call"))[1], /^error: missing required argument 'operation'\n\nUsage: keystead call /);
});

test("a command that reads the settings loads neither a database nor what a server sends and encrypts with", async () => {
  const loaded = await loadedBy("status");
  assert.ok(loaded.has("typebox"), "the settings are read");
  for (const name of ["kysely", "pg", "fastify", "prom-client", "nodemailer", "age-encryption", "capabilities"]) {
    assert.ok(!loaded.has(name), `${name} is loaded`);
  }
});

test("what a manifest says is printed so that every character of it is seen, and nothing is a command to the terminal", async () => {
  const folder = mkdtempSync(join(tmpdir(), "keystead-cli-"));
  try {
    const { manifest } = JSON.parse(readFileSync(MANIFEST, "utf8"));
    const args = ["--pay-to=\u202e1ecila\u202c", "\u009b2Jbob\u200b", "\u{e0041}", "Zoë 👍 ✓"];
    const file = join(folder, "manifest.json");
    writeFileSync(file, JSON.stringify({ ...manifest, pivot: { ...manifest.pivot, args } }));
    const { stdout } = await promisify(execFile)(process.execPath, [KEYSTEAD, "tvc", "verify", file]);
    assert.deepEqual(JSON.parse(stdout).pivot.args, args);
    for (const shown of ["=\\u202e1ecila\\u202c", "\\u009b2Jbob\\u200b", "\\udb40\\udc41", "Zoë 👍 ✓"]) {
      assert.ok(stdout.includes(`${shown}"`), shown);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const noFullDisk = !existsSync("/dev/full") && "there is no /dev/full";

test("a command whose output has no room says so in a line, and fails", { skip: noFullDisk }, async () => {
  const command = 'exec "$0" "$@" > /dev/full';
  const ran = promisify(execFile)("/bin/sh", ["-c", command, process.execPath, KEYSTEAD, "tvc", "verify", MANIFEST], {
    env: { PATH: process.env.PATH },
  });
  const { code, stderr } = await ran.then(
    () => assert.fail("it succeeds"),
    (error: { code: number; stderr: string }) => error,
  );
  assert.equal(code, 1);
  assert.match(stderr, /^keystead: the output could not be written \(ENOSPC\), but the command was carried out\n$/);
});
