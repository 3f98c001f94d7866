import assert from "node:assert/strict";
import { hostname, userInfo } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import pg from "pg";
import { newId } from "../../src/kernel/ids.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { type Client, generateApiKey, type Json } from "../support/client.ts";
import { type Dump, dumpDatabase } from "../support/database-dump.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { engines, freshDatabaseUrl } from "../support/server.ts";
import {
  runKeystead,
  type ServerProcess,
  settingsOf,
  startServerProcess,
  temporaryFolder,
} from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** `keystead recover`, beside a server that runs: one user with one key becomes the root quorum, and the record says so. */

const TYPE = "ACTIVITY_TYPE_RECOVER_ROOT_QUORUM";

for (const engine of engines) {
  describe(`the recovery of a root quorum (${engine})`, () => {
    const dataDir = temporaryFolder();
    let databaseUrl: string;
    let server: ServerProcess;
    let store: Database;
    let receiver: Receiver;
    let oldQuorum: { threshold: number; userIds: string[] };
    let organizationId: string;

    before(async () => {
      databaseUrl = await freshDatabaseUrl(engine, dataDir, MIGRATED_DATABASE);
      const settings = { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" };
      server = await startServerProcess({ dataDir, databaseUrl, settings });
      store = openDatabase({ url: databaseUrl });
      receiver = await startReceiver();
      const { root } = server;
      organizationId = root.organizationId;
      const filtersJson = JSON.stringify({ type: TYPE });
      const subscriptions = [{ eventType: "ACTIVITY_UPDATES", filtersJson }];
      await root.result("create_webhook_endpoint", { url: receiver.url, name: "hook", subscriptions });
      // Two of two, and the key of one of them is lost: nobody can act as root quorum any more.
      const lost = await addUser(root, "Lost", generateApiKey().publicKey);
      oldQuorum = { threshold: 2, userIds: [server.credentials.userId, lost].sort() };
      await root.result("update_root_quorum", oldQuorum);
    });
    after(async () => {
      await receiver.close();
      await store.close();
      await server.end("SIGKILL");
    });

    const recover = (options: Record<string, string>, settings: Record<string, string> = {}) =>
      runKeystead(
        ["recover", ...Object.entries(options).flatMap(([name, value]) => [`--${name}`, value])],
        settingsOf({ dataDir, databaseUrl, settings: { KEYSTEAD_RECOVERY: "true", ...settings } }),
      );
    const rename = (client: Client) => client.submit("update_organization_name", { organizationName: newId() });

    const refuses = async (
      expected: RegExp,
      options: Record<string, string>,
      settings?: Record<string, string>,
    ): Promise<void> => {
      const before = await dumpDatabase(store);
      const { code, stdout, stderr } = await recover(options, settings);
      assert.deepEqual([code, stdout], [1, ""], stderr);
      assert.match(stderr, expected);
      assert.match(stderr, /^keystead: [^\n]+\n$/);
      assert.deepEqual(withoutJobs(await dumpDatabase(store)), withoutJobs(before), "nothing was changed");
    };

    it("is refused where it is switched off, and in containers unless it is switched on", async () => {
      const options = {
        organization: organizationId,
        "user-name": "Eve",
        "api-public-key": generateApiKey().publicKey,
      };
      await refuses(/recover is switched off: KEYSTEAD_RECOVERY is false/, options, { KEYSTEAD_RECOVERY: "false" });
      for (const [name, value] of [
        ["container", "podman"],
        ["KUBERNETES_SERVICE_HOST", "10.0.0.1"],
      ] as const) {
        const settings = { KEYSTEAD_RECOVERY: "", [name]: value };
        const expected = new RegExp(
          `recover is switched off: this process runs in a container \\(the variable ${name} is set\\); set KEYSTEAD_RECOVERY=true`,
        );
        await refuses(expected, options, settings);
      }
    });

    it("is refused for what cannot be, and changes nothing", async () => {
      const right = { organization: organizationId, "user-name": "Eve", "api-public-key": generateApiKey().publicKey };
      const unknown = newId();
      await refuses(new RegExp(`there is no organization ${unknown}`), { ...right, organization: unknown });
      await refuses(/--api-public-key must be a compressed P-256 public key/, { ...right, "api-public-key": "02ff" });
      await refuses(/--user-name must have 1 to 255 printable characters/, { ...right, "user-name": " " });
      await refuses(/--reason must have 1 to 255 printable characters/, { ...right, reason: "x".repeat(256) });
      const { publicKey } = server.root.key;
      await refuses(/already belongs to an API key of this organization/, { ...right, "api-public-key": publicKey });
    });

    it("is refused while the organization cannot be locked", async () => {
      const options = {
        organization: organizationId,
        "user-name": "Eve",
        "api-public-key": generateApiKey().publicKey,
      };
      const release = await lockOrganization(databaseUrl, organizationId);
      await refuses(/could not be locked: .*\. Nothing was changed; try again/, options);
      await release();
    });

    it("makes the new user the root quorum, says what it changed, and the server knows at once", async () => {
      const { root } = server;
      // Under way when it happens, on the vote of a member who is none afterwards.
      const open = await root.submit("update_organization_name", { organizationName: "Theirs" });
      assert.equal(open.body.activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
      const key = generateApiKey();
      const reason = "the key of Lost is lost";
      const { code, stdout, stderr } = await recover({
        organization: organizationId,
        "user-name": "Rescuer",
        "api-public-key": key.publicKey,
        reason,
      });
      assert.equal(code, 0, stderr);
      const { activityId, userId, ...told } = JSON.parse(stdout);
      const rootQuorum = { threshold: 1, userIds: [userId] };
      assert.deepEqual(told, {
        organizationId,
        userName: "Rescuer",
        apiPublicKey: key.publicKey,
        rootQuorum,
        previousRootQuorum: oldQuorum,
        ipAllowlistEnabled: false,
      });

      const rescuer = root.with({ key });
      assert.equal((await rescuer.read("whoami")).userId, userId);
      assert.equal((await rename(rescuer)).body.activity?.status, "ACTIVITY_STATUS_COMPLETED");
      assert.equal((await rename(root)).status, 403, "members of before are ordinary users");
      const { fingerprint, id } = open.body.activity;
      const approved = await rescuer.submit("approve_activity", { fingerprint });
      assert.equal(
        approved.body.activity.status,
        "ACTIVITY_STATUS_COMPLETED",
        "what is open is the new quorum's to decide",
      );
      assert.equal(approved.body.activity.id, id);
      await checkRecord(rescuer, { activityId, userId, publicKey: key.publicKey, reason, rootQuorum, oldQuorum });
    });

    it("is told to the webhooks of the organization", async () => {
      const [first] = await receiver.waitFor(1);
      const activity = JSON.parse(first?.body ?? "");
      assert.deepEqual([activity.type, activity.organizationId, activity.votes], [TYPE, organizationId, []]);
      assert.equal(activity.intent.recoverRootQuorumIntent.userName, "Rescuer");
    });

    it("works again and again, while the organization is busy", async () => {
      const { activities } = await server.root.read("list_activities", { filterByType: [TYPE] });
      const publicKey = activities[0].intent.recoverRootQuorumIntent.apiPublicKey;
      assert.ok(publicKey);
      let stopped = false;
      const { userId } = server.credentials;
      const statuses: number[] = [];
      // Their own name may be changed by nobody but the root quorum: these are denied, and stored.
      const busy = [1, 2, 3].map(async () => {
        while (!stopped)
          statuses.push((await server.root.submit("update_user_name", { userId, userName: newId() })).status);
      });
      await until(() => statuses.length > 10, "the load");
      const keys = [generateApiKey(), generateApiKey()];
      for (const key of keys) {
        const options = { organization: organizationId, "user-name": "Next", "api-public-key": key.publicKey };
        const { code, stderr } = await recover(options);
        assert.equal(code, 0, stderr);
      }
      stopped = true;
      await Promise.all(busy);
      // After some hundred, denials are no longer stored but told to come again.
      assert.deepEqual(
        [...new Set(statuses)].filter((status) => status !== 429),
        [403],
      );
      const [first, last] = keys.map((key) => server.root.with({ key })) as [Client, Client];
      assert.equal((await rename(first)).status, 403);
      assert.equal((await rename(last)).status, 200);
      const listed = await last.read("list_activities", { filterByType: [TYPE] });
      assert.equal(listed.activities.length, 3);
    });
  });
}

async function addUser(root: Client, userName: string, publicKey: string): Promise<string> {
  const apiKeys = [{ apiKeyName: "key", publicKey, curveType: "API_KEY_CURVE_P256" }];
  const user = { userName, apiKeys, authenticators: [], oauthProviders: [], userTags: [] };
  return (await root.result("create_users", { users: [user] })).userIds[0];
}

/** What an auditor finds, by every way that activities are read. */
async function checkRecord(
  client: Client,
  expected: {
    activityId: string;
    userId: string;
    publicKey: string;
    reason: string;
    rootQuorum: Json;
    oldQuorum: Json;
  },
): Promise<void> {
  const { activityId, userId, publicKey, reason, rootQuorum, oldQuorum } = expected;
  const { activities } = await client.read("list_activities", { filterByType: [TYPE] });
  const { activity } = await client.read("get_activity", { activityId });
  assert.deepEqual(activities, [activity]);
  const operator = { user: userInfo().username, host: hostname() };
  assert.deepEqual(activity.intent, {
    recoverRootQuorumIntent: { userName: "Rescuer", apiPublicKey: publicKey, reason, operator },
  });
  assert.deepEqual(activity.result, {
    recoverRootQuorumResult: { userId, rootQuorum, previousRootQuorum: oldQuorum },
  });
  const { status, votes, canApprove, canReject, fingerprint } = activity;
  assert.deepEqual([status, votes, canApprove, canReject], ["ACTIVITY_STATUS_COMPLETED", [], false, false]);
  assert.match(fingerprint, /^sha256:[0-9a-f]{64}$/);
  assert.deepEqual((await client.read("get_policy_evaluations", { activityId })).policyEvaluations, []);
  for (const path of ["approve_activity", "reject_activity"]) {
    const { status, body } = await client.submit(path, { fingerprint });
    assert.equal(status, 400);
    assert.match(body.message, /can no longer be voted on: its status is ACTIVITY_STATUS_COMPLETED/);
  }
}

/** As another process holds it that changes the organization and hangs; resolves to what lets it go. */
async function lockOrganization(databaseUrl: string, organizationId: string): Promise<() => Promise<void>> {
  if (databaseUrl.startsWith("sqlite:")) {
    const other = new DatabaseSync(databaseUrl.slice("sqlite:".length), { timeout: 30_000 });
    other.exec("begin immediate");
    return async () => {
      other.exec("rollback");
      other.close();
    };
  }
  const other = new pg.Client({ connectionString: databaseUrl });
  await other.connect();
  await other.query("select pg_advisory_lock(hashtextextended($1, 0))", [organizationId]);
  return () => other.end();
}

/** Jobs of the running server come and go. */
const withoutJobs = ({ jobs: _, ...rest }: Dump): Dump => rest;
