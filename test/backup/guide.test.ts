import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, it } from "node:test";
import { promisify } from "node:util";
import { generateX25519Identity, identityToRecipient } from "age-encryption";
import { NOTE_RESTORE } from "../../src/storage/backup/tables.ts";
import { freshDatabaseUrl } from "../support/server.ts";
import { KEYSTEAD, settingsOf, startServerProcess, temporaryFolder } from "../support/server-process.ts";

/** The commands of the guide, in its order, as they stand there: from one machine to another, and to PostgreSQL. */

const guide = readFileSync(new URL("../../docs/guide/backup.md", import.meta.url), "utf8")
  // What archives are has its own test.
  .replace(/^## Old activities\n[\s\S]*?(?=^## )/m, "");
const commands = [...guide.matchAll(/^( *)```sh\n([\s\S]*?)^ *```/gm)].map(([, , text]) => text as string);
const [backUp, encrypt, verify, restore, listSince, copy] = commands as [
  string,
  string,
  string,
  string,
  string,
  string,
];

const tools = temporaryFolder();
const runIn = (cwd: string, text: string, env: Record<string, string> = {}) =>
  promisify(execFile)("/bin/sh", ["-ec", text], {
    cwd,
    env: { HOME: process.env.HOME, ...env, PATH: `${tools}:${process.env.PATH}` },
  });

before(() => {
  // `npx keystead` of an installed package.
  writeFileSync(join(tools, "npx"), `#!/bin/sh\nshift\nexec "${process.execPath}" "${KEYSTEAD}" "$@"\n`, {
    mode: 0o755,
  });
});

it("the guide brings an installation to another machine, and to the other engine", async () => {
  assert.equal(commands.length, 6);
  const [first, second] = [temporaryFolder(), temporaryFolder()];
  const dataDir = temporaryFolder();
  const server = await startServerProcess({ dataDir });
  const recipient = await identityToRecipient(await generateX25519Identity());
  const { rootKeyId } = JSON.parse((await runIn(first, backUp, settingsOf({ dataDir }))).stdout);
  await runIn(first, encrypt, { ...settingsOf({ dataDir }), RECIPIENT: recipient });
  await server.end("SIGTERM");

  copyFileSync(join(first, "keystead-monday.backup"), join(second, "keystead-monday.backup"));
  for (const name of ["root.key", "credentials.json"]) copyFileSync(join(dataDir, name), join(second, name));
  const report = JSON.parse((await runIn(second, verify)).stdout);
  assert.deepEqual([report.ok, report.rootKeyId], [true, rootKeyId]);
  await runIn(second, restore);
  const data = join(second, "data");
  const { organizationId } = server.credentials;
  const restored = await startServerProcess({ dataDir: data });
  assert.equal((await restored.root.read("whoami")).organizationId, organizationId);
  await restored.end("SIGTERM");

  const databaseUrl = await freshDatabaseUrl("postgres", data);
  await runIn(second, copy, { NEW_DATABASE_URL: databaseUrl });
  const moved = await startServerProcess({ dataDir: data, databaseUrl });
  assert.equal((await moved.root.read("whoami")).organizationId, organizationId);
  await moved.end("SIGTERM");
});

it("the guide marks a database that was restored by other means as a restore does", () => {
  const [, sql = ""] = /^```sql\n([\s\S]*?);\n```/m.exec(guide) ?? [];
  assert.equal(sql, NOTE_RESTORE);
});

it("the guide lists what was done after a backup", {
  skip: !existsSync("/usr/bin/jq") && "jq is not installed",
}, async () => {
  const folder = temporaryFolder();
  const [taken, later] = ["2026-03-01T12:00:00.000Z", "2026-03-01T12:00:00.001Z"];
  const line = (time: string, event = "activity") =>
    JSON.stringify({ time, event, outcome: "completed", activity: { type: "A" }, by: { userId: "u" } });
  const lines = [line(taken), line(later), line(later, "authentication_refused")];
  writeFileSync(join(folder, "audit.ndjson"), `${lines.join("\n")}\n`);
  const { stdout } = await runIn(folder, listSince, { TAKEN_AT: taken, AUDIT_FILE: "audit.ndjson" });
  assert.equal(stdout, `${JSON.stringify([later, "completed", "A", "u"])}\n`);
});
