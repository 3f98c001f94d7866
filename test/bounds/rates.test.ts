import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { addUser, type Client, generateApiKey, type TestAnswer } from "../support/client.ts";
import { sendFrom } from "../support/send-from.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { createWorld } from "../support/world.ts";

/** How many requests a client may send, and that this is nobody else's affair. Time passes when a test says so. */

const RATE = 2;
const BURST = RATE * 10;
const MANY = 10 * BURST;

let now = 0;
const settings = (name: string) => ({
  settings: { [`KEYSTEAD_${name}_PER_SECOND`]: String(RATE) },
  elapsed: () => now,
});

const sendMany = (client: Client): Promise<TestAnswer[]> =>
  Promise.all(Array.from({ length: MANY }, () => client.query("whoami")));

const statuses = (answers: readonly TestAnswer[]): number[] => [...new Set(answers.map(({ status }) => status))].sort();

function assertLimited(answers: readonly TestAnswer[], reason: RegExp): void {
  assert.deepEqual(statuses(answers), [200, 429]);
  const served = answers.filter(({ status }) => status === 200).length;
  assert.ok(served >= BURST - 5 && served <= BURST, `${served} were served`);
  const { body, headers } = answers.find(({ status }) => status === 429) as TestAnswer;
  assert.equal(body.code, 8);
  assert.equal(body.turnkeyErrorCode, "RATE_LIMIT_EXCEEDED");
  assert.match(body.message, /^Too many requests\. Please wait and try again in a few seconds/);
  assert.match(body.message, reason);
  assert.match(headers.get("retry-after") ?? "", /^[1-9][0-9]*$/);
}

describe("the rate of an organization", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer("sqlite", settings("ORGANIZATION_REQUESTS"));
  });
  after(() => server.close());

  it("is for all its users together, and for no other organization", async () => {
    const { root } = server;
    const other = await createWorld(server);
    const { client } = await addUser(root);
    assertLimited(await sendMany(root), /this organization may send 2 requests a second/);
    assert.equal((await client.query("whoami")).status, 429);
    assert.equal((await other.root.client.query("whoami")).status, 200);
    now += 1000;
    const refilled = await sendMany(client);
    assert.equal(refilled.filter(({ status }) => status === 200).length, RATE);
  });
});

describe("the rate of a credential", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer("sqlite", settings("CREDENTIAL_REQUESTS"));
  });
  after(() => server.close());

  it("is its own alone", async () => {
    const { root } = server;
    const { client } = await addUser(root);
    assertLimited(await sendMany(client), /this credential may send 2 requests a second/);
    assert.equal((await root.query("whoami")).status, 200);
  });

  it("counts a large request as several", async () => {
    const { client } = await addUser(server.root);
    const large = { filler: "x".repeat(64 * 1024 * BURST) };
    assert.equal((await client.query("whoami", large)).status, 200);
    const { status, headers } = await client.query("whoami");
    assert.equal(status, 429);
    assert.ok(Number(headers.get("retry-after")) >= 1);
  });
});

describe("failed authentications of an address", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer("sqlite", settings("FAILED_AUTHENTICATIONS"));
  });
  after(() => server.close());

  it("are bounded, before anything is looked up", async () => {
    const { root } = server;
    const known = (await addUser(root)).client;
    const unused = (await addUser(root)).client;
    assert.equal((await known.query("whoami")).status, 200);
    assert.deepEqual(statuses(await sendMany(root)), [200], "what succeeds is not counted");

    const stranger = root.with({ key: generateApiKey() });
    // One after the other: those that are under way at the same time are counted when they end.
    const failures: TestAnswer[] = [];
    for (let times = 0; times < MANY; times++) failures.push(await stranger.query("whoami"));
    assert.deepEqual(statuses(failures), [401, 429]);
    const refused = failures.find(({ status }) => status === 429) as TestAnswer;
    assert.match(refused.body.message, /too many requests from this address failed to authenticate/);
    assert.match(refused.headers.get("retry-after") ?? "", /^[1-9]/);

    assert.equal((await known.query("whoami")).status, 200, "whoever was known a while ago");
    assert.equal((await root.query("whoami")).status, 200);
    const body = JSON.stringify({ organizationId: root.organizationId });
    const elsewhere = await sendFrom("127.0.0.2", unused, "/public/v1/query/whoami", body);
    assert.equal(elsewhere.status, 200, "at another address");
  });

  it("are bounded for whoever names a key that is known elsewhere", async () => {
    const { root } = server;
    assert.equal((await root.query("whoami")).status, 200);
    const claimed = root.with({ organizationId: newId() });
    const body = JSON.stringify({ organizationId: claimed.organizationId });
    const failures: number[] = [];
    for (let times = 0; times < MANY; times++) {
      failures.push((await sendFrom("127.0.0.3", claimed, "/public/v1/query/whoami", body)).status);
    }
    assert.deepEqual([...new Set(failures)].sort(), [401, 429]);
  });
});

describe("the line logged of a request", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer("sqlite", { settings: { KEYSTEAD_TRUSTED_PROXIES: "127.0.0.3" } });
  });
  after(() => server.close());

  // biome-ignore lint/suspicious/noExplicitAny: lines are looked into by hand
  const lines = (): any[] =>
    server
      .log()
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ msg }) => msg === "request");

  it("says who, what, from where and what came of it, and holds no secret", async () => {
    const { root } = server;
    const { userId, client } = await addUser(root);
    const body = JSON.stringify({ organizationId: root.organizationId });
    await client.query("get_user", { userId: "not-an-id" });
    await root.with({ key: generateApiKey() }).query("list_users");
    await sendFrom("127.0.0.3", client, "/public/v1/query/whoami", body, { "x-forwarded-for": "203.0.113.7" });
    const [refused, unknown, forwarded] = lines().slice(-3);
    const { organizationId } = root;
    const known = { organizationId, userId };
    const of = ({ requestId, time, ms, level, msg, ...rest }: Record<string, unknown>) => {
      assert.ok(requestId && time && level === "info" && msg && typeof ms === "number");
      return rest;
    };
    const near = { peerAddress: "127.0.0.1" };
    assert.deepEqual(of(refused), { operation: "get_user", status: 400, error: "FIELD_INVALID", ...known, ...near });
    assert.deepEqual(of(unknown), { operation: "list_users", status: 401, error: "PUBLIC_KEY_NOT_FOUND", ...near });
    const addresses = { peerAddress: "127.0.0.3", clientAddress: "203.0.113.7" };
    assert.deepEqual(of(forwarded), { operation: "whoami", status: 200, ...known, ...addresses });
    const all = server.log();
    assert.ok(!all.includes(root.stamp(body).slice(0, 60)) && !all.includes(client.key.privateKey));
  });
});
