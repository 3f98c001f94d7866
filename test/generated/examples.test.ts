import assert from "node:assert/strict";
import { it } from "node:test";
import { operations } from "../../src/capabilities/index.ts";
import { maskedActivity } from "../../src/engine/activities/masks.ts";
import { compareRows } from "../../src/engine/authority/consistency.ts";
import { openInspection } from "../../src/storage/inspection.ts";
import { ended } from "../support/chain.ts";
import type { Client } from "../support/client.ts";
import { bodyOf, type ExampleRequest, exampleRequests, examples, kindFor, olderExamples } from "../support/examples.ts";
import { traceDatabase } from "../support/provenance.ts";
import { readRecorded, withInventedValues, writeRecorded } from "../support/recorded-examples.ts";
import { onEachEngine } from "../support/server.ts";
import { createWorld, type World } from "../support/world.ts";

it("every operation and every older version of an activity has an example, and nothing else has", () => {
  assert.deepEqual(Object.keys(examples).sort(), operations.map(({ path }) => path).sort());
  const older = operations.flatMap((operation) =>
    operation.kind === "activity" ? [...operation.versions.keys()].slice(1) : [],
  );
  assert.deepEqual(Object.keys(olderExamples).sort(), older.sort());
  assert.ok(exampleRequests.length >= 45, `only ${exampleRequests.length} requests`);
});

onEachEngine("the example of", (server, engine) => {
  for (const request of exampleRequests) {
    it(`${request.name} succeeds`, async () => {
      const world = await createWorld(server(), kindFor(request.operation));
      const fields = await request.example(world);
      const { client } = world.root;
      const body = bodyOf(request, client, fields);
      const answer = await client.post(request.url, JSON.stringify(body));
      assert.equal(answer.status, 200, JSON.stringify(answer.body));
      if (engine === "sqlite") assertRecorded(request, body, answer.body);
      assert.equal(answer.headers.get("content-type"), "application/json");
      if (request.operation.kind === "query") return;
      const activity = await endOf(request, world, answer.body.activity);
      if (request.operation.kind === "activity") assertCarriedOut(request, fields, activity);
      if (request.operation.kind === "vote") assertDecided(request, fields, activity);
      await assertShown(world, activity);
    });
  }

  it("all of them leaves rows of authority that agree with one another", async (test) => {
    const inspection = await openInspection(server().databaseUrl);
    test.after(() => inspection.close());
    assert.deepEqual(await compareRows(inspection), { contradictions: [], unknown: [] });
  });

  it("all of them leaves rows of authority that activities account for", async () => {
    const { rows, accountedFor, unaccounted, unknown } = await traceDatabase(server().databaseUrl);
    assert.deepEqual({ unaccounted, unknown }, { unaccounted: [], unknown: [] });
    assert.equal(accountedFor, rows);
    assert.ok(rows > 1000, `${rows} rows`);
  });
});

/** The documentation shows these; KEYSTEAD_UPDATE_SNAPSHOTS=1 writes them anew. */
function assertRecorded({ name, operation: { path } }: ExampleRequest, request: object, answer: object): void {
  if (name !== path) return;
  const example = withInventedValues({ request, answer });
  if (process.env.KEYSTEAD_UPDATE_SNAPSHOTS === "1") writeRecorded(path, example);
  assert.deepEqual(example, readRecorded(path), `docs/examples/${path}.json shows what is no longer so`);
}

interface Shown {
  id: string;
  type: string;
  status: string;
  organizationId: string;
  fingerprint: string;
  intent: Record<string, unknown>;
  result: Record<string, unknown>;
  appProofs?: unknown[];
  votes: { userId: string }[];
}

/** What is done outside is still to come when the answer is given. */
async function endOf({ operation }: ExampleRequest, { reader }: World, activity: Shown): Promise<Shown> {
  if (operation.kind !== "activity" || !operation.effect) return activity;
  assert.equal(activity.status, "ACTIVITY_STATUS_PENDING", JSON.stringify(activity));
  assert.deepEqual(activity.result, {});
  return ended(reader, activity.id);
}

/** `create_users` in `ACTIVITY_TYPE_CREATE_USERS_V4` makes `createUsersIntentV4`. */
function intentKeyOf({ type = "" }: ExampleRequest): string {
  const word = type.replace(/^ACTIVITY_TYPE_/, "").replace(/_V\d+$/, "");
  const camelCase = word.toLowerCase().replace(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return `${camelCase}Intent${/_(V\d+)$/.exec(type)?.[1] ?? ""}`;
}

function assertCarriedOut(request: ExampleRequest, fields: object, activity: Shown): void {
  assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED", JSON.stringify(activity));
  assert.equal(activity.type, request.type);
  assert.deepEqual(activity.intent, { [intentKeyOf(request)]: fields });
  assert.equal(Object.keys(activity.result).length, 1);
  assert.match(Object.keys(activity.result)[0] as string, /^[a-z][A-Za-z0-9]*Result(V\d+)?$/);
  const { operation } = request;
  assert.equal(activity.appProofs !== undefined, operation.kind === "activity" && operation.takesAppProofs);
  assert.notEqual(activity.appProofs?.length, 0);
}

/** A vote answers the activity that it decides. */
function assertDecided({ operation }: ExampleRequest, fields: object, activity: Shown): void {
  const status = operation.path === "approve_activity" ? "ACTIVITY_STATUS_COMPLETED" : "ACTIVITY_STATUS_REJECTED";
  assert.equal(activity.status, status);
  assert.equal(activity.fingerprint, (fields as { fingerprint: string }).fingerprint);
  assert.deepEqual(Object.keys(activity.intent), ["updateOrganizationNameIntent"]);
  assert.equal(Object.keys(activity.result).length, status === "ACTIVITY_STATUS_COMPLETED" ? 1 : 0);
  assert.equal(activity.votes.length, 2);
}

async function assertShown({ reader, organizationId }: World, submitted: Shown): Promise<void> {
  assert.equal(submitted.organizationId, organizationId);
  // One-time codes are shown to whoever submits them alone.
  const activity = maskedActivity(submitted as Shown & Parameters<typeof maskedActivity>[0]);
  const { activity: one } = await reader.read("get_activity", { activityId: activity.id });
  assert.deepEqual(one, activity);
  const listed = await listedActivities(reader, activity);
  assert.deepEqual(listed, [activity]);
}

async function listedActivities(client: Client, { id, type, status }: Shown): Promise<Shown[]> {
  const filters = { filterByType: [type], filterByStatus: [status] };
  const { activities } = await client.read("list_activities", { ...filters, paginationOptions: { limit: "100" } });
  return activities.filter((activity: Shown) => activity.id === id);
}
