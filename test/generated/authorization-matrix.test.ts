import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import type { OnlyFor } from "../../src/authority/callers.ts";
import { maskedIntent } from "../../src/engine/activities/masks.ts";
import { addUser, apiKeyParams, type Client, generateApiKey, type TestAnswer } from "../support/client.ts";
import { assertSameDump, type Dump, recordTables, watchDatabase } from "../support/database-dump.ts";
import { assertErrorBody } from "../support/error-body.ts";
import { bodyOf, type ExampleRequest, exampleRequests, kindFor } from "../support/examples.ts";
import { areLong } from "../support/long-tests.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { addSubOrganization, createWorld, type World } from "../support/world.ts";

/**
 * Who may do what: every operation as every kind of caller, in organizations of its own. The table beside this file
 * is there to be read; KEYSTEAD_UPDATE_SNAPSHOTS=1 writes it anew.
 */

const snapshot = new URL("./authorization-matrix.txt", import.meta.url);

const EXPIRATION_SECONDS = 60;
let clockAheadMs = 0;
const clock = () => Date.now() + clockAheadMs;

/** Sends the request of an example as somebody. */
type Send = (url: string, body: string) => Promise<TestAnswer>;

interface Caller {
  /** The kind of organization this caller makes sense for; the operation's own unless said. */
  kind?: OnlyFor;
  /** Made before what the example needs. */
  make: (world: World) => Promise<Send>;
  /** What comes last before the request. */
  finish?: (world: World) => Promise<unknown>;
  /** Whether the request makes sense for this caller; always unless said. */
  sends?: (world: World, fields: object) => boolean;
}

const as = (client: Client): Send => {
  return (url, body) => client.post(url, body);
};

const strangers: Record<string, Caller> = {
  "no stamp": { make: async ({ root }) => withoutStamp(root.client.baseUrl) },
  "foreign key": {
    make: async ({ server, organizationId }) => as((await createWorld(server)).root.client.with({ organizationId })),
  },
  "expired key": {
    make: async ({ root, user: { userId } }) => {
      const key = generateApiKey();
      const apiKeys = [apiKeyParams(key, { expirationSeconds: String(EXPIRATION_SECONDS) })];
      await root.client.result("create_api_keys", { apiKeys, userId });
      return whenExpired(as(root.client.with({ key })));
    },
  },
  "sub-organization's root": {
    kind: "parents",
    make: async ({ root, organizationId }) =>
      as((await addSubOrganization(root.client)).client.with({ organizationId })),
  },
  "deleted user": {
    make: async ({ root }) => {
      const { userId, client } = await addUser(root.client, "Gone");
      await root.client.result("delete_users", { userIds: [userId] });
      return as(client);
    },
  },
};

const members: Record<string, Caller> = {
  "plain user": { make: async ({ root }) => as((await addUser(root.client, "Bystander")).client) },
  "about oneself": {
    make: async ({ user }) => as(user.client),
    sends: ({ user }, fields) => JSON.stringify(fields).includes(user.userId),
  },
  "root user": { make: async ({ root }) => as(root.client) },
  "one of two": { make: async ({ root }) => as(root.client), finish: ({ quorumOfTwo }) => quorumOfTwo() },
};

/** May read, and act only where operations are also for parents. */
const parents: Record<string, Caller> = {
  "parent's root": { kind: "subOrganizations", make: async ({ reader }) => as(reader) },
};

const callers = { ...strangers, ...parents, ...members };
const newest = exampleRequests.filter(({ name, operation }) => name === operation.path);

/** SQLite meets every operation, PostgreSQL a sample: what decides is the same code. */
const plans = { sqlite: 1, postgres: areLong ? 1 : 12 };

for (const engine of engines) {
  const chosen = newest.filter((_, index) => index % plans[engine] === 0);
  describe(`authorization (${engine})`, () => {
    let server: TestServer;
    const rows = new Map<string, string[]>();
    before(async () => {
      server = await startTestServer(engine, { clock });
    });
    after(() => server.close());

    for (const request of chosen) {
      it(`of ${request.name}`, async () => {
        const outcomes = await outcomesOf(server, request);
        rows.set(request.name, Object.values(outcomes));
        assertRules(request, outcomes);
      });
    }

    it("is what the committed table says", () => {
      assert.equal(rows.size, chosen.length, "every operation has its outcomes");
      if (chosen.length === newest.length) {
        const table = tableOf(rows);
        if (process.env.KEYSTEAD_UPDATE_SNAPSHOTS === "1") writeFileSync(snapshot, table);
        assert.equal(table, readFileSync(snapshot, "utf8"));
        return;
      }
      const committed = readFileSync(snapshot, "utf8").split("\n");
      for (const [name, outcomes] of rows) {
        const line = committed.find((each) => each.startsWith(`${name} `)) ?? assert.fail(name);
        assert.deepEqual(line.trim().split(/ {2,}/), [name, ...outcomes]);
      }
    });
  });
}

/**
 * What becomes of the request by each caller. They share an organization for as long as nothing in it has changed: until an activity
 * was accepted.
 */
async function outcomesOf(server: TestServer, request: ExampleRequest): Promise<Record<string, string>> {
  const own = kindFor(request.operation);
  const kindOf = ({ kind = own }: Caller) => kind;
  const makesSense = (caller: Caller) => kindOf(caller) === own || !("only" in request.operation);
  const everybody = Object.entries(callers);
  const outcomes: Record<string, string> = {};
  for (const group of Map.groupBy(everybody, ([, caller]) => kindOf(caller)).values()) {
    const asked = group.filter(([, caller]) => makesSense(caller));
    while (asked.length > 0) {
      const world = await createWorld(server, kindOf((asked[0] as (typeof asked)[0])[1]));
      const found = Object.entries(await outcomesIn(world, request, asked));
      Object.assign(outcomes, Object.fromEntries(found));
      asked.splice(0, found.length);
    }
  }
  return Object.fromEntries(everybody.map(([name]) => [name, outcomes[name] ?? "-"]));
}

/** What becomes of it by one caller after the other in one organization, up to the first who changes it. */
async function outcomesIn(
  world: World,
  request: ExampleRequest,
  group: readonly [name: string, caller: Caller][],
): Promise<Record<string, string>> {
  const sends = new Map<string, Send>();
  for (const [name, caller] of group) sends.set(name, await caller.make(world));
  const fields = await request.example(world);
  const concerned = [world.organizationId, ...(world.parent ? [world.parent.client.organizationId] : [])];
  const contents = watchDatabase(world.server.opened.database, concerned);
  const outcomes: Record<string, string> = {};
  for (const [name, caller] of group) {
    if (caller.sends && !caller.sends(world, fields)) {
      outcomes[name] = "-";
      continue;
    }
    await caller.finish?.(world);
    const denied = Object.values(outcomes).filter((outcome) => outcome.startsWith("403")).length;
    outcomes[name] = await outcomeOf(world, request, { fields, send: sends.get(name) as Send, contents, name, denied });
    if (request.operation.kind !== "query" && outcomes[name].startsWith("200")) break;
  }
  return outcomes;
}

interface Asked {
  fields: object;
  send: Send;
  contents: () => Promise<Dump>;
  /** Of the caller. */
  name: string;
  /** How many were denied the same before. */
  denied: number;
}

async function outcomeOf(
  world: World,
  request: ExampleRequest,
  { fields, send, contents, name, denied }: Asked,
): Promise<string> {
  const about = `${request.name}, ${name}`;
  const body = JSON.stringify(bodyOf(request, world.root.client, fields));
  const isDenied = ({ status }: TestAnswer) => status === 403 && request.operation.kind === "activity";
  const before = await contents();
  const answer = await send(request.url, body);
  if (answer.status === 200) return `200 ${shownStatus(request, answer)}`.trim();
  assertErrorBody(answer, about);
  const after = await contents();
  if (isDenied(answer)) await assertRecorded(world, request, fields, { about, count: denied + 1 });
  assertSameDump(before, after, about, isDenied(answer) ? recordTables : []);
  return `${answer.status} ${answer.body.turnkeyErrorCode}`;
}

const shownStatus = ({ operation }: ExampleRequest, { body }: TestAnswer): string =>
  operation.kind === "query" ? "" : body.activity.status.replace("ACTIVITY_STATUS_", "");

/** Denied activities stay as rejected, with the reason, and their organization sees them, the newest first. */
async function assertRecorded(
  { reader }: World,
  { type }: ExampleRequest,
  fields: object,
  { about, count }: { about: string; count: number },
): Promise<void> {
  const filters = { filterByStatus: ["ACTIVITY_STATUS_REJECTED"], filterByType: [type] };
  const { activities } = await reader.read("list_activities", filters);
  assert.equal(activities.length, count, about);
  const [{ id, intent, result, failure, votes }] = activities;
  assert.deepEqual(intent, maskedIntent({ [Object.keys(intent)[0] as string]: fields }), about);
  assert.deepEqual(result, {}, about);
  assert.equal(failure.code, 7, about);
  assert.equal(votes.length, 1, about);
  const { activity } = await reader.read("get_activity", { activityId: id });
  assert.deepEqual(activity, activities[0], about);
}

const codesOfStrangers: Record<string, string> = {
  "no stamp": "401 SIGNATURE_MISSING",
  "foreign key": "401 PUBLIC_KEY_NOT_FOUND",
  "expired key": "401 API_KEY_EXPIRED",
  "sub-organization's root": "401 PUBLIC_KEY_NOT_FOUND",
  "deleted user": "401 PUBLIC_KEY_NOT_FOUND",
};

const credentialOperations = [
  "create_api_keys",
  "delete_api_keys",
  "create_authenticators",
  "delete_authenticators",
  "create_oauth_providers",
  "delete_oauth_providers",
  "create_read_write_session",
];
/** They name nobody: whoever asks, asks for themselves. */
const ownOperations = ["stamp_login", "create_read_only_session"];
/** A parent's id will do: the credential tells where its holder is. */
const findOperations: Record<string, string> = { whoami: "200", stamp_login: "200 COMPLETED" };

/** What holds whatever the table says. */
function assertRules({ name, operation }: ExampleRequest, outcomes: Record<string, string>): void {
  for (const stranger of Object.keys(strangers)) {
    const found = stranger === "sub-organization's root" ? findOperations[name] : undefined;
    const code = found ?? codesOfStrangers[stranger];
    if (outcomes[stranger] !== "-") assert.equal(outcomes[stranger], code, stranger);
  }
  if (operation.kind === "activity" && operation.stampedWith !== undefined) {
    for (const caller of Object.keys({ ...parents, ...members }))
      assert.match(outcomes[caller] as string, /^(401 SIGNATURE_INVALID|-)$/, caller);
    return;
  }
  if (operation.kind === "activity" && operation.newcomer) {
    assert.equal(outcomes["parent's root"], "401 PUBLIC_KEY_NOT_FOUND");
    for (const member of Object.keys(members)) assert.match(outcomes[member] as string, /^(401 SIGNATURE_INVALID|-)$/);
    return;
  }
  const byParents = operation.kind === "activity" && operation.byParents;
  // A parent may bring Google's word alone, and the example has another issuer's.
  const asParent = name === "create_oauth_providers" ? "400 REQUEST_INVALID" : "200 COMPLETED";
  const ofParent = operation.kind === "query" ? "200" : byParents ? asParent : "400 ORGANIZATION_MISMATCH";
  if (outcomes["parent's root"] !== "-") assert.equal(outcomes["parent's root"], ofParent);
  if (operation.kind === "query") {
    for (const member of Object.keys(members)) assert.match(outcomes[member] as string, /^(200|-)$/, member);
    return;
  }
  if (ownOperations.includes(name)) {
    for (const member of ["plain user", "root user", "one of two"]) assert.equal(outcomes[member], "200 COMPLETED");
    return;
  }
  assert.equal(outcomes["plain user"], "403 REQUEST_NOT_AUTHORIZED");
  const isPending = operation.kind === "activity" && operation.effect !== undefined;
  const decided = name === "reject_activity" ? "200 REJECTED" : isPending ? "200 PENDING" : "200 COMPLETED";
  assert.equal(outcomes["root user"], decided);
  // A vote of the root user is the second of the two; any other request is the first.
  assert.equal(outcomes["one of two"], operation.kind === "vote" ? decided : "200 CONSENSUS_NEEDED");
  const mayDoItself = credentialOperations.includes(name);
  assert.match(
    outcomes["about oneself"] as string,
    mayDoItself ? /^200 COMPLETED$/ : /^(403 REQUEST_NOT_AUTHORIZED|-)$/,
  );
}

/** Columns of plain text, one line for each operation. */
function tableOf(rows: ReadonlyMap<string, string[]>): string {
  const lines = [["operation", ...Object.keys(callers)], ...[...rows].map(([name, outcomes]) => [name, ...outcomes])];
  const widths = (lines[0] as string[]).map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? "").length)),
  );
  const padded = lines.map((line) => line.map((cell, column) => cell.padEnd(widths[column] as number)).join("  "));
  return `${padded.map((line) => line.trimEnd()).join("\n")}\n`;
}

const withoutStamp = (baseUrl: string): Send => {
  return async (url, body) => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${baseUrl}${url}`, { method: "POST", headers, body });
    return { status: response.status, headers: response.headers, body: await response.json() };
  };
};

/** Lets the server's clock pass the expiry for as long as the request takes. */
const whenExpired = (send: Send): Send => {
  return async (url, body) => {
    clockAheadMs = EXPIRATION_SECONDS * 1000;
    try {
      return await send(url, body);
    } finally {
      clockAheadMs = 0;
    }
  };
};
