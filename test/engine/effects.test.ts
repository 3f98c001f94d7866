import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { Type } from "typebox";
import { operations } from "../../src/capabilities/index.ts";
import { completeActivity } from "../../src/engine/activities/complete.ts";
import { enqueueEffect, performActivity } from "../../src/engine/activities/perform.ts";
import { findActivity } from "../../src/engine/activities/rows.ts";
import type { ActivityView } from "../../src/engine/activities/view.ts";
import { Admission } from "../../src/engine/admission.ts";
import { activity, type PerformContext } from "../../src/engine/declare.ts";
import { createEngine, type Engine } from "../../src/engine/engine.ts";
import { Strict } from "../../src/engine/fields.ts";
import { listJobs } from "../../src/engine/jobs/admin.ts";
import { JobWorker } from "../../src/engine/jobs/worker.ts";
import type { ActivityOperation, Operation, Performed } from "../../src/engine/operations.ts";
import { createRegistry } from "../../src/engine/registry.ts";
import { fail } from "../../src/kernel/errors.ts";
import { newId } from "../../src/kernel/ids.ts";
import { MAX_CONNECTIONS_PER_HOST } from "../../src/kernel/limits.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { draftRootOrganization, storeRootOrganization } from "../../src/main/first-organization.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { apiKeyParams, Client, generateApiKey } from "../support/client.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { engines, testPostgresUrl } from "../support/server.ts";
import { temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";

/** Planned effects by an operation made for it, whose plans tell each other apart and whose effect does as it is told. */

const Intent = Strict({ name: Type.String(), gate: Type.String() });
const Plan = Type.Object({ number: Type.Integer(), gate: Type.String() });
type Plan = { number: number; gate: string };
type Intent = { name: string; gate: string };
type Effect = (context: PerformContext<Intent, Plan>) => Promise<Performed<{ number: number }>>;

/** For a body that is sent twice: both have looked for the activity before either has stored it, and the second one to arrive fails after that. */
function atOnce(failing: () => never) {
  const bothAreThere = Promise.withResolvers<void>();
  const oneIsStored = Promise.withResolvers<void>();
  return {
    async arrive(number: number): Promise<void> {
      if (number === 1) return bothAreThere.promise;
      bothAreThere.resolve();
      await oneIsStored.promise;
      failing();
    },
    twice<T>(send: () => Promise<T>): Promise<[T, T]> {
      const sending = async () => {
        const view = await send();
        oneIsStored.resolve();
        return view;
      };
      return Promise.all([sending(), sending()]);
    },
  };
}

let plansMade = 0;
let perform: Effect;
/** Done while a plan is made. */
let whilePlanning = async (_number: number): Promise<void> => {};
/** What the plan comes out as. */
let planned = (plan: Plan): Plan => plan;
/** Done before it is carried out, outside of the transaction. */
let preparing = async (): Promise<void> => {};
/** Done in the transaction that carries it out. */
let recording = (): void => {};

const ring = activity({
  path: "ring",
  summary: "Ring a bell.",
  isExtension: true,
  intent: Intent,
  result: Type.Object({ number: Type.Integer() }),
  subject: () => ({ governedBy: "rootQuorum" }),
  plan: {
    schema: Plan,
    make: async ({ intent: { gate } }): Promise<Plan> => {
      plansMade++;
      const number = plansMade;
      await whilePlanning(number);
      return planned({ number, gate });
    },
  },
  prepare: () => preparing(),
  effect: {
    gate: ({ gate }) => {
      recording();
      return gate;
    },
    perform: (context) => perform(context),
  },
});

for (const engineName of engines) {
  describe(`planned effects (${engineName})`, () => {
    let database: Database;
    let engine: Engine;
    let worker: JobWorker;
    const statuses = new Map<string, string[]>();
    const observer = {
      ahead: async () => {},
      onChange: async (_: unknown, { activity: { id, status } }: { activity: { id: string; status: string } }) => {
        statuses.set(id, [...(statuses.get(id) ?? []), status.replace("ACTIVITY_STATUS_", "")]);
      },
    };
    const registry = createRegistry([...operations, ring]);

    before(async () => {
      const url =
        engineName === "sqlite"
          ? `sqlite:${temporaryFolder()}/effects.db`
          : await createTestDatabase(testPostgresUrl(), `effects_${newId().replaceAll("-", "")}`);
      database = openDatabase({ url });
      await database.migrate();
      const admission = new Admission({ organization: 0, credential: 0, failures: 0 }, 8);
      // Nothing here needs a service or asks the signer.
      const services = { registry } as never;
      engine = createEngine({
        registry,
        database,
        signer: {} as never,
        clock: Date.now,
        observer,
        services,
        admission,
        refuseWrites: () => {},
      });
      const surroundings = { database, clock: Date.now, log: createLogger("silent") };
      const kinds = [performActivity({ registry, services, observer })];
      worker = new JobWorker({ surroundings, services, signer: {} as never, kinds, pollMs: 20 });
      await worker.start();
    });
    after(async () => {
      await worker.stop();
      await database.close();
    });
    beforeEach(() => {
      plansMade = 0;
      whilePlanning = async () => {};
      planned = (plan) => plan;
      preparing = async () => {};
      recording = () => {};
    });

    /** A client of an organization of its own; it stamps bodies, and the engine here takes them. */
    const newOrganization = async (): Promise<Client> => {
      const draft = draftRootOrganization({ baseUrl: "http://nowhere", organizationName: "One", userName: "Root" });
      await database.transact(draft.organizationId, (tx) =>
        storeRootOrganization(tx, draft, "AA==", { now: Date.now() }),
      );
      const { publicKey, privateKey } = draft.apiKey;
      return new Client("http://nowhere", draft.organizationId, { publicKey, privateKey: privateKey as string });
    };
    const answerTo = (operation: Operation, stamps: Record<string, string>, body: Buffer) =>
      engine.accept(operation, { stamps, remoteAddress: undefined, onPrincipal: () => {}, isWanted: () => true })(body);
    const send = async (client: Client, operation: Operation, body: string): Promise<ActivityView> => {
      const stamps = { "x-stamp": client.stamp(body) };
      return ((await answerTo(operation, stamps, Buffer.from(body))) as { activity: ActivityView }).activity;
    };
    const bodyOf = (client: Client, name = "bell", gate = newId()) => client.submitBody("ring", { name, gate });
    const submit = (client: Client, name?: string, gate?: string) => send(client, ring, bodyOf(client, name, gate));
    const shown = async (client: Client, id: string): Promise<ActivityView> => {
      const operation = registry.byPath("/public/v1/query/get_activity") as Operation;
      return send(client, operation, JSON.stringify({ organizationId: client.organizationId, activityId: id }));
    };
    const ended = async (client: Client, id: string): Promise<ActivityView> => {
      let view = await shown(client, id);
      await until(async () => {
        view = await shown(client, id);
        return view.status !== "ACTIVITY_STATUS_PENDING";
      }, "the activity to end");
      return view;
    };

    /** A second user of the organization, who has to approve what it does from now on. */
    const newApprover = async (root: Client): Promise<Client> => {
      const key = generateApiKey();
      const user = { userName: "Second", apiKeys: [apiKeyParams(key)], authenticators: [], oauthProviders: [] };
      const create = registry.byPath("/public/v1/submit/create_users") as Operation;
      const created = await send(root, create, root.submitBody("create_users", { users: [{ ...user, userTags: [] }] }));
      const [secondId] = (created.result.createUsersResult as { userIds: string[] }).userIds;
      const quorum = registry.byPath("/public/v1/submit/update_root_quorum") as Operation;
      const whoami = registry.byPath("/public/v1/query/whoami") as Operation;
      const query = Buffer.from(JSON.stringify({ organizationId: root.organizationId }));
      const { userId } = (await answerTo(whoami, { "x-stamp": root.stamp(query) }, query)) as { userId: string };
      await send(root, quorum, root.submitBody("update_root_quorum", { threshold: 2, userIds: [userId, secondId] }));
      return root.with({ key });
    };

    it("keep the plan that they were submitted with, however late the last vote comes", async () => {
      const root = await newOrganization();
      const second = await newApprover(root);
      const performed: number[] = [];
      perform = async ({ plan: { number } }) => {
        performed.push(number);
        return { done: { number } };
      };
      const body = bodyOf(root);
      const waiting = await send(root, ring, body);
      assert.equal(waiting.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
      assert.equal((await send(root, ring, body)).id, waiting.id);
      assert.equal(plansMade, 1, "the same body makes no second plan");
      await submit(await newOrganization());
      assert.equal(plansMade, 2, "another activity has a plan of its own");
      const approved = await send(second, ring, body);
      assert.equal(approved.id, waiting.id);
      assert.equal(approved.status, "ACTIVITY_STATUS_PENDING");
      const { status, result } = await ended(root, waiting.id);
      assert.deepEqual([status, result], ["ACTIVITY_STATUS_COMPLETED", { ringResult: { number: 1 } }]);
      assert.deepEqual(performed.toSorted(), [1, 2]);
      assert.deepEqual(statuses.get(waiting.id), ["CONSENSUS_NEEDED", "PENDING", "COMPLETED"]);
    });

    it("are one for a body sent twice at once, where its other plan finds used up what the first took", async () => {
      const root = await newOrganization();
      perform = async ({ plan: { number } }) => ({ done: { number } });
      const body = bodyOf(root);
      const { arrive, twice } = atOnce(() =>
        fail("CHAIN_UNAVAILABLE", { chain: "a chain", reason: "it rings already" }),
      );
      whilePlanning = arrive;
      const [sent, again] = await twice(() => send(root, ring, body));
      assert.equal(plansMade, 2, "both have planned");
      assert.equal(again.id, sent.id);
      assert.equal((await ended(root, sent.id)).status, "ACTIVITY_STATUS_COMPLETED");
      // What fails with nothing stored is told.
      whilePlanning = async () => fail("CHAIN_UNAVAILABLE", { chain: "a chain", reason: "it is away" });
      await assert.rejects(submit(root), /it is away/);
    });

    it("that cannot be prepared at the last vote have failed, or wait for a vote again where that may pass", async () => {
      const root = await newOrganization();
      const second = await newApprover(root);
      perform = async ({ plan: { number } }) => ({ done: { number } });
      const body = bodyOf(root);
      const { id } = await send(root, ring, body);
      const stateOf = async (one: string) => {
        const { status, votes } = await shown(root, one);
        return [status, votes.length];
      };
      preparing = async () => fail("SIGNER_UNAVAILABLE", { reason: "it is away" });
      await assert.rejects(send(second, ring, body), { code: "SIGNER_UNAVAILABLE" });
      assert.deepEqual(await stateOf(id), ["ACTIVITY_STATUS_CONSENSUS_NEEDED", 1]);
      preparing = async () => {
        throw new TypeError("a fault of ours");
      };
      await assert.rejects(send(second, ring, body), TypeError);
      assert.deepEqual(await stateOf(id), ["ACTIVITY_STATUS_CONSENSUS_NEEDED", 1]);
      preparing = async () => {};
      await send(second, ring, body);
      assert.equal((await ended(root, id)).status, "ACTIVITY_STATUS_COMPLETED");

      const lost = bodyOf(root);
      const { id: lostId } = await send(root, ring, lost);
      preparing = async () => fail("BROADCAST_REFUSED", { chain: "a chain", reason: "there is no bell" });
      assert.equal((await send(second, ring, lost)).status, "ACTIVITY_STATUS_FAILED");
      assert.deepEqual(await stateOf(lostId), ["ACTIVITY_STATUS_FAILED", 2]);
      // A new activity is not stored: its submitter sees the error.
      const alone = await newOrganization();
      await assert.rejects(submit(alone), { code: "BROADCAST_REFUSED" });
      const { organizationId } = alone;
      const stored = database.read.selectFrom("activities").select("id").where("organization_id", "=", organizationId);
      assert.deepEqual(await stored.execute(), []);
    });

    it("are carried out once by what is sent twice at once, where the other finds used up what the first took", async () => {
      const alone = await newOrganization();
      const root = await newOrganization();
      const second = await newApprover(root);
      perform = async ({ plan: { number } }) => ({ done: { number } });
      const voted = bodyOf(root);
      const waiting = await send(root, ring, voted);
      for (const [client, body, id] of [
        [alone, bodyOf(alone), undefined],
        [second, voted, waiting.id],
      ] as const) {
        let prepared = 0;
        const { arrive, twice } = atOnce(() =>
          fail("BROADCAST_REFUSED", { chain: "a chain", reason: "it rings already" }),
        );
        preparing = () => arrive(++prepared);
        const [sent, again] = await twice(() => send(client, ring, body));
        assert.equal(prepared, 2, "both have prepared");
        assert.equal(again.id, sent.id);
        assert.ok(id === undefined || sent.id === id);
        assert.equal((await ended(client, sent.id)).status, "ACTIVITY_STATUS_COMPLETED");
      }
    });

    it("that cannot be recorded at the last vote have failed too, and those of a fault of ours wait for a vote again", async () => {
      const root = await newOrganization();
      const second = await newApprover(root);
      perform = async ({ plan: { number } }) => ({ done: { number } });
      const body = bodyOf(root);
      const { id } = await send(root, ring, body);
      const stateOf = async (one: string) => {
        const { status, votes } = await shown(root, one);
        return [status, votes.length];
      };
      recording = () => {
        throw new TypeError("a fault of ours");
      };
      await assert.rejects(send(second, ring, body), TypeError);
      assert.deepEqual(await stateOf(id), ["ACTIVITY_STATUS_CONSENSUS_NEEDED", 1]);
      recording = () => fail("SIGNER_UNAVAILABLE", { reason: "it is away" });
      await assert.rejects(send(second, ring, body), { code: "SIGNER_UNAVAILABLE" });
      assert.deepEqual(await stateOf(id), ["ACTIVITY_STATUS_CONSENSUS_NEEDED", 1]);
      recording = () => fail("BROADCAST_REFUSED", { chain: "a chain", reason: "there is no bell" });
      const failed = await send(second, ring, body);
      assert.equal(failed.status, "ACTIVITY_STATUS_FAILED");
      assert.match(failed.failure?.message ?? "", /there is no bell/);
      assert.deepEqual(await stateOf(id), ["ACTIVITY_STATUS_FAILED", 2]);
      const alone = await newOrganization();
      await assert.rejects(submit(alone), { code: "BROADCAST_REFUSED" });
      const { organizationId } = alone;
      const stored = database.read.selectFrom("activities").select("id").where("organization_id", "=", organizationId);
      assert.deepEqual(await stored.execute(), []);
    });

    it("end once: whatever comes later changes nothing, and nobody is told of it", async () => {
      const root = await newOrganization();
      const { promise, resolve } = Promise.withResolvers<void>();
      perform = async ({ plan: { number } }) => {
        await promise;
        return { done: { number } };
      };
      const { id } = await submit(root);
      const { organizationId } = root;
      const pending = await findActivity(database.read, organizationId, id);
      assert.ok(pending);
      resolve();
      const view = await ended(root, id);
      const organization = { id: organizationId, parentId: null };
      for (const outcome of [{ result: { number: 5 } }, { failure: { code: 13, message: "too late", details: [] } }]) {
        const now = Date.now() + 60_000;
        await database.transact(organizationId, (tx) =>
          completeActivity(tx, { registry, observer }, pending, { organization, outcome, now }),
        );
        assert.deepEqual(await shown(root, id), view);
      }
      assert.deepEqual(statuses.get(id), ["PENDING", "COMPLETED"]);
    });

    it("are refused where the plan is not of its shape, and nothing is stored", async () => {
      const root = await newOrganization();
      planned = (plan) => ({ ...plan, number: "one" as never });
      await assert.rejects(submit(root), /the plan of ring is not of the shape that it declares/);
      const { organizationId } = root;
      const stored = database.read.selectFrom("activities").select("id").where("organization_id", "=", organizationId);
      assert.deepEqual(await stored.execute(), []);
    });

    it("are not done again once they are done, though their job were queued anew", async () => {
      const root = await newOrganization();
      let performed = 0;
      perform = async ({ plan: { number } }) => {
        performed++;
        return { done: { number } };
      };
      const { id } = await submit(root);
      await ended(root, id);
      const { organizationId } = root;
      const jobs = () => database.read.selectFrom("jobs").select("id").where("organization_id", "=", organizationId);
      const record = await findActivity(database.read, organizationId, id);
      const { effect } = ring as ActivityOperation;
      assert.ok(record && effect);
      await database.transact(organizationId, (tx) => enqueueEffect(tx, effect, record, Date.now()));
      await until(async () => (await jobs().execute()).length === 0, "the second job to be over");
      assert.equal(performed, 1);
      assert.deepEqual(statuses.get(id), ["PENDING", "COMPLETED"]);
    });

    it("know at each try what the one before has noted", async () => {
      const root = await newOrganization();
      const known: unknown[] = [];
      perform = async ({ attempts, noted, note, plan: { number } }) => {
        known.push(noted);
        if (attempts > 1) return { done: { number } };
        await note(attempts === 0 ? { step: 1 } : undefined);
        return { retryInMs: 0, reason: "not yet" };
      };
      const { id } = await submit(root);
      assert.equal((await ended(root, id)).status, "ACTIVITY_STATUS_COMPLETED");
      assert.deepEqual(known, [undefined, { step: 1 }, undefined]);
    });

    it("are tried again no sooner than they ask for, and no sooner than jobs are", async () => {
      for (const [retryInMs, least] of [
        [60_000, 60_000],
        [0, 500],
      ] as const) {
        const root = await newOrganization();
        perform = async () => ({ retryInMs, reason: "not yet" });
        await submit(root);
        const { organizationId } = root;
        const job = () =>
          database.read.selectFrom("jobs").selectAll().where("organization_id", "=", organizationId).executeTakeFirst();
        await until(async () => ((await job())?.attempts ?? 0) > 0, "the first try");
        const { run_at = 0, updated_at = 0, last_error } = (await job()) ?? {};
        assert.ok(run_at - updated_at >= least, `${run_at - updated_at} ms`);
        assert.equal(last_error, "not yet");
        await database.transact(organizationId, (tx) =>
          tx.deleteFrom("jobs").where("organization_id", "=", organizationId).execute(),
        );
      }
    });

    it("are gone on with until they are done, knowing how often they were tried", async () => {
      const root = await newOrganization();
      const attempts: number[] = [];
      perform = async (context) => {
        attempts.push(context.attempts);
        const { number } = context.plan;
        return context.attempts < 2 ? { retryInMs: 1, reason: "not yet" } : { done: { number } };
      };
      const { id } = await submit(root);
      assert.equal((await ended(root, id)).status, "ACTIVITY_STATUS_COMPLETED");
      assert.deepEqual(attempts, [0, 1, 2]);
      assert.deepEqual(statuses.get(id), ["PENDING", "COMPLETED"]);
    });

    it("fail for good with an error below 500, which the activity keeps", async () => {
      const root = await newOrganization();
      perform = async () => fail("BROADCAST_REFUSED", { chain: "a chain", reason: "the bell is broken" });
      const { id } = await submit(root);
      const { status, failure, result } = await ended(root, id);
      assert.equal(status, "ACTIVITY_STATUS_FAILED");
      assert.match(failure?.message ?? "", /the bell is broken/);
      assert.deepEqual(result, {});
      assert.deepEqual(statuses.get(id), ["PENDING", "FAILED"]);
    });

    it("wait with all of their organization while what they need is away, and no try counts", async () => {
      const root = await newOrganization();
      let isAway = true;
      const tried: string[] = [];
      perform = async ({ intent: { name }, plan: { number }, attempts }) => {
        tried.push(name);
        assert.equal(attempts, 0);
        if (isAway) fail("CHAIN_UNAVAILABLE", { chain: "a chain", reason: "it is away" });
        return { done: { number } };
      };
      const gate = newId();
      const first = await submit(root, "first", gate);
      await until(() => tried.length === 1, "the first try");
      const second = await submit(root, "second", gate);
      const elsewhere = await submit(root, "elsewhere", newId());
      await until(() => tried.includes("elsewhere"), "what waits for something else");
      assert.ok(!tried.includes("second"), "it rests behind the first");
      isAway = false;
      for (const { id } of [first, second, elsewhere]) {
        assert.equal((await ended(root, id)).status, "ACTIVITY_STATUS_COMPLETED");
      }
      // However often the first was tried meanwhile.
      assert.equal(tried.indexOf("second"), tried.lastIndexOf("second"), "once");
      assert.ok(tried.lastIndexOf("first") < tried.indexOf("second"));
    });

    it("that throw wait for an operator in the end, and are pending until then", async () => {
      const root = await newOrganization();
      let tries = 0;
      perform = async () => {
        tries++;
        throw new Error("a fault of ours");
      };
      const { id } = await submit(root);
      await until(() => tries === 2, "a second try");
      assert.equal((await shown(root, id)).status, "ACTIVITY_STATUS_PENDING");
      const jobs = (await listJobs(database.read, "waiting", 100)).filter(
        ({ organizationId }) => organizationId === root.organizationId,
      );
      assert.equal(jobs.length, 1);
      assert.equal(jobs[0]?.lastError, "a fault of ours");
      perform = async ({ plan: { number } }) => ({ done: { number } });
      assert.equal((await ended(root, id)).status, "ACTIVITY_STATUS_COMPLETED");
    });

    it("are not voted on any more", async () => {
      const root = await newOrganization();
      const { promise, resolve } = Promise.withResolvers<void>();
      perform = async ({ plan: { number } }) => {
        await promise;
        return { done: { number } };
      };
      const { id, fingerprint } = await submit(root);
      const reject = registry.byPath("/public/v1/submit/reject_activity") as Operation;
      await assert.rejects(send(root, reject, root.submitBody("reject_activity", { fingerprint })), {
        code: "ACTIVITY_DECIDED",
      });
      resolve();
      assert.equal((await ended(root, id)).status, "ACTIVITY_STATUS_COMPLETED");
    });

    it("of one organization go one after the other in their order, and hold up nobody else", async () => {
      const [busy, other] = [await newOrganization(), await newOrganization()];
      const gate = newId();
      const { promise: opened, resolve: open } = Promise.withResolvers<void>();
      const order: string[] = [];
      let running = 0;
      let most = 0;
      perform = async ({ intent: { name }, organization, plan: { number } }) => {
        if (organization.id !== busy.organizationId) return { done: { number } };
        most = Math.max(most, ++running);
        if (name === "0") await opened;
        order.push(name);
        running--;
        return { done: { number } };
      };
      const queued: ActivityView[] = [];
      for (let index = 0; index < 30; index++) queued.push(await submit(busy, `${index}`, gate));
      const { id } = await submit(other, "bystander", gate);
      assert.equal((await ended(other, id)).status, "ACTIVITY_STATUS_COMPLETED");
      assert.deepEqual(order, [], "though the others still wait for the first of theirs");
      open();
      for (const { id } of queued) await ended(busy, id);
      assert.deepEqual(
        order,
        Array.from({ length: 30 }, (_, index) => `${index}`),
      );
      assert.equal(most, 1);
    });

    it("that all wait for the same leave room for what waits for something else", async () => {
      const gate = newId();
      const { promise: opened, resolve: open } = Promise.withResolvers<void>();
      let running = 0;
      let most = 0;
      perform = async ({ intent: { name }, plan: { number } }) => {
        if (name === "hangs") {
          most = Math.max(most, ++running);
          await opened;
          running--;
        }
        return { done: { number } };
      };
      const hanging: [Client, ActivityView][] = [];
      for (let index = 0; index < MAX_CONNECTIONS_PER_HOST + 4; index++) {
        const client = await newOrganization();
        hanging.push([client, await submit(client, "hangs", gate)]);
      }
      const bystander = await newOrganization();
      const { id } = await submit(bystander, "bystander");
      assert.equal((await ended(bystander, id)).status, "ACTIVITY_STATUS_COMPLETED");
      await until(() => running === MAX_CONNECTIONS_PER_HOST, "as many as may hang at once");
      open();
      for (const [client, { id }] of hanging) await ended(client, id);
      assert.equal(most, MAX_CONNECTIONS_PER_HOST);
    });
  });
}

it("an operation that does nothing is no operation", () => {
  const nothing = {
    path: "nothing",
    summary: "Nothing.",
    intent: Strict({}),
    result: Type.Object({}),
    subject: () => ({ governedBy: "rootQuorum" as const }),
  };
  assert.throws(() => activity(nothing), /nothing must declare either `change` with `answer`, or `run`/);
});
