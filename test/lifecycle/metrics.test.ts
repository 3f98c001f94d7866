import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { addUser, generateApiKey } from "../support/client.ts";
import { reservePort } from "../support/ports.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { startReceiver } from "../support/receiver.ts";
import { engines, freshDatabaseUrl } from "../support/server.ts";
import { startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** What operators see of a server, and what is made of it in `deploy/`. */

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

/** Samples by their names with their labels, as they are written. */
function samplesIn(text: string): Map<string, number> {
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
  );
}

/** Another one than that of the API, which is not the default either. */
const ADMIN_HOST = "127.0.0.2";

const namesIn = (text: string): string[] => [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name as string);

/** Of both engines: some are of one alone. */
const seen = new Set<string>();
/** What a server of each engine said. */
const scraped: string[] = [];

for (const engine of engines) {
  it(`a server tells what it does (${engine})`, async () => {
    const dataDir = temporaryFolder();
    const receiver = await startReceiver();
    const config = join(dataDir, "config.json");
    const backup = { every: 3600, keep: 1, directory: join(dataDir, "backups") };
    const audit = { file: { path: join(dataDir, "audit.ndjson") }, whenFull: "block" };
    writeFileSync(config, JSON.stringify({ backup, audit }));
    const adminPort = await reservePort();
    const server = await startServerProcess({
      dataDir,
      databaseUrl: await freshDatabaseUrl(engine, dataDir, MIGRATED_DATABASE),
      settings: {
        KEYSTEAD_CONFIG: config,
        KEYSTEAD_ADMIN_HOST: ADMIN_HOST,
        KEYSTEAD_ADMIN_PORT: String(adminPort),
        KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
        // What comes of it is counted; nobody takes them.
        KEYSTEAD_OTLP_URL: `http://127.0.0.1:${await reservePort()}`,
        KEYSTEAD_TRACE_RATIO: "0",
      },
    });
    const scrape = async () => (await fetch(`http://${ADMIN_HOST}:${adminPort}/metrics`)).text();
    const sample = async (name: string) => samplesIn(await scrape()).get(`keystead_${name}`);
    const { root } = server;

    const known = await fetch(`${server.baseUrl}/public/v1/query/whoami`, { method: "POST", body: "{}" });
    assert.equal(known.status, 401);
    assert.equal((await fetch(`${server.baseUrl}/no/such/path`)).status, 404);
    const stranger = root.with({ key: generateApiKey() });
    assert.equal(
      (await stranger.post("/public/v1/query/whoami", JSON.stringify({ organizationId: root.organizationId }))).status,
      401,
    );
    const subscriptions = [{ eventType: "ACTIVITY_UPDATES" }];
    await root.result("create_webhook_endpoint", { url: receiver.url, name: "Hook", subscriptions });
    const { userId } = await addUser(root, "Somebody");
    await receiver.waitFor(1);
    await root.result("delete_users", { userIds: [userId] });
    await root.read("whoami");

    await until(async () => ((await sample('webhook_attempts_total{outcome="delivered"}')) ?? 0) >= 1, "a delivery");
    await until(
      async () => ((await sample('job_runs_total{kind="deliver_webhook",outcome="done"}')) ?? 0) >= 1,
      "its job",
    );
    // Three activities, and two requests of nobody.
    let text = "";
    await until(async () => {
      text = await scrape();
      const all = samplesIn(text);
      const of = (name: string) => all.get(`keystead_${name}{sink="file"}`);
      // What a busy database does not tell in time is left out.
      const isWhole =
        all.has("keystead_job_oldest_due_seconds") &&
        all.has("keystead_clock_skew_seconds") === (engine === "postgres");
      return isWhole && of("audit_lines_total") === 5 && of("audit_backlog") === 0 && of("audit_lag_seconds") === 0;
    }, "the audit file to have everything");
    const samples = samplesIn(text);
    const at = (name: string) => samples.get(`keystead_${name}`);
    assert.equal(at('requests_total{operation="whoami",status="401"}'), 2);
    assert.equal(at('errors_total{operation="whoami",error="PUBLIC_KEY_NOT_FOUND"}'), 1);
    assert.equal(at('auth_failures_total{reason="PUBLIC_KEY_NOT_FOUND"}'), 1);
    assert.equal(at('rejected_total{reason="ROUTE_NOT_FOUND"}'), 1);
    assert.equal(at('activities_total{type="ACTIVITY_TYPE_DELETE_USERS",status="ACTIVITY_STATUS_COMPLETED"}'), 1);
    assert.ok((at('signer_duration_seconds_count{verb="signStatements"}') ?? 0) >= 1);
    assert.ok((at("commit_batch_size_count") ?? 0) >= 3);
    assert.equal(at("commit_batch_size_count"), at("commit_duration_seconds_count"));
    assert.equal((at("organization_lock_wait_seconds_count") ?? 0) > 0, engine === "postgres");
    assert.equal(at("signer_ready"), 1);
    assert.ok((at("disk_free_bytes") ?? 0) > 0);
    assert.equal((at("sqlite_db_bytes") ?? 0) > 0, engine === "sqlite");
    assert.equal(at("db_pool_waiting"), engine === "postgres" ? 0 : undefined);
    // Of one machine: its clock is SQLite's too, of which nothing is told.
    const skew = at("clock_skew_seconds");
    if (engine === "postgres") assert.ok(Math.abs(skew as number) < 1, `${skew} s`);
    else assert.equal(skew, undefined);
    assert.equal(at("job_oldest_due_seconds") !== undefined, true);
    assert.equal(at("requests_in_flight"), 0);
    assert.equal(at('audit_failures_total{sink="file"}'), 0);
    assert.equal(at('audit_dropped_total{sink="file"}'), 0);
    assert.equal(at("audit_refusals_left_out_total"), 0);
    assert.equal(at('commit_failures_total{kind="unavailable"}'), 0);
    for (const name of namesIn(text)) seen.add(name);
    scraped.push(text);
    await server.end("SIGTERM");
    await receiver.close();
  });
}

it("each answer names its request, and the log what came of it", async () => {
  const server = await startServerProcess({ dataDir: temporaryFolder(), settings: { KEYSTEAD_LOG_LEVEL: "info" } });
  const lineOf = async (requestId: string | null) => {
    const lines = () =>
      server
        .stdout()
        .split("\n")
        .filter((line) => line.includes(`"requestId":"${requestId}"`));
    await until(() => lines().length > 0, "the line of the request");
    return JSON.parse(lines()[0] as string);
  };
  const unknown = await fetch(`${server.baseUrl}/no/such/path`, { method: "POST", body: "{}" });
  assert.equal((await lineOf(unknown.headers.get("x-request-id"))).error, "ROUTE_NOT_FOUND");
  const unstamped = await fetch(`${server.baseUrl}/public/v1/query/whoami`, { method: "POST", body: "{}" });
  const refused = await lineOf(unstamped.headers.get("x-request-id"));
  assert.deepEqual([refused.status, typeof refused.error], [401, "string"]);
  const page = await fetch(`${server.baseUrl}/healthz`);
  assert.match(page.headers.get("x-request-id") ?? "", /^[0-9a-f-]{36}$/);
  const made = await server.root.submit("create_user_tag", { userTagName: "Tag", userIds: [] });
  const line = await lineOf(made.headers.get("x-request-id"));
  assert.deepEqual([line.activityId, "error" in line], [made.body.activity.id, false]);
  await server.end("SIGTERM");
});

describe("what is made of metrics", () => {
  const rules = pathOf("deploy/prometheus/keystead.rules.yml");
  const isOfNode = (name: string) => /^keystead_(nodejs|process)_/.test(name);
  /** As they are named in an expression: a histogram has samples of three names. */
  const known = () => new Set([...seen].flatMap((name) => [name, `${name}_bucket`, `${name}_sum`, `${name}_count`]));

  it("names those alone that there are", () => {
    for (const path of ["deploy/prometheus/keystead.rules.yml", "deploy/grafana/keystead.json"]) {
      const names = new Set(readFileSync(pathOf(path), "utf8").match(/keystead_[a-z0-9_]+/g));
      const missing = [...names].filter((name) => !known().has(name));
      assert.deepEqual(missing, [], path);
    }
  });

  it("is told in the guide, each of them", () => {
    const guide = readFileSync(pathOf("docs/guide/operating.md"), "utf8");
    const table = [...guide.matchAll(/^\| `(keystead_[a-z0-9_]+)` \|/gm)].map(([, name]) => name);
    assert.deepEqual([...table].sort(), [...seen].filter((name) => !isOfNode(name)).sort());
  });

  const promtool = "/usr/bin/promtool";
  it("is what Prometheus takes", { skip: !existsSync(promtool) && "promtool is not installed" }, () => {
    const run = (...args: string[]) =>
      execFileSync(promtool, args, { encoding: "utf8", cwd: pathOf("deploy/prometheus") });
    assert.match(run("check", "config", "prometheus.yml"), /SUCCESS/);
    assert.match(run("check", "rules", rules), /SUCCESS: 27 rules found/);
    assert.match(run("test", "rules", "keystead.rules.test.yml"), /SUCCESS/);
    for (const input of scraped)
      execFileSync(promtool, ["check", "metrics"], { input, stdio: ["pipe", "inherit", "inherit"] });
  });
});
