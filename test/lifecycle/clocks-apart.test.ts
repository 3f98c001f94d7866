import assert from "node:assert/strict";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { runKeystead, settingsOf, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** Two servers on one PostgreSQL, whose machines are apart: what they tell one another means the same to both. */

/** As far as it goes without a stamp being refused. */
const AHEAD_MS = 55 * 60_000;
const BEHIND_MS = 4 * 60_000;
const NEAR_MS = 60_000;

describe("servers whose machines do not keep time", () => {
  let ahead: TestServer;
  let behind: TestServer;
  let receiver: Receiver;
  before(async () => {
    receiver = await startReceiver();
    ahead = await startTestServer("postgres", { machineClock: () => Date.now() + AHEAD_MS });
    const dataDir = temporaryFolder();
    copyFileSync(join(ahead.dataDir, "credentials.json"), join(dataDir, "credentials.json"));
    behind = await startTestServer("postgres", {
      databaseUrl: ahead.databaseUrl,
      dataDir,
      settings: { KEYSTEAD_ROOT_KEY_FILE: join(ahead.dataDir, "root.key") },
      machineClock: () => Date.now() - BEHIND_MS,
    });
  });
  after(async () => {
    await behind.close();
    await ahead.close();
    await receiver.close();
  });

  it("take what was stamped now, and say when it was", async () => {
    for (const { root, log } of [ahead, behind]) {
      assert.match(log(), /this machine's clock is not the database's/);
      const { body } = await root.submit("create_user_tag", { userTagName: `of ${root.baseUrl}`, userIds: [] });
      const at = Date.parse(body.activity.createdAt);
      assert.ok(Math.abs(at - Date.now()) < NEAR_MS, new Date(at).toISOString());
    }
  });

  it("leave a job to the one that works on it, however long that takes", async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    receiver.answer((request, response) => {
      void (request.url === "/slow" ? held : Promise.resolve()).then(() => response.writeHead(200).end());
    });
    const hear = (path: string, type: string) =>
      ahead.root.result("create_webhook_endpoint", {
        url: `${receiver.url}${path}`,
        name: path,
        subscriptions: [{ eventType: "ACTIVITY_UPDATES", filtersJson: JSON.stringify({ type }) }],
      });
    await hear("/slow", "ACTIVITY_TYPE_UPDATE_ORGANIZATION_NAME");
    await hear("/fast", "ACTIVITY_TYPE_CREATE_USER_TAG");
    const ofPath = (path: string) => receiver.received.filter((one) => one.path === path);
    for (const { root } of [behind, ahead]) {
      await root.result("update_organization_name", { organizationName: `by ${root.baseUrl}` });
      await until(() => ofPath("/slow").length === 1, "the first delivery");
      // Whoever makes a job looks for others that are due.
      for (let made = 0; made < 5; made++) {
        const already = ofPath("/fast").length;
        await root.result("create_user_tag", { userTagName: `${made} ${root.baseUrl}`, userIds: [] });
        await until(() => ofPath("/fast").length > already, "the delivery of another endpoint");
      }
    }
    assert.equal(ofPath("/slow").length, 1, "nobody delivers what is being delivered");
    release();
    await until(() => ofPath("/slow").length === 2, "the second delivery");
    const told = new Set(ofPath("/slow").map(({ body }) => body));
    assert.equal(told.size, 2, "each is delivered once");
  });

  it("both count as alive", async () => {
    const servers = await ahead.opened.database.read.selectFrom("servers").select("seen_at").execute();
    assert.equal(servers.length, 2);
    for (const { seen_at: seenAt } of servers) assert.ok(Math.abs(seenAt - Date.now()) < NEAR_MS);
  });

  it("are seen and told by commands of a machine that is an hour off", async () => {
    const hourOff = encodeURIComponent("const now = Date.now; Date.now = () => now() + 3_600_000;");
    const settings = {
      ...settingsOf({ dataDir: ahead.dataDir, databaseUrl: ahead.databaseUrl }),
      NODE_OPTIONS: `--import=data:text/javascript,${hourOff}`,
    };
    const { stdout } = await runKeystead(["instances"], settings);
    const servers = JSON.parse(stdout) as { id: string; isAlive: boolean }[];
    assert.deepEqual(
      servers.map(({ isAlive }) => isAlive),
      [true, true],
    );
    const drained = await runKeystead(["drain", servers[0]?.id as string], settings);
    assert.equal(drained.code, 0, drained.stderr);
    assert.equal(JSON.parse(drained.stdout).state, "draining");
  });
});
