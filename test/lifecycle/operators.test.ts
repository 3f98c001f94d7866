import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { newId } from "../../src/kernel/ids.ts";
import { addUser, type Json } from "../support/client.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { engines, freshDatabaseUrl } from "../support/server.ts";
import {
  runKeystead,
  type ServerProcess,
  settingsOf,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** What operators see and set by commands, without a stamp, beside a server that runs. */

for (const engine of engines) {
  describe(`operators' commands on organizations (${engine})`, () => {
    const dataDir = temporaryFolder();
    const config = join(dataDir, "config.json");
    const settings = { KEYSTEAD_CONFIG: config };
    let databaseUrl: string;
    let server: ServerProcess;
    let organizationId: string;
    before(async () => {
      databaseUrl = await freshDatabaseUrl(engine, dataDir, MIGRATED_DATABASE);
      writeFileSync(config, JSON.stringify({ quotas: { users: 3, subOrganizations: 5 } }));
      server = await startServerProcess({ dataDir, databaseUrl, settings });
      ({ organizationId } = server.root);
    });
    after(() => server.end("SIGKILL"));

    const run = (...args: string[]) => runKeystead(args, settingsOf({ dataDir, databaseUrl, settings }));
    const answerOf = async (...args: string[]): Promise<Json> => {
      const { code, stdout, stderr } = await run(...args);
      assert.equal(code, 0, stderr);
      return JSON.parse(stdout);
    };
    const refused = async (expected: RegExp, ...args: string[]) => {
      const { code, stdout, stderr } = await run(...args);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, expected);
    };
    const setQuota = (quota: string, figure: string, ...more: string[]) =>
      answerOf("organizations", "quota", organizationId, quota, figure, ...more);
    const newWallet = () => server.root.submit("create_wallet", { walletName: newId(), accounts: [] });
    const subOrganization = () =>
      server.root.submit("create_sub_organization", {
        subOrganizationName: newId(),
        rootQuorumThreshold: 1,
        rootUsers: [
          { userName: "Sub", userEmail: "sub@example.com", apiKeys: [], authenticators: [], oauthProviders: [] },
        ],
      });

    it("the installation's quotas hold, and the refusal names quota, figure and remedy", async () => {
      await addUser(server.root, "Second");
      await addUser(server.root, "Third");
      const fourth = await server.root.submit("create_users", {
        users: [
          {
            userName: "Fourth",
            userEmail: "f@example.com",
            apiKeys: [],
            authenticators: [],
            oauthProviders: [],
            userTags: [],
          },
        ],
      });
      assert.deepEqual(
        [fourth.status, fourth.body.message],
        [
          429,
          "organization over its allotted quota: at most 3 users; delete some, or ask the operator of this server to raise the quota `users`",
        ],
      );
    });

    it("one of an organization's own takes its place, and stands among its activities", async () => {
      const changed = await setQuota("users", "4", "--reason", "asked for in writing");
      assert.deepEqual([changed.quota, changed.figure, changed.previousFigure], ["users", 4, 3]);
      await addUser(server.root, "Fourth");
      const { activity } = (await server.root.query("get_activity", { activityId: changed.activityId })).body;
      assert.deepEqual(
        [activity.type, activity.status, activity.intent, activity.result],
        [
          "ACTIVITY_TYPE_SET_ORGANIZATION_QUOTA",
          "ACTIVITY_STATUS_COMPLETED",
          {
            setOrganizationQuotaIntent: {
              quota: "users",
              figure: 4,
              reason: "asked for in writing",
              operator: { user: userInfo().username, host: hostname() },
            },
          },
          { setOrganizationQuotaResult: { figure: 4, previousFigure: 3 } },
        ],
      );
      const vote = await server.root.submit("approve_activity", { fingerprint: activity.fingerprint });
      assert.deepEqual([vote.status, /status/.test(vote.body.message)], [400, true], vote.body.message);
      // What is there above a lower quota stays.
      assert.equal((await setQuota("users", "default")).figure, 3);
      assert.equal((await server.root.read("list_users")).users.length, 4);
    });

    it("wallets, sub-organizations and activities are held to theirs", async () => {
      assert.equal((await newWallet()).status, 200);
      await setQuota("wallets", "1");
      const wallet = await newWallet();
      assert.equal(wallet.status, 429);
      assert.match(wallet.body.message, /at most 1 wallets; delete some/);

      const first = await subOrganization();
      assert.equal(first.status, 200, JSON.stringify(first.body));
      await setQuota("subOrganizations", "1");
      const second = await subOrganization();
      assert.equal(second.status, 429);
      assert.match(second.body.message, /at most 1 sub-organizations; .+`subOrganizations`/);
      const { quotas } = await answerOf("organizations", "show", organizationId);
      const figures = Object.entries<Json>(quotas).map(([name, { figure, used, isOwn }]) => [
        name,
        [figure, used, isOwn],
      ]);
      const { activitiesPerMonth, activityBytesPerMonth, ...others } = Object.fromEntries(figures);
      assert.deepEqual(others, {
        users: [3, 4, false],
        privateKeys: [1000, 0, false],
        wallets: [1, 1, true],
        interfaceBytes: [16 * 1024 * 1024, 0, false],
        subOrganizations: [1, 1, true],
      });
      const [figure, used] = activitiesPerMonth;
      assert.equal(figure, null);
      assert.ok(used >= 8, `${used} activities`);
      const [mostBytes, usedBytes] = activityBytesPerMonth;
      assert.equal(mostBytes, null);
      assert.ok(usedBytes > used * 100, `${usedBytes} bytes of ${used} activities`);

      // The change is an activity itself.
      await setQuota("activitiesPerMonth", String(used + 1));
      const tag = () => server.root.submit("create_user_tag", { userTagName: newId(), userIds: [] });
      await until(async () => (await tag()).status === 429, "the quota to be known");
      assert.match(
        (await tag()).body.message,
        /in a calendar month \(UTC\); wait for the next month, or ask .+`activitiesPerMonth`/,
      );
      assert.equal((await server.root.query("whoami")).status, 200);
      await setQuota("activitiesPerMonth", "unlimited");
      await until(async () => (await tag()).status === 200, "the quota to be gone");

      await setQuota("activityBytesPerMonth", String(usedBytes));
      await until(async () => (await tag()).status === 429, "the quota of bytes to be known");
      assert.match((await tag()).body.message, /bytes of activities in a calendar month .+`activityBytesPerMonth`/);
      await setQuota("activityBytesPerMonth", "default");
      await until(async () => (await tag()).status === 200, "the quota of bytes to be gone");
    });

    it("what there is not, and figures that cannot be, change nothing", async () => {
      const before = await answerOf("organizations", "show", organizationId);
      await refused(/no quota hats; the known ones are users, /, "organizations", "quota", organizationId, "hats", "1");
      await refused(
        /users must be a number from 0 to 1000, or default/,
        "organizations",
        "quota",
        organizationId,
        "users",
        "1001",
      );
      await refused(/users must be/, "organizations", "quota", organizationId, "users", "unlimited");
      await refused(/there is no organization /, "organizations", "quota", newId(), "users", "1");
      await refused(/there is no organization /, "organizations", "show", newId());
      await refused(/--limit must be a number from 1 to 10000/, "organizations", "list", "--limit", "0");
      assert.deepEqual((await answerOf("organizations", "show", organizationId)).quotas, before.quotas);
    });

    it("lists organizations and shows users", async () => {
      const roots = await answerOf("organizations", "list");
      assert.deepEqual(
        roots.map((each: Json) => each.organizationId),
        [organizationId],
      );
      const [below] = await answerOf("organizations", "list", "--parent", organizationId);
      assert.equal(below.parentId, organizationId);
      assert.deepEqual(await answerOf("organizations", "list", "--after", organizationId), []);

      const users = await answerOf("users", "list", organizationId);
      assert.deepEqual(
        users.map(({ name, isRootQuorumMember }: Json) => [name, isRootQuorumMember]),
        [
          [users[0].name, true],
          ["Second", false],
          ["Third", false],
          ["Fourth", false],
        ],
      );
      const shown = await answerOf("users", "show", organizationId, users[0].userId);
      assert.deepEqual(
        shown.apiKeys.map(({ publicKey, expiresAt }: Json) => [publicKey, expiresAt]),
        [[server.root.key.publicKey, null]],
      );
      await refused(/there is no organization /, "organizations", "list", "--parent", newId());
      await refused(/there is no dead job .+; nothing was changed/, "jobs", "retry", newId());
      await refused(/there is no user .+ in organization /, "users", "show", organizationId, newId());
    });

    it("the guide tells each of these commands", () => {
      const guide = readFileSync(new URL("../../docs/guide/operating.md", import.meta.url), "utf8");
      for (const command of [
        "organizations list",
        "organizations show",
        "organizations quota",
        "users list",
        "users show",
      ]) {
        assert.ok(guide.includes(`npx keystead ${command}`), command);
      }
    });
  });
}

describe("commands whose database takes no writes", () => {
  const dataDir = temporaryFolder();
  let databaseUrl: string;
  let organizationId: string;
  before(async () => {
    databaseUrl = await freshDatabaseUrl("postgres", dataDir, MIGRATED_DATABASE);
    const server = await startServerProcess({ dataDir, databaseUrl });
    ({ organizationId } = server.root);
    await server.end("SIGTERM");
    const client = new pg.Client({ connectionString: databaseUrl });
    await client.connect();
    const name = new URL(databaseUrl).pathname.slice(1);
    await client.query(`alter database ${name} set default_transaction_read_only = on`);
    await client.end();
  });

  const commands: Record<string, () => string[]> = {
    serve: () => ["serve"],
    "organizations quota": () => ["organizations", "quota", organizationId, "users", "5"],
    "maintenance on": () => ["maintenance", "on"],
    init: () => ["init"],
    "rotate webhook": () => ["rotate", "webhook"],
  };
  for (const [name, args] of Object.entries(commands)) {
    it(`${name} says so in a line`, async () => {
      const settings = { ...settingsOf({ dataDir, databaseUrl }), KEYSTEAD_LOG_LEVEL: "error" };
      const { code, stdout, stderr } = await runKeystead(args(), settings);
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, /^keystead: the database [^\n]*read-only[^\n]*\n$/);
    });
  }
});
