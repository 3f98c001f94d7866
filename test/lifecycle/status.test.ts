import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { describeStatus } from "../../src/main/status.ts";
import { damageTable } from "../support/damaged-sqlite.ts";
import { reservePort } from "../support/ports.ts";
import { runKeystead, settingsOf, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

it("a page of a SQLite file that is damaged is found by the doctor, and by the server once it needs it", async () => {
  const dataDir = temporaryFolder();
  const settings = { KEYSTEAD_ADMIN_PORT: String(await reservePort()) };
  const all = settingsOf({ dataDir, settings });
  const first = await startServerProcess({ dataDir, settings });
  const tag = JSON.stringify({ userTagName: "Finance", userIds: [] });
  assert.equal((await runKeystead(["call", "create_user_tag", tag], all)).code, 0);
  await first.end("SIGTERM");
  const whole = await runKeystead(["doctor"], all);
  assert.match(whole.stdout, /^ok {4}database: SQLite answers, and no page of the file is damaged$/m);
  damageTable(join(dataDir, "keystead.db"), "activities");
  const remedy =
    "is in a file that is damaged: stop the server, keep a copy of the file, and restore the newest backup";
  const examined = await runKeystead(["doctor"], all);
  assert.equal(examined.code, 1);
  assert.match(examined.stdout, new RegExp(`^fail {2}database: the database ${remedy}$`, "m"));
  const server = await startServerProcess({ dataDir, settings });
  const refused = await runKeystead(["call", "list_activities"], all);
  assert.equal(refused.code, 1, refused.stdout);
  await until(async () => (await fetch(`${server.baseUrl}/readyz`)).status === 503, "the next check");
  const { stdout, code } = await runKeystead(["status"], all);
  assert.equal(code, 2);
  assert.match(
    stdout,
    new RegExp(`^database: the database ${remedy}; requests that need the damaged part get 503$`, "m"),
  );
  await server.end("SIGTERM");
});

it("`keystead status` shows a chain without a node that answers, and that mail cannot be sent", async () => {
  const dataDir = temporaryFolder();
  const [node, mail, admin] = [await reservePort(), await reservePort(), await reservePort()];
  const file = join(dataDir, "keystead.json");
  const rpcUrls = [`http://127.0.0.1:${node}`];
  writeFileSync(file, JSON.stringify({ chains: { "eip155:1": { rpcUrls, pollMs: 1000 } } }), { mode: 0o600 });
  const settings = {
    KEYSTEAD_CONFIG: file,
    KEYSTEAD_ADMIN_PORT: String(admin),
    KEYSTEAD_SMTP_URL: `smtp://127.0.0.1:${mail}`,
    KEYSTEAD_MAIL_FROM: "keys@example.com",
  };
  const server = await startServerProcess({ dataDir, settings });
  const all = settingsOf({ dataDir, settings });
  const otp = { otpType: "OTP_TYPE_EMAIL", contact: "ada@example.com", appName: "Example" };
  const asked = await runKeystead(["call", "init_otp", JSON.stringify(otp)], all);
  assert.equal(asked.code, 0, asked.stderr);
  const expected = [
    /^warning mail: the last mail could not be sent, and is retried until it expires; /m,
    new RegExp(`^chain eip155:1: unavailable \\(127\\.0\\.0\\.1:${node} unavailable\\)$`, "m"),
  ];
  await until(async () => {
    const { code, stdout } = await runKeystead(["status"], all);
    assert.equal(code, 0, stdout);
    return expected.every((line) => line.test(stdout));
  }, "both problems");
  await server.end("SIGTERM");
});

it("dead jobs are counted with what to do about them", () => {
  const status = { state: "ready", version: "1.0.0", uptimeSeconds: 1, reasons: {}, warnings: {}, chains: {} } as const;
  const none = { maintenance: undefined, audit: {}, newestBackup: undefined };
  const lastLine = (dead: number) =>
    describeStatus({ ...status, ...none, jobs: { waiting: 3, dead } })
      .trim()
      .split("\n")
      .at(-1);
  assert.equal(lastLine(0), "jobs: 3 waiting, 0 dead");
  assert.match(lastLine(2) ?? "", /^jobs: 3 waiting, 2 dead; `keystead jobs list` shows /);
});
