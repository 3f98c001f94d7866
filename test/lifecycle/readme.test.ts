import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { after, before, it } from "node:test";
import { promisify } from "node:util";
import {
  KEYSTEAD,
  type ServerProcess,
  settingsOf,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";

/** The first calls of the README, run as they stand there. */

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const [, firstCall = ""] = /## A first call\n[\s\S]*?```sh\n([\s\S]*?)```/.exec(readme) ?? [];
const commands = firstCall.trim().split(/\n\n(?=npx )/);
const dataDir = temporaryFolder();

let server: ServerProcess;
before(async () => {
  server = await startServerProcess({ dataDir });
});
after(() => server.end("SIGTERM"));

async function run(command: string | undefined) {
  assert.match(command ?? "", /^npx keystead call /);
  const { PATH } = process.env;
  const options = { env: { PATH, NODE: process.execPath, KEYSTEAD, ...settingsOf({ dataDir }) } };
  const { stdout } = await promisify(execFile)(
    "/bin/sh",
    ["-c", (command as string).replace("npx keystead", '"$NODE" "$KEYSTEAD"')],
    options,
  );
  return JSON.parse(stdout);
}

it("tells who one is, makes a key, and signs with its address", async () => {
  const [whoami, createKey, sign, ...others] = commands;
  assert.deepEqual(others, []);
  assert.equal((await run(whoami)).userId, server.credentials.userId);
  const { activity } = await run(createKey);
  const [{ addresses }] = activity.result.createPrivateKeysResultV2.privateKeys;
  const place = "<the address or the privateKeyId from above>";
  assert.ok(sign?.includes(place));
  const signed = await run(sign?.replace(place, addresses[0].address));
  assert.match(signed.activity.result.signRawPayloadResult.r, /^[0-9a-f]{64}$/);
});
