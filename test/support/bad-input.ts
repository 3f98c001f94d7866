import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import fc from "fast-check";
import type { OnlyFor } from "../../src/authority/callers.ts";
import type { Operation } from "../../src/engine/operations.ts";
import { LARGE_JSON_BYTES, MAX_VOTE_BODY_BYTES } from "../../src/kernel/limits.ts";
import { anyText } from "./any-text.ts";
import { ended } from "./chain.ts";
import type { Json, TestAnswer } from "./client.ts";
import { assertSameDump, type Dump, watchDatabase } from "./database-dump.ts";
import { assertErrorBody, blamedFields } from "./error-body.ts";
import { bodyOf, type ExampleRequest, exampleRequests, kindFor } from "./examples.ts";
import { areLong } from "./long-tests.ts";
import { type FieldSchema, fieldsOf, type Mutation, missingFields, mutationsOf, replaced } from "./mutations.ts";
import { startTestServer, type TestEngine, type TestServer } from "./server.ts";
import { createWorld, type World } from "./world.ts";

/**
 * Bad input of every kind, for every operation: refused with a 4xx that names what is wrong, and nothing in the database has
 * changed. SQLite meets all of it, PostgreSQL a sample of both, as what refuses is the same code.
 */

const SEED = 20_26;
const plans = {
  sqlite: { requests: 1, mutations: 1, runs: areLong ? 30 : 10 },
  postgres: { requests: areLong ? 1 : 4, mutations: 8, runs: 5 },
};

/** A derivation of Spark names one key; examples name that of a leaf. */
const otherKeys = (derivation: string): string[] =>
  ["identity", "deposit", "staticDeposit", "htlcPreimage"].map((key) => `parameters.${derivation}.${key}`);

/** What no example can give, and why. */
const notGiven: Record<string, string[]> = {
  // Not together with `apiKeys`.
  accept_invitation: ["parameters.authenticators"],
  // For sponsored transactions, which the example is none of.
  eth_send_transaction: ["parameters.deadline", "parameters.gasStationNonce"],
  "eth_send_transaction as ACTIVITY_TYPE_ETH_SEND_TRANSACTION": ["parameters.deadline", "parameters.gasStationNonce"],
  // For swaps on Solana, which this server has none of.
  execute_swap: ["parameters.recentBlockhash"],
  // Not together with `before`.
  list_activities: ["paginationOptions.after"],
  spark_sign_frost: otherKeys("signatures.0.derivation"),
  spark_prepare_transfer: [
    ...otherKeys("transfer.leaves.0.oldLeafDerivation"),
    ...otherKeys("transfer.leaves.0.newLeafDerivation"),
  ],
  list_email_events: ["paginationOptions.after"],
  list_suborgs: ["paginationOptions.after"],
  // Not together with `after`.
  list_earn_vaults: ["paginationOptions.after"],
  list_eth_transaction_history: ["paginationOptions.before"],
  list_sol_transaction_history: ["paginationOptions.before"],
  list_wallet_accounts: ["filterByAddressPrefix", "filterByNamePrefix", "paginationOptions.after"],
  list_invitations: ["paginationOptions.after"],
  list_secrets: ["paginationOptions.after"],
  list_verified_suborgs: ["paginationOptions.after"],
  list_webhook_deliveries: ["paginationOptions.after"],
};

/** Requests that are sent together, between two looks at the whole database. */
const GROUP = 20;

/**
 * Declares the tests of one part of all requests.
 *
 * @param part counted from 1
 */
export function describeBadInput(engine: TestEngine, part = 1, parts = 1): void {
  describe(`bad input (${engine}, part ${part} of ${parts})`, () => {
    const { requests, mutations: every, runs } = plans[engine];
    let server: TestServer;
    let foreign: Record<OnlyFor, World>;
    before(async () => {
      // What is refused here comes from one address, faster than any rate for such allows.
      server = await startTestServer(engine, { settings: { KEYSTEAD_FAILED_AUTHENTICATIONS_PER_SECOND: "0" } });
      const parents = await createWorld(server);
      foreign = { parents, subOrganizations: await createWorld(server, "subOrganizations") };
    });
    after(() => server.close());

    for (const [index, request] of exampleRequests.entries()) {
      if (index % parts !== part - 1 || index % requests !== 0) continue;
      it(`of ${request.name}`, async () => {
        const target = await createTarget(server, request, foreign[kindFor(request.operation)]);
        assertComplete(target);
        const mutations = await mutationsFor(target);
        assert.ok(mutations.length > 60, `only ${mutations.length} mutations of ${request.name}`);
        await assertRefused(
          target,
          mutations.filter((_, position) => (position + index) % every === 0),
        );
        await assertStillValid(target);
        await assertHarmless(target, runs);
      });
    }

    it("is not a foreign cursor, which only says where a page of the own organization begins", async () => {
      const { root, organizationId } = await createWorld(server);
      const { activities: foreignActivities } = await foreign.parents.root.client.read("list_activities");
      for (const cursor of ["before", "after"]) {
        const paginationOptions = { [cursor]: foreignActivities[0].id };
        const { activities } = await root.client.read("list_activities", { paginationOptions });
        for (const activity of activities) assert.equal(activity.organizationId, organizationId, cursor);
      }
    });

    it("leaves no error of the service's own in the log", () => {
      const lines = server
        .log()
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as { level: string });
      assert.ok(lines.some(({ level }) => level === "info"));
      const errors = lines.filter(({ level }) => level === "error" || level === "fatal");
      assert.deepEqual(errors, []);
    });
  });
}

/** A valid request in an organization of its own. */
interface Target {
  request: ExampleRequest;
  schema: FieldSchema;
  world: World;
  /** Another organization of the same kind. */
  foreign: World;
  body: Json;
}

async function createTarget(server: TestServer, request: ExampleRequest, foreign: World): Promise<Target> {
  const world = await createWorld(server, kindFor(request.operation));
  const schema = request.schema as FieldSchema;
  return { request, schema, world, foreign, body: await newBody(request, world) };
}

const newBody = async (request: ExampleRequest, world: World): Promise<Json> =>
  bodyOf(request, world.root.client, await request.example(world));

async function mutationsFor({ request, schema, body, foreign }: Target): Promise<Mutation[]> {
  // An example may change who stamps; other requests share this organization.
  const foreignBody = await newBody(request, { ...foreign, root: { ...foreign.root } });
  const otherTypes = exampleRequests.flatMap(({ operation, type }) =>
    type === undefined || operation === request.operation ? [] : [type],
  );
  return mutationsOf({ body, schema, foreignBody, otherTypes: otherTypes.slice(0, 2) });
}

/** A field without an example would not be tested. */
function assertComplete({ request, schema, body }: Target): void {
  const missing = missingFields(schema, body);
  assert.deepEqual(missing, notGiven[request.name] ?? [], `the example of ${request.name} lacks fields`);
}

const send = ({ request, world }: Target, body: string | Uint8Array): Promise<TestAnswer> =>
  world.root.client.post(request.url, body);

async function assertRefused(target: Target, mutations: readonly Mutation[]): Promise<void> {
  const contents = contentsOf(target);
  const before = await contents();
  for (let start = 0; start < mutations.length; start += GROUP) {
    const group = mutations.slice(start, start + GROUP);
    await Promise.all(group.map((mutation) => assertOneRefused(target, mutation)));
    const names = group.map(({ name }) => name).join(" | ");
    assertSameDump(before, await contents(), `${target.request.name}, one of ${names}`);
  }
}

async function assertOneRefused(target: Target, { name, body, status, names }: Mutation): Promise<void> {
  const about = `${target.request.name}, ${name}`;
  const answer = await send(target, body);
  assertErrorBody(answer, about);
  // Of one that is too large only what finds its owner is looked at first.
  if (Buffer.byteLength(body) > mostBytesOf(target.request.operation) && answer.status === 413) return;
  const { operation } = target.request;
  // Newcomers are known by what was mailed to them, and have no key that could be found elsewhere.
  const isElsewhere = operation.kind === "activity" && operation.newcomer && status === 401;
  assert.equal(answer.status, isElsewhere ? 400 : status, `${about}: ${JSON.stringify(answer.body)}`);
  if (names !== undefined && !isElsewhere)
    assert.ok(isNamed(answer, names), `${about}: ${names} is not named: ${answer.body.message}`);
}

/** What is smaller than for all others: a vote's body stays with the activity, and a newcomer is nobody yet. */
function mostBytesOf(operation: Operation): number {
  if (operation.kind === "vote") return MAX_VOTE_BODY_BYTES;
  return operation.kind === "activity" && operation.newcomer ? LARGE_JSON_BYTES : Number.POSITIVE_INFINITY;
}

function isNamed(answer: TestAnswer, name: string): boolean {
  const { message } = answer.body;
  if (message.includes(name) || blamedFields(answer).includes(name)) return true;
  return name === "organizationId" && message === "malformed organization ID provided";
}

/** Of the organizations that the requests are for or name. */
const contentsOf = ({ world, foreign }: Target): (() => Promise<Dump>) => {
  const concerned = [world, foreign].flatMap(({ organizationId, parent }) =>
    parent ? [organizationId, parent.client.organizationId] : [organizationId],
  );
  return watchDatabase(world.server.opened.database, concerned);
};

/** The server lives, and the request of which all were made is as good as ever: they failed for what was wrong with them. */
async function assertStillValid(target: Target): Promise<void> {
  const health = await fetch(`${target.world.server.baseUrl}/healthz`);
  assert.deepEqual(await health.json(), { status: "ok" });
  const answer = await send(target, JSON.stringify(target.body));
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  await settled(target, answer);
}

/** What an accepted request still does outside ends before anybody looks whether another one changed something. */
async function settled({ request, world }: Target, { body }: TestAnswer): Promise<void> {
  const { operation } = request;
  if (operation.kind === "activity" && operation.effect) await ended(world.reader, body.activity.id);
}

/** Any value in any place, and any damage to the bytes: accepted as valid or refused without a trace, never our error. */
async function assertHarmless(valid: Target, numRuns: number): Promise<void> {
  const { request, world } = valid;
  const target = { ...valid, body: await newBody(request, world) };
  const contents = contentsOf(target);
  /** What is there, if nothing was accepted since it was read. */
  let known: Dump | undefined;
  const property = fc.asyncProperty(anyBody(target), async (bytes) => {
    const about = `${request.name} with ${bytes.toString().slice(0, 2000)}`;
    const before = known ?? (await contents());
    known = undefined;
    const answer = await send(target, bytes);
    if (answer.status === 200) return settled(target, answer);
    assertErrorBody(answer, about);
    const after = await contents();
    assertSameDump(before, after, about, isWrongGuess(answer) ? guessTables : []);
    known = after;
  });
  await fc.assert(property, { seed: SEED, numRuns });
}

/** A wrong guess at a code counts, whatever becomes of its request. */
const isWrongGuess = ({ body }: TestAnswer): boolean => /^Invalid OTP code: it is not the one/.test(body.message);
const guessTables = ["otps", "otp_failures"];

function anyBody({ body, schema }: Target): fc.Arbitrary<Buffer> {
  const fields = fieldsOf(schema, body);
  const text = Buffer.from(JSON.stringify(body));
  const value = fc.oneof(fc.jsonValue(), anyText());
  const elsewhere = fc.record({ field: fc.constantFrom(...fields), value });
  const damage = fc.record({ at: fc.nat(text.length), length: fc.nat(8), bytes: fc.uint8Array({ maxLength: 8 }) });
  return fc.oneof(
    elsewhere.map(({ field, value }) => Buffer.from(JSON.stringify(replaced(body, field.path, value)))),
    damage.map(({ at, length, bytes }) => Buffer.concat([text.subarray(0, at), bytes, text.subarray(at + length)])),
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
  );
}
