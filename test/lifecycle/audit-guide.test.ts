import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { loadConfig } from "../../src/main/config.ts";
import { addUser, generateApiKey, type Json } from "../support/client.ts";
import { reservePort } from "../support/ports.ts";
import { runKeystead, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** The guide to the audit stream: its settings, the line that it shows, and its commands, as they stand there. */

const guide = readFileSync(new URL("../../docs/guide/audit.md", import.meta.url), "utf8");
const [settings, line] = [...guide.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text]) => JSON.parse(text as string));
const commands = [...guide.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text as string);

/** The names of members, of those within as well. */
const shapeOf = (value: Json): Json =>
  typeof value === "object" && value !== null
    ? Object.fromEntries(Object.entries(value).map(([name, child]) => [name, shapeOf(child)]))
    : typeof value;

it("the guide's settings make lines like the guide's, which status and doctor tell of", async () => {
  const dataDir = temporaryFolder();
  const path = join(dataDir, "log", "audit.ndjson");
  assert.deepEqual(commands.length, 2);
  settings.audit.file.path = path;
  const config = join(dataDir, "config.json");
  writeFileSync(config, JSON.stringify(settings));
  const variables = {
    KEYSTEAD_CONFIG: config,
    KEYSTEAD_DATA_DIR: dataDir,
    KEYSTEAD_ADMIN_PORT: `${await reservePort()}`,
  };
  const server = await startServerProcess({ dataDir, settings: variables });
  const { root } = server;
  const { client, userId } = await addUser(root);
  await client.submit("update_organization_name", { organizationName: "Denied" });
  await root.with({ key: generateApiKey() }).query("whoami");
  const lines = () =>
    existsSync(path)
      ? readFileSync(path, "utf8")
          .split("\n")
          // What stands behind the last end of a line is on its way.
          .slice(0, -1)
          .map((text) => JSON.parse(text) as Json)
      : [];
  await until(() => lines().length === 3, "the lines");
  const completed = lines().find(({ outcome }) => outcome === "completed");
  assert.deepEqual(shapeOf(completed), shapeOf(line));
  assert.match(completed.activity.fingerprint, /^sha256:/);

  if (existsSync("/usr/bin/jq")) {
    const [denied, addresses] = commands.map((text) =>
      execFileSync("/bin/sh", ["-ec", text], { encoding: "utf8", env: { ...process.env, AUDIT_FILE: path } }),
    );
    const [, who, what] = JSON.parse(denied as string);
    assert.deepEqual([who, what], [userId, "ACTIVITY_TYPE_UPDATE_ORGANIZATION_NAME"]);
    assert.match(addresses as string, /^ *1 127\.0\.0\.1\n$/);
  }

  const status = await runKeystead(["status"], variables);
  assert.match(status.stdout, /^audit file: delivering, 0 lines waiting$/m);
  const doctor = await runKeystead(["doctor"], variables);
  assert.match(
    doctor.stdout,
    /^ok {4}audit file: lines are written to .*audit\.ndjson; it and up to 10 full files take/m,
  );

  const { publicKey: apiPublicKey } = generateApiKey();
  const recovering = ["recover", "--organization", root.organizationId, "--user-name", "Rescuer"];
  const recovered = await runKeystead([...recovering, "--api-public-key", apiPublicKey], {
    ...variables,
    KEYSTEAD_RECOVERY: "true",
  });
  assert.equal(recovered.code, 0, recovered.stderr);
  await until(() => lines().length === 4, "the recovery");
  const { activity, by } = lines()[3];
  assert.equal(activity.type, "ACTIVITY_TYPE_RECOVER_ROOT_QUORUM");
  assert.deepEqual(Object.keys(by.operator), ["user", "host"]);
  await server.end("SIGTERM");

  const { audit } = loadConfig(variables);
  assert.deepEqual(audit?.file, { path, maxBytes: 104_857_600, keep: 10 });
  assert.equal(audit?.maxBacklog, 100_000);
});

it("what nobody reads any more is a warning of doctor's, and so is a sink that is away", async () => {
  const dataDir = temporaryFolder();
  const config = join(dataDir, "config.json");
  const port = await reservePort();
  const write = (audit?: object) => writeFileSync(config, JSON.stringify(audit ? { audit } : {}));
  write({ syslog: { address: `tcp://127.0.0.1:${port}` }, whenFull: "drop" });
  const variables = { KEYSTEAD_CONFIG: config, KEYSTEAD_DATA_DIR: dataDir };
  const server = await startServerProcess({ dataDir, settings: variables });
  await addUser(server.root);
  await server.end("SIGTERM");
  const away = await runKeystead(["doctor"], variables);
  assert.match(away.stdout, /^fail {2}audit syslog: tcp:\/\/127\.0\.0\.1:\d+ refuses connections/m);
  write({ syslog: { address: `tcp://127.0.0.1:${port}` }, whenFull: "block", maxBacklog: 1 });
  const full = await runKeystead(["doctor"], variables);
  assert.match(
    full.stdout,
    /^fail {2}audit syslog: 1 lines are waiting for it, .*: the queue is full, and activities and votes are/m,
  );
  write();
  const unset = await runKeystead(["doctor"], variables);
  assert.match(
    unset.stdout,
    /^warn {2}audit syslog: 1 lines are waiting for it, .*; add it again to have them delivered$/m,
  );
});
