import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import type { KyselyPlugin } from "kysely";
import pg from "pg";
import { Keeper } from "../../src/capabilities/deployments/index.ts";
import { sealPullSecret } from "../../src/capabilities/deployments/pull-secrets.ts";
import { generateReceiver } from "../../src/crypto/hpke.ts";
import type { RegistryCredential } from "../../src/crypto/registry-credential.ts";
import { newId } from "../../src/kernel/ids.ts";
import {
  MAX_CONSIDERED_DEPLOYMENTS_OF_ONE_ORGANIZATION,
  MAX_RUN_DEPLOYMENTS_OF_ONE_ORGANIZATION,
} from "../../src/kernel/limits.ts";
import { createLogger } from "../../src/kernel/log.ts";
import type { Program, Runner } from "../../src/runner/runner.ts";
import type { Database } from "../../src/storage/database.ts";
import type { Client, Json } from "../support/client.ts";
import { addDeployment, approvalParams, newDeployment, newOperator, someProgram } from "../support/deployments.ts";
import { registryOfTests } from "../support/registry.ts";
import { oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

const RENEWAL_MS = 6000;
/** Longer than between two looks at programs that stay the same. */
const FORGET_EVERY_MS = 61_000;

/** Is told what to run, and runs nothing. */
class RunnerOfTests implements Runner {
  programs: readonly Program[] = [];
  /** How often it was told. */
  times = 0;

  run(programs: readonly Program[]): void {
    this.programs = programs;
    this.times++;
  }
  replicasOf = () => undefined;
  provisioningOf: Runner["provisioningOf"] = () => undefined;
  logsOf = async () => [];
  close = async () => {};
}

for (const engine of oneEngine("postgres")) {
  describe(`the keeper of deployments (${engine})`, () => {
    const alice = newOperator("alice");
    const directory = mkdtempSync(join(tmpdir(), "keystead-keeper-"));
    const keepers: Keeper[] = [];
    /** For whom images were read. */
    let readFor: string[] = [];
    let aheadMs = 0;
    /** Where the clock stands that only the tests move; undefined where it goes. */
    let standsAt: number | undefined;
    let server: TestServer;
    before(async () => {
      server = await startTestServer(engine);
    });
    afterEach(async () => {
      for (const keeper of keepers.splice(0)) await keeper.close();
      standsAt = undefined;
      // Each test has the deployments that are wanted for itself.
      await server.opened.database.transact(undefined, async (tx) => {
        await tx.updateTable("tvc_deployments").set({ is_wanted: 0 }).execute();
      });
    });
    after(async () => {
      await server.close();
      rmSync(directory, { recursive: true, force: true });
    });

    const start = (
      runner = new RunnerOfTests(),
      signer: ConstructorParameters<typeof Keeper>[0]["signer"] = server.opened.signer,
      contentFor: (credential: RegistryCredential | undefined) => Buffer | Promise<Buffer> = () => someProgram,
      database: Database = server.opened.database,
    ): RunnerOfTests => {
      readFor = [];
      const keeper = new Keeper({
        database,
        runner,
        images: {
          resolve: () => Promise.reject(new Error("nothing is resolved here")),
          readFile: async (_, rootId, credential) => {
            readFor.push(rootId);
            return contentFor(credential);
          },
        },
        signer,
        directory,
        clock: () => (standsAt ?? Date.now()) + aheadMs,
        log: createLogger("fatal"),
      });
      keepers.push(keeper);
      keeper.start();
      return runner;
    };
    const running = ({ programs }: RunnerOfTests) => programs.map(({ deploymentId }) => deploymentId).sort();
    const approved = async (client: Client): Promise<Json> => {
      const app = await newDeployment(client, [alice]);
      await client.result("create_tvc_manifest_approvals", await approvalParams(client, app, [alice]));
      return app;
    };
    const fresh = async (): Promise<Client> => (await createWorld(server)).root.client;
    const leasesOf = (organizationIds: string[]) =>
      server.opened.database.read
        .selectFrom("tvc_runs")
        .select(["deployment_id", "leased_until"])
        .where("organization_id", "in", organizationIds)
        .execute();
    /** More of a deployment, as they are after their approval. */
    const copy = ({ organizationId }: Client, { deploymentId }: Json, count: number) =>
      server.opened.database.transact(organizationId, async (tx) => {
        const row = await tx
          .selectFrom("tvc_deployments")
          .selectAll()
          .where("organization_id", "=", organizationId)
          .where("id", "=", deploymentId)
          .executeTakeFirstOrThrow();
        const rows = Array.from({ length: count }, () => ({ ...row, id: newId(), manifest_id: newId() }));
        await tx.insertInto("tvc_deployments").values(rows).execute();
        const approvals = await tx
          .selectFrom("tvc_manifest_approvals")
          .selectAll()
          .where("organization_id", "=", organizationId)
          .where("deployment_id", "=", deploymentId)
          .execute();
        await tx
          .insertInto("tvc_manifest_approvals")
          .values(rows.flatMap(({ id }) => approvals.map((each) => ({ ...each, id: newId(), deployment_id: id }))))
          .execute();
      });

    it("counts those of sub-organizations with their parent's", async () => {
      const parent = await fresh();
      const { client: sub } = await addSubOrganization(parent);
      const stranger = await fresh();
      const most = MAX_RUN_DEPLOYMENTS_OF_ONE_ORGANIZATION;
      for (const client of [parent, sub]) await copy(client, await approved(client), most - 1);
      const other = await approved(stranger);
      const runner = start();
      await until(() => running(runner).length > most && running(runner).includes(other.deploymentId), "all to run");
      assert.equal((await leasesOf([parent.organizationId, sub.organizationId])).length, most);
      assert.equal(running(runner).length, most + 1);
      assert.ok(!readFor.includes(sub.organizationId));
    });

    it("reads little of many, and all of those alone that it runs", async () => {
      const client = await fresh();
      const { client: sub } = await addSubOrganization(client);
      const many = MAX_CONSIDERED_DEPLOYMENTS_OF_ONE_ORGANIZATION;
      for (const each of [client, sub]) await copy(each, await approved(each), many / 2 + 50);
      const { database, rows } = countingRows(server.opened.database);
      const runner = start(undefined, undefined, undefined, database);
      const most = MAX_RUN_DEPLOYMENTS_OF_ONE_ORGANIZATION;
      await until(() => running(runner).length === most, "those to run");
      // The first and the last of these looks may not be whole.
      const { times } = runner;
      const before = { ...rows };
      await until(() => runner.times > times + 2, "the next looks");
      const looks = runner.times - times + 1;
      const [whole, inAll] = [rows.whole - before.whole, rows.inAll - before.inAll];
      assert.ok(whole > 0 && whole <= looks * most, `${whole} whole rows in ${looks} looks`);
      assert.ok(inAll > many && inAll <= looks * (many + 3 * most), `${inAll} rows in ${looks} looks`);
    });

    it("runs later ones of an organization with many that are refused", async () => {
      const client = await fresh();
      const app = await approved(client);
      const { organizationId } = client;
      await copy(client, app, 2 * MAX_RUN_DEPLOYMENTS_OF_ONE_ORGANIZATION);
      await server.opened.database.transact(organizationId, async (tx) => {
        await tx
          .updateTable("tvc_deployments")
          .set({ pivot_args: "[]" })
          .where("organization_id", "=", organizationId)
          .execute();
      });
      const { deploymentId } = await approved(client);
      const runner = start();
      await until(() => running(runner).length > 0, "the last one to run");
      assert.deepEqual(running(runner), [deploymentId]);
    });

    it("takes what a killed server leased by a clock that was ahead, and renews its own once that is set back", async () => {
      const client = await fresh();
      const { organizationId } = client;
      const { deploymentId } = await approved(client);
      aheadMs = 3_600_000;
      const killed = start();
      await until(() => running(killed).length === 1, "it to run");
      const leasedUntil = async () => (await leasesOf([organizationId]))[0]?.leased_until ?? 0;
      // Its own, which it goes on with.
      aheadMs = 0;
      await until(async () => (await leasedUntil()) < Date.now() + FORGET_EVERY_MS, "the lease by the clock of now");
      // Another one's, who is there no longer.
      await keepers.pop()?.close();
      const lease = { runner_id: newId(), leased_until: Date.now() + 3_600_000, ready_replicas: 1, is_provisioned: 0 };
      await server.opened.database.transact(organizationId, async (tx) => {
        const of = { organization_id: organizationId, deployment_id: deploymentId };
        await tx
          .insertInto("tvc_runs")
          .values({ ...of, ...lease, created_at: 1, updated_at: 1 })
          .execute();
      });
      const next = start();
      await until(() => running(next).includes(deploymentId), "another server to run it");
    });

    it("keeps no program of what another server runs, though it waits for another program all the time", async () => {
      const [client, other] = [await fresh(), await fresh()];
      const { organizationId } = client;
      await approved(client);
      await cleanUp(server);
      standsAt = Date.now();
      const first = start();
      await until(() => running(first).length === 1, "it to run");
      const [{ file } = { file: "" }] = first.programs;
      await keepers.pop()?.close();
      // As a server does that took it over, or this one before it was killed.
      const lease = { runner_id: newId(), leased_until: Date.now() + 2 * FORGET_EVERY_MS + aheadMs, ready_replicas: 1 };
      await server.opened.database.transact(organizationId, async (tx) => {
        const [run] = await tx.selectFrom("tvc_deployments").selectAll().where("is_wanted", "=", 1).execute();
        const times = { created_at: Date.now(), updated_at: Date.now() };
        const of = { organization_id: organizationId, deployment_id: run?.id ?? "" };
        await tx
          .insertInto("tvc_runs")
          .values({ ...of, ...lease, ...times, is_provisioned: 0 })
          .execute();
      });
      const expectedPivotDigest = createHash("sha256").update("a program that never comes").digest("hex");
      const app = await newDeployment(other, [alice], { deployment: { expectedPivotDigest } });
      await other.result("create_tvc_manifest_approvals", await approvalParams(other, app, [alice]));
      const never = Promise.withResolvers<Buffer>();
      try {
        const second = start(undefined, undefined, () => never.promise);
        await until(() => readFor.includes(other.organizationId), "the other one to be asked for");
        const { times } = second;
        await until(() => second.times > times + 2, "the next looks");
        assert.ok(existsSync(file));
        aheadMs += FORGET_EVERY_MS;
        await until(() => !existsSync(file), "the program to go");
      } finally {
        never.reject(new Error("it never came"));
      }
    });

    it("keeps the program of what is deleted until that is cleaned up", async () => {
      const client = await fresh();
      const app = await approved(client);
      const { deploymentId } = await addDeployment(client, app, [alice]);
      standsAt = Date.now();
      const runner = start();
      const file = join(directory, "programs", createHash("sha256").update(someProgram).digest("hex"));
      await until(() => running(runner).length === 2, "both to run");
      await client.result("delete_tvc_app_and_deployments", { appId: app.appId });
      const looked = async (what: () => boolean) => {
        await until(what, "what is wanted to run");
        // A look has ended when the next one has told the runner.
        const { times } = runner;
        await until(() => runner.times > times, "the next look");
      };
      await looked(() => running(runner).length === 0);
      assert.ok(existsSync(file));
      const ended = (id: string) =>
        server.opened.database.transact(client.organizationId, async (tx) => {
          await tx
            .updateTable("tvc_deployments")
            .set({ cleaned_up_at: Date.now() })
            .where("organization_id", "=", client.organizationId)
            .where("id", "=", id)
            .execute();
        });
      await ended(app.deploymentId);
      aheadMs += FORGET_EVERY_MS;
      // The first of them may have begun before.
      for (let looks = 0; looks < 2; looks++) await looked(() => true);
      assert.ok(existsSync(file));
      await ended(deploymentId);
      await cleanUp(server);
      // Who can restore what stays the same is asked once in a while, not at each look.
      for (let looks = 0; looks < 3; looks++) await looked(() => true);
      assert.ok(existsSync(file));
      aheadMs += FORGET_EVERY_MS;
      await until(() => !existsSync(file), "the program to go");
    });

    it("keeps a program that a pull secret was needed for from deployments without one", async () => {
      const owner = await fresh();
      const program = Buffer.from("#!/bin/sh\nexit 1\n");
      const expectedPivotDigest = createHash("sha256").update(program).digest("hex");
      const approvedOne = async (client: Client, sealed: string | null): Promise<Json> => {
        const app = await newDeployment(client, [alice], { deployment: { expectedPivotDigest } });
        await change(client, app, { sealed_pull_secret: sealed });
        await client.result("create_tvc_manifest_approvals", await approvalParams(client, app, [alice]));
        return app;
      };
      const change = ({ organizationId }: Client, { deploymentId }: Json, values: object) =>
        server.opened.database.transact(organizationId, async (tx) => {
          await tx
            .updateTable("tvc_deployments")
            .set(values)
            .where("organization_id", "=", organizationId)
            .where("id", "=", deploymentId)
            .execute();
        });
      const credential = { username: "puller", password: "a password" };
      const { database, signer } = server.opened;
      const image = `${(await registryOfTests()).host}/team/app`;
      const sealed = await sealPullSecret({ read: database.read, signer }, image, credential);
      const app = await approvedOne(owner, sealed);
      standsAt = Date.now();
      const runner = start(undefined, undefined, (shown) => {
        assert.deepEqual(shown, credential);
        return program;
      });
      await until(() => running(runner).includes(app.deploymentId), "the program to be fetched");
      const [{ file } = { file: "" }] = runner.programs;
      const stranger = await fresh();
      const other = await approvedOne(stranger, null);
      const isRunning = () => running(runner).includes(other.deploymentId);
      await until(() => isRunning() || readFor.includes(stranger.organizationId), "the other to be fetched");
      const { times } = runner;
      await until(() => runner.times > times + 1, "the next looks");
      assert.ok(!isRunning());

      // It stays as long as it can be restored, and goes then.
      await owner.result("delete_tvc_app_and_deployments", { appId: app.appId });
      await until(() => running(runner).length === 0, "it to end");
      const afterAWhile = async () => {
        aheadMs += FORGET_EVERY_MS;
        const { times } = runner;
        await until(() => runner.times > times + 1, "the next looks");
      };
      await afterAWhile();
      assert.ok(existsSync(file));
      await change(owner, app, { cleaned_up_at: Date.now() });
      aheadMs += FORGET_EVERY_MS;
      await until(() => !existsSync(file), "the program to go");
    });

    it("runs nothing but what the stored manifest's approvals are for", async () => {
      const client = await fresh();
      const of = { organization_id: client.organizationId };
      const change = (table: "tvc_deployments" | "tvc_manifest_approvals", id: object, values: object) =>
        server.opened.database.transact(client.organizationId, async (tx) => {
          await tx
            .updateTable(table)
            .set(values)
            .where((eb) => eb.and({ ...of, ...id }))
            .execute();
        });
      const forgedDigest = createHash("sha256").update("another program").digest("hex");
      const edits: [RegExp, (app: Json) => Promise<void>][] = [
        [
          /program's digest in the database/,
          ({ deploymentId: id }) => change("tvc_deployments", { id }, { pivot_digest: forgedDigest }),
        ],
        [
          /list of arguments in the database/,
          ({ deploymentId: id }) => change("tvc_deployments", { id }, { pivot_args: '["--greeting","bye"]' }),
        ],
        [
          /valid approvals from 0 members of the manifest set, but requires 1/,
          ({ deploymentId: deployment_id }) =>
            server.opened.database.transact(client.organizationId, async (tx) => {
              await tx
                .deleteFrom("tvc_manifest_approvals")
                .where((eb) => eb.and({ ...of, deployment_id }))
                .execute();
            }),
        ],
        [
          /valid approvals from 0 members/,
          ({ deploymentId: deployment_id }) =>
            change("tvc_manifest_approvals", { deployment_id }, { signature: "11".repeat(64) }),
        ],
      ];
      const edited = await Promise.all(edits.map(() => approved(client)));
      for (const [index, [, edit]] of edits.entries()) await edit(edited[index] as Json);
      const { deploymentId: restored } = edited[2] as Json;
      const honest = await approved(client);
      const runner = start();
      const looks = async () => {
        const { times } = runner;
        await until(() => runner.times > times + 1, "the next looks");
      };
      await until(() => running(runner).includes(honest.deploymentId), "the unedited one to run");
      await looks();
      assert.deepEqual(running(runner), [honest.deploymentId]);
      assert.deepEqual(runner.programs[0]?.args, ["--greeting", "hello"]);
      // What is refused takes no lease, and its state says why.
      assert.equal((await leasesOf([client.organizationId])).length, 1);
      const reasonOf = async ({ appId }: Json): Promise<string | undefined> =>
        (await client.read("get_app_status", { appId })).appStatus.deployments[0].refusalReason;
      for (const [index, [pattern]] of edits.entries()) {
        assert.match((await reasonOf(edited[index] as Json)) ?? "", pattern);
      }
      assert.equal(await reasonOf(honest), undefined);

      // A deployment that was deleted and is restored goes the same way.
      const wanted = (is_wanted: number) => change("tvc_deployments", { id: restored }, { is_wanted });
      await change("tvc_deployments", { id: restored }, { deleted_at: Date.now() });
      await wanted(0);
      await looks();
      await client.result("restore_tvc_deployment", { deploymentId: restored });
      await looks();
      assert.deepEqual(running(runner), [honest.deploymentId]);
      assert.match((await reasonOf(edited[2] as Json)) ?? "", /valid approvals from 0 members/);

      // One that runs is ended when its row is changed, and runs again when that is undone.
      const id = honest.deploymentId;
      await change("tvc_deployments", { id }, { pivot_args: "[]" });
      await until(() => running(runner).length === 0, "the edited one to end");
      await change("tvc_deployments", { id }, { pivot_args: '["--greeting","hello"]' });
      await until(() => running(runner).includes(id), "it to run again");
    });

    it("tells nobody of a key whose runner ended before that was written down", async () => {
      const client = await fresh();
      await approved(client);
      const newKey = () => generateReceiver().publicKey.toString("hex");
      const [first, second] = [newKey(), newKey()];
      let current = first;
      const runner = new RunnerOfTests();
      runner.provisioningOf = () => ({ ephemeralPublicKey: current, isProvisioned: false, wrongShares: 0 });
      const mayState = Promise.withResolvers<void>();
      start(runner, {
        ask: async (request, asker) => {
          if (current === second) await mayState.promise;
          const answer = await server.opened.signer.ask(request, asker);
          current = second;
          return answer;
        },
      });
      const told = () =>
        server.opened.database.read
          .selectFrom("tvc_runs")
          .select("provisioning")
          .where("organization_id", "=", client.organizationId)
          .executeTakeFirst();
      try {
        await until(async () => (await told()) !== undefined, "the lease");
        assert.equal((await told())?.provisioning, null);
      } finally {
        mayState.resolve();
      }
      await until(async () => (await told())?.provisioning?.includes(second) ?? false, "the key of now");
    });

    if (engine === "postgres") {
      it("renews the leases of others while one organization has much to do", async () => {
        const busy = await fresh();
        const idle = await fresh();
        const ofBusy = await approved(busy);
        const ofIdle = await approved(idle);
        const runner = start();
        await until(() => running(runner).length === 2, "both to run");
        // As another server that writes for it does.
        const elsewhere = new pg.Client({ connectionString: server.databaseUrl });
        await elsewhere.connect();
        try {
          await elsewhere.query("select pg_advisory_lock(hashtextextended($1, 0))", [busy.organizationId]);
          const [before] = await leasesOf([idle.organizationId]);
          aheadMs += RENEWAL_MS;
          const renewed = async () => {
            const [lease] = await leasesOf([idle.organizationId]);
            return (lease?.leased_until ?? 0) >= (before?.leased_until ?? 0) + RENEWAL_MS;
          };
          await until(renewed, "the other lease to be renewed");
          // What cannot be said any longer is not so any longer.
          aheadMs += 2 * RENEWAL_MS;
          await until(() => running(runner).length === 1, "the lease of the busy one to end");
          assert.deepEqual(running(runner), [ofIdle.deploymentId]);
        } finally {
          await elsewhere.end();
        }
        await until(() => running(runner).includes(ofBusy.deploymentId), "the busy one to run again");
      });
    }
  });
}

/** Those of other tests that are deleted have the same program. */
const cleanUp = ({ opened: { database } }: TestServer): Promise<void> =>
  database.transact(undefined, async (tx) => {
    await tx.updateTable("tvc_deployments").set({ cleaned_up_at: Date.now() }).where("is_wanted", "=", 0).execute();
  });

/** The same database, with how many rows were read of it, and how many of them with all that a program takes. */
function countingRows(database: Database) {
  const rows = { inAll: 0, whole: 0 };
  const counter: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      rows.inAll += result.rows.length;
      rows.whole += result.rows.filter((row) => "pivot_args" in row).length;
      return result;
    },
  };
  const selectFrom = ((from: "tvc_deployments") =>
    database.read.selectFrom(from).withPlugin(counter)) as Database["read"]["selectFrom"];
  const counted: Database = { ...database, read: { ...database.read, selectFrom } };
  return { database: counted, rows };
}
