import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { parseManifest } from "../../src/crypto/manifests/manifest.ts";
import { DAY_MS, MINUTE_MS } from "../../src/kernel/durations.ts";
import { newId } from "../../src/kernel/ids.ts";
import { MAX_LISTED_TVC_DEPLOYMENTS, MAX_PAGE_BYTES, MAX_TVC_DEPLOYMENTS } from "../../src/kernel/limits.ts";
import type { Client, Json } from "../support/client.ts";
import {
  addDeployment,
  appParams,
  approvalParams,
  deploymentParams,
  hashOf,
  newDeployment,
  newOperator,
  someProgram,
} from "../support/deployments.ts";
import { digestOf, pushImage, registryOfTests } from "../support/registry.ts";
import { engines, onEachEngine, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { createWorld } from "../support/world.ts";

const UNKNOWN = "00000000-0000-7000-8000-000000000000";

/** Expects a refusal that names this, and that the database is as before for reads of the app. */
async function refused(client: Client, path: string, parameters: object, pattern: RegExp, status = 400): Promise<void> {
  const answer = await client.submit(path, parameters);
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  assert.match(answer.body.message, pattern);
}

onEachEngine("deployments", (server) => {
  const fresh = async (): Promise<Client> => (await createWorld(server())).root.client;

  it("are made with a manifest v2 that names what runs and who approves it", async () => {
    const client = await fresh();
    const operators = [newOperator("alice"), newOperator("bob")];
    const app = await newDeployment(client, operators, { app: { threshold: 2 } });
    const { tvcApp } = await client.read("get_tvc_app", { tvcAppId: app.appId });
    assert.equal(tvcApp.publicDomain, `app-${app.appId}.tvc.localhost`);
    assert.equal(tvcApp.manifestSet.threshold, 2);
    assert.equal("liveDeploymentId" in tvcApp, false);
    const { tvcDeployment } = await client.read("get_tvc_deployment", { deploymentId: app.deploymentId });
    const manifest = parseManifest(Buffer.from(tvcDeployment.manifest.manifest, "base64"));
    assert.equal(manifest.version, "v2");
    assert.equal(manifest.namespace.name, `prod/tvc/${app.appId}`);
    assert.equal(manifest.namespace.quorumKey, tvcApp.quorumPublicKey);
    assert.equal(`sha256:${manifest.pivot.hash}`, digestOf(someProgram));
    assert.deepEqual(manifest.pivot.args, ["--greeting", "hello"]);
    assert.deepEqual(manifest.pivot.bridgeConfig, [{ type: "server", port: 8080, host: "0.0.0.0" }]);
    assert.deepEqual(
      manifest.manifestSet.members,
      operators.map(({ name, publicKey }) => ({ alias: name, pubKey: publicKey })),
    );
    assert.deepEqual((await client.read("list_tvc_apps")).tvcApps, [tvcApp]);
    assert.deepEqual((await client.read("list_tvc_app_deployments", { appId: app.appId })).tvcDeployments, [
      tvcDeployment,
    ]);
  });

  it("are approved by members of the manifest set, each once, and the first to have enough is live", async () => {
    const client = await fresh();
    const [alice, bob, mallory] = [newOperator("alice"), newOperator("bob"), newOperator("mallory")];
    const app = await newDeployment(client, [alice, bob], { app: { threshold: 2 } });
    const approve = "create_tvc_manifest_approvals";
    const both = await approvalParams(client, app, [alice, bob]);
    const [ofAlice, ofBob] = both.approvals as [Json, Json];
    const { manifestId } = app;
    const hash = await hashOf(client, app.deploymentId);
    const another = Buffer.alloc(hash.length, 7);
    for (const signature of [mallory.approve(hash), alice.approve(another), bob.approve(hash), "0".repeat(128)]) {
      const asAlice = { operatorId: ofAlice.operatorId, signature };
      await refused(client, approve, { manifestId, approvals: [asAlice] }, /approvals\.0\.signature.*did not sign/);
    }
    for (const signature of ["", ofAlice.signature.slice(2), `${ofAlice.signature}00`, `0x${ofAlice.signature}`]) {
      const asAlice = { operatorId: ofAlice.operatorId, signature };
      await refused(client, approve, { manifestId, approvals: [asAlice] }, /approvals\.0\.signature.*r \|\| s/);
    }
    const elsewhere = await newDeployment(await fresh(), [alice]);
    for (const operatorId of [UNKNOWN, elsewhere.manifestSetOperatorIds[0]]) {
      const approvals = [{ operatorId, signature: ofAlice.signature }];
      await refused(client, approve, { manifestId, approvals }, /operator/, 404);
    }
    const beside = { manifestId, approvals: [ofAlice, { ...ofBob, signature: mallory.approve(hash) }] };
    await refused(client, approve, beside, /approvals\.1\.signature.*did not sign/);
    const { tvcDeployment: untouched } = await client.read("get_tvc_deployment", { deploymentId: app.deploymentId });
    assert.deepEqual(untouched.manifestApprovals, []);
    const stranger = { operatorId: app.shareSetOperatorIds[0], signature: ofAlice.signature };
    await refused(
      client,
      approve,
      { manifestId, approvals: [stranger] },
      /approvals\.0\.operatorId.*not in the manifest set/,
    );
    await refused(client, approve, { manifestId, approvals: [ofAlice, ofAlice] }, /approvals\.1\.operatorId.*already/);
    await refused(client, approve, { manifestId: UNKNOWN, approvals: [ofAlice] }, /TVC manifest/, 404);

    await client.result(approve, { manifestId, approvals: [ofAlice] });
    await refused(client, approve, { manifestId, approvals: [ofAlice] }, /already/);
    assert.equal("liveDeploymentId" in (await client.read("get_tvc_app", { tvcAppId: app.appId })).tvcApp, false);
    await client.result(approve, { manifestId, approvals: [ofBob] });
    const { tvcApp } = await client.read("get_tvc_app", { tvcAppId: app.appId });
    assert.equal(tvcApp.liveDeploymentId, app.deploymentId);
    const { tvcDeployment } = await client.read("get_tvc_deployment", { deploymentId: app.deploymentId });
    assert.deepEqual(
      tvcDeployment.manifestApprovals.map(({ operator, approval }: Json) => [operator.name, approval]),
      [
        ["alice", Buffer.from(ofAlice.signature, "hex").toString("base64")],
        ["bob", Buffer.from(ofBob.signature, "hex").toString("base64")],
      ],
    );
  });

  it("say that nothing is ready where no server runs them, and are not made live then", async () => {
    const client = await fresh();
    const alice = newOperator();
    const app = await newDeployment(client, [alice]);
    await client.result("create_tvc_manifest_approvals", await approvalParams(client, app, [alice]));
    const second = await addDeployment(client, app, [alice]);
    const { appStatus } = await client.read("get_app_status", { appId: app.appId });
    assert.equal(appStatus.targetedDeploymentId, app.deploymentId);
    assert.deepEqual(
      appStatus.deployments.map(({ readyReplicas, desiredReplicas }: Json) => [readyReplicas, desiredReplicas]),
      [
        [0, 3],
        [0, 3],
      ],
    );
    const { deploymentId } = second;
    await refused(client, "set_tvc_app_live_deployment", { deploymentId }, /no server runs it.*runner/);
  });

  it("refuse operator sets that cannot be, and make none twice", async () => {
    const client = await fresh();
    const [alice, bob] = [newOperator("alice"), newOperator("bob")];
    const params = appParams([alice, bob]);
    const withSet = (change: object) => ({ ...params, manifestSetParams: { ...params.manifestSetParams, ...change } });
    const create = "create_tvc_app";
    for (const set of ["manifestSetParams", "shareSetParams"] as const) {
      const withThreshold = (threshold: unknown) => ({ ...params, [set]: { ...params[set], threshold } });
      const field = `parameters\\.${set}\\.threshold`;
      for (const threshold of [3, 50]) {
        await refused(
          client,
          create,
          withThreshold(threshold),
          new RegExp(`${field}.*more than the number of operators, 2`),
        );
      }
      for (const threshold of [0, -1, 1.5, 51, 2 ** 31, 2 ** 32, 2 ** 53, 1e30, "2", "1e3", null]) {
        await refused(client, create, withThreshold(threshold), new RegExp(field));
      }
    }
    await refused(client, create, withSet({ newOperators: [] }), /1 to 50 operators/);
    const [operator] = params.manifestSetParams.newOperators;
    await refused(client, create, withSet({ newOperators: [operator, operator] }), /same signing key twice/);
    const otherEncryption = newOperator().publicKey.slice(0, 130) + operator.publicKey.slice(130);
    const sameSigner = { name: "x", publicKey: otherEncryption };
    await refused(client, create, withSet({ newOperators: [operator, sameSigner] }), /same signing key twice/);
    const offCurve = { name: "x", publicKey: `04${"11".repeat(64)}${operator.publicKey.slice(130)}` };
    await refused(client, create, withSet({ newOperators: [offCurve] }), /newOperators\.0\.publicKey.*points of P-256/);
    const many = Array.from({ length: 51 }, (_, index) => ({ name: `o${index}`, publicKey: operator.publicKey }));
    await refused(client, create, withSet({ newOperators: many }), /newOperators/);
    const alone = { ...params.shareSetParams, threshold: 1 };
    await refused(client, create, { ...params, shareSetParams: alone }, /shareSetParams\.threshold.*at least 2/);
    await refused(client, create, { ...params, manifestSetId: UNKNOWN }, /both given/);
    const { manifestSetParams: _, ...without } = params;
    await refused(client, create, without, /both missing/);
    await refused(client, create, { ...without, manifestSetId: UNKNOWN }, /operator set/, 404);
    assert.deepEqual((await client.read("list_tvc_operators")).tvcOperators, []);
    assert.deepEqual((await client.read("list_tvc_apps")).tvcApps, []);

    const first = await client.result(create, params);
    const again = await client.result(create, { ...params, name: "another" });
    assert.equal(again.manifestSetId, first.manifestSetId);
    assert.deepEqual(again.manifestSetOperatorIds, first.manifestSetOperatorIds);
    const named = { ...without, manifestSetId: first.manifestSetId, name: "a third" };
    assert.equal((await client.result(create, named)).manifestSetId, first.manifestSetId);
    assert.equal((await client.read("list_tvc_operators")).tvcOperators.length, 4);
  });

  it("refuse images, programs and versions that cannot be", async () => {
    const client = await fresh();
    const { appId } = await client.result(
      "create_tvc_app",
      appParams([newOperator()], { enableDebugModeDeployments: false }),
    );
    const params = await deploymentParams(appId, someProgram);
    const create = "create_tvc_deployment";
    const { host } = await registryOfTests();
    const references = [
      "",
      "https://registry.example.com/app",
      "registry.example.com/App",
      "registry.example.com/app:",
      "registry.example.com/app@sha256:00",
      `registry.example.com/app@sha256:${"A".repeat(64)}`,
      "registry.example.com/../app",
      "registry.example.com:port/app",
      "registry.example.com:65536/app",
      "1.2.3.256/app",
      "[:::]/app",
      "a b/c",
      "registry.example.com/app@",
      "/app",
      "a".repeat(600),
      `registry.example.com/app@sha512:${"0".repeat(128)}`,
      `registry.example.com/app@sha256:${"0".repeat(63)}`,
      `registry.example.com/app@sha256:${"0".repeat(64)}@sha256:${"0".repeat(64)}`,
      `registry.example.com/app:${"t".repeat(129)}`,
      "registry.example.com/app:.1",
      "registry.example.com/app:1:2",
      "registry.example.com",
      "registry.example.com/",
      "registry.example.com/team//app",
      "registry.example.com/app/",
      "registry.example.com/-app",
      "registry.example.com/%2e%2e/app",
      "registry.example.com/app?a=b",
      "registry.example.com/app#b",
      "registry.example.com/app\n",
      "registry.example.com/\u00e4pp",
      "user:password@registry.example.com/app",
      "-registry.example.com/app",
      "registry..example.com/app",
      "file:///usr/local/bin/app",
    ];
    for (const pivotContainerImageUrl of references) {
      await refused(client, create, { ...params, pivotContainerImageUrl }, /pivotContainerImageUrl/);
      const looked = await client.query("validate_tvc_image", { pivotContainerImageUrl });
      assert.equal(looked.status, 400, pivotContainerImageUrl);
      assert.match(looked.body.message, /pivotContainerImageUrl/);
    }
    const missing = `${host}/team/app@sha256:${"0".repeat(64)}`;
    await refused(client, create, { ...params, pivotContainerImageUrl: missing }, /no manifests of that name/);
    const bad = {
      qosVersion: "v9",
      pivotPath: "usr/bin/app",
      expectedPivotDigest: "00",
      healthCheckPort: 0,
      publicIngressPort: 65_536,
      replicas: 11,
      pivotArgs: Array.from({ length: 17 }, () => "x".repeat(1000)),
      nonce: 2 ** 32,
      healthCheckType: "TVC_HEALTH_CHECK_TYPE_ICMP",
      pivotContainerEncryptedPullSecret: "00",
    };
    for (const [field, value] of Object.entries(bad)) {
      await refused(client, create, { ...params, [field]: value }, new RegExp(`parameters.${field}`));
    }
    await refused(client, create, { ...params, debugMode: true }, /enableDebugModeDeployments/);
    await refused(client, create, { ...params, appId: UNKNOWN }, /TVC app/, 404);
    assert.deepEqual((await client.read("list_tvc_app_deployments", { appId })).tvcDeployments, []);
  });

  it("look images up in their registry, and say why they cannot be used", async () => {
    const client = await fresh();
    const registry = await registryOfTests();
    const image = await pushImage([[{ name: "app", content: someProgram }]], { repository: "looked/up", tag: "2" });
    const validate = (pivotContainerImageUrl: string) => client.query("validate_tvc_image", { pivotContainerImageUrl });
    for (const reference of [image.byTag, image.byDigest]) {
      assert.deepEqual((await validate(reference)).body, { resolvedImageDigest: image.digest });
    }
    registry.answer("/looked/up/", (_, response) => response.writeHead(200).end("{}"));
    const swapped = await validate(image.byDigest);
    assert.equal(swapped.status, 400);
    assert.match(swapped.body.message, /does not have the digest/);
    assert.equal(swapped.body.turnkeyErrorCode, "TVC_IMAGE_VALIDATION_FAILED");
    registry.answer("/looked/up/", (_, response) => response.writeHead(401).end());
    assert.match((await validate(image.byTag)).body.message, /encrypt a pull secret for it/);
    registry.answer("/looked/up/", undefined);
  });

  it("keep the live one, and end with their app for good", async () => {
    const client = await fresh();
    const alice = newOperator();
    const app = await newDeployment(client, [alice]);
    await client.result("create_tvc_manifest_approvals", await approvalParams(client, app, [alice]));
    const second = await addDeployment(client, app, [alice]);
    const { deploymentId } = app;
    await refused(client, "delete_tvc_deployment", { deploymentId }, /is the live one/);
    await client.result("delete_tvc_app_and_deployments", { appId: app.appId });
    const { read } = server().opened.database;
    const jobs = await read
      .selectFrom("jobs")
      .select(["run_at", "payload"])
      .where("kind", "=", "clean_up_tvc_deployment")
      .where("organization_id", "=", client.organizationId)
      .execute();
    // Unless the configuration says otherwise.
    const afterMs = jobs.map(({ run_at, payload }) => run_at - JSON.parse(payload).deletedAt);
    assert.deepEqual(afterMs, [DAY_MS, DAY_MS]);
    for (const id of [deploymentId, second.deploymentId]) {
      const { tvcDeployment } = await client.read("get_tvc_deployment", { deploymentId: id });
      assert.equal(tvcDeployment.delete, true);
      await refused(client, "restore_tvc_deployment", { deploymentId: id }, /the app .* was deleted/);
    }
    assert.deepEqual((await client.read("list_tvc_apps")).tvcApps, []);
    assert.equal((await client.read("get_tvc_app", { tvcAppId: app.appId })).tvcApp.id, app.appId);
    await refused(client, "delete_tvc_app_and_deployments", { appId: app.appId }, /was deleted/);
    await refused(client, "create_tvc_deployment", await deploymentParams(app.appId, someProgram), /was deleted/);
  });

  it("are listed as far as one answer holds them, the newest first", async () => {
    const client = await fresh();
    const app = await newDeployment(client, [newOperator()]);
    const { organizationId } = client;
    const manifest = "x".repeat(MAX_PAGE_BYTES / 16);
    const ids = Array.from({ length: 20 }, () => newId());
    await server().opened.database.transact(organizationId, async (tx) => {
      const row = await tx
        .selectFrom("tvc_deployments")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("id", "=", app.deploymentId)
        .executeTakeFirstOrThrow();
      const copies = ids.map((id) => ({ ...row, id, manifest_id: newId(), manifest }));
      await tx.insertInto("tvc_deployments").values(copies).execute();
    });
    const { tvcDeployments } = await client.read("list_tvc_app_deployments", { appId: app.appId });
    const listed = tvcDeployments.map(({ id }: Json) => id);
    assert.deepEqual(listed, ids.toReversed().slice(0, listed.length));
    assert.ok(listed.length > 1 && listed.length < ids.length, String(listed.length));
    assert.ok(JSON.stringify(tvcDeployments).length <= MAX_PAGE_BYTES);
    await server().opened.database.transact(organizationId, (tx) =>
      tx
        .updateTable("tvc_deployments")
        .set({ manifest: "x".repeat(MAX_PAGE_BYTES) })
        .where("id", "=", ids.at(-1) as string)
        .execute(),
    );
    const alone = (await client.read("list_tvc_app_deployments", { appId: app.appId })).tvcDeployments;
    assert.deepEqual(
      alone.map(({ id }: Json) => id),
      ids.slice(-1),
    );
  });

  it("are all there for the rules, however many newer ones there are", async () => {
    const client = await fresh();
    const alice = newOperator();
    const app = await newDeployment(client, [alice]);
    await client.result("create_tvc_manifest_approvals", await approvalParams(client, app, [alice]));
    await server().opened.database.transact(client.organizationId, async (tx) => {
      const row = await tx
        .selectFrom("tvc_deployments")
        .selectAll()
        .where("organization_id", "=", client.organizationId)
        .where("id", "=", app.deploymentId)
        .executeTakeFirstOrThrow();
      const copy = (changes: object) => ({ ...row, id: newId(), manifest_id: newId(), is_wanted: 0, ...changes });
      const open = Array.from({ length: MAX_TVC_DEPLOYMENTS - 1 }, () => copy({ approved_at: null }));
      const times = { deleted_at: row.created_at, cleaned_up_at: row.created_at };
      const gone = Array.from({ length: MAX_LISTED_TVC_DEPLOYMENTS }, () => copy(times));
      await tx
        .insertInto("tvc_deployments")
        .values([...open, ...gone])
        .execute();
    });
    const { appId, deploymentId } = app;
    const { tvcDeployments } = await client.read("list_tvc_app_deployments", { appId });
    const ids = tvcDeployments.map(({ id }: Json) => id);
    assert.equal(ids.length, MAX_LISTED_TVC_DEPLOYMENTS);
    assert.deepEqual(ids, ids.toSorted().reverse());
    assert.ok(tvcDeployments.every((each: Json) => each.delete));
    const { deployments } = (await client.read("get_app_status", { appId })).appStatus;
    assert.equal(deployments.length, MAX_TVC_DEPLOYMENTS);
    assert.equal(deployments.at(-1).deploymentId, deploymentId);
    const params = await deploymentParams(appId, someProgram);
    await refused(client, "create_tvc_deployment", params, /not cleaned up/, 429);
    await client.result("delete_tvc_app_and_deployments", { appId });
    assert.equal((await client.read("get_tvc_deployment", { deploymentId })).tvcDeployment.delete, true);
  });

  it("have operators whose keys are accounts of a wallet, and who sign with them", async () => {
    const client = await fresh();
    const path = "m/5527107'/0'/0'";
    const made = await client.result("create_tvc_operator", { walletName: "operators", path, operatorName: "hosted" });
    const { walletId, operatorId, encryptPublicKey, signPublicKey } = made;
    const { accounts } = await client.read("list_wallet_accounts", { walletId });
    assert.deepEqual(
      accounts.map((account: Json) => [account.path, account.address]),
      [
        [`${path}/0'`, encryptPublicKey],
        [`${path}/1'`, signPublicKey],
      ],
    );
    const taken = { walletId, path, operatorName: "again" };
    await refused(client, "create_tvc_operator", taken, /path/, 409);
    await refused(client, "create_tvc_operator", { path, operatorName: "x" }, /walletId.*give exactly one of them/);
    await refused(client, "create_tvc_operator", { ...taken, path: "m/x" }, /path/);
    const further = { walletId, path: "m/5527107'/0'/1'", operatorName: "further" };
    assert.equal((await client.result("create_tvc_operator", further)).walletId, walletId);

    // Whoever deletes its accounts and has it made again gets the one that is there.
    const ids = accounts.map(({ walletAccountId }: Json) => walletAccountId);
    await client.result("delete_wallet_accounts", { walletAccountIds: ids, deleteWithoutExport: true });
    const again = await client.result("create_tvc_operator", { walletId, path, operatorName: "hosted" });
    assert.deepEqual(again, made);
    const { tvcOperators } = await client.read("list_tvc_operators");
    assert.deepEqual(tvcOperators.map(({ name }: Json) => name).sort(), ["further", "hosted"]);

    const set = { name: "hosted", existingOperatorIds: [operatorId], threshold: 1 };
    const app = await newDeployment(client, [newOperator()], { app: { manifestSetParams: set } });
    const payload = (await hashOf(client, app.deploymentId)).toString("hex");
    const { r, s } = await client.result("sign_raw_payload", {
      signWith: signPublicKey,
      payload,
      encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
      hashFunction: "HASH_FUNCTION_SHA256",
    });
    const approvals = [{ operatorId, signature: `${r}${s}` }];
    await client.result("create_tvc_manifest_approvals", { manifestId: app.manifestId, approvals });
    const { tvcApp } = await client.read("get_tvc_app", { tvcAppId: app.appId });
    assert.equal(tvcApp.liveDeploymentId, app.deploymentId);
    assert.equal(tvcApp.manifestSet.operators[0].keySource, "ORG_WALLET_ACCOUNT");
  });
});

for (const engine of engines) {
  describe(`the clean-up of deployments (${engine})`, () => {
    let server: TestServer;
    let aheadMs = 0;
    before(async () => {
      server = await startTestServer(engine, {
        clock: () => Date.now() + aheadMs,
        tvc: { cleanUpAfterHours: 0.200_000_1 },
      });
    });
    after(() => server.close());

    it("ends the time in which a deleted deployment can be restored", async () => {
      const client = (await createWorld(server)).root.client;
      const alice = newOperator();
      const app = await newDeployment(client, [alice]);
      await client.result("create_tvc_manifest_approvals", await approvalParams(client, app, [alice]));
      const { deploymentId } = await addDeployment(client, app, [alice]);
      const isDeleted = async () => (await client.read("get_tvc_deployment", { deploymentId })).tvcDeployment.delete;
      const isWaiting = async () => {
        const jobs = await server.opened.database.read
          .selectFrom("jobs")
          .select("run_at")
          .where("kind", "=", "clean_up_tvc_deployment")
          .execute();
        return jobs.some(({ run_at }) => run_at <= Date.now() + aheadMs);
      };
      const restore = "restore_tvc_deployment";
      await refused(client, restore, { deploymentId }, /was not deleted/);
      await refused(client, restore, { deploymentId: UNKNOWN }, /TVC deployment/, 404);
      await client.result("delete_tvc_deployment", { deploymentId });
      assert.equal(await isDeleted(), true);
      await refused(client, "delete_tvc_deployment", { deploymentId }, /was deleted/);
      assert.deepEqual(await client.result(restore, { deploymentId }), { deploymentId });
      assert.equal(await isDeleted(), false);
      const rowOf = () =>
        server.opened.database.read
          .selectFrom("tvc_deployments")
          .select("sealed_pull_secret")
          .where("organization_id", "=", client.organizationId)
          .where("id", "=", deploymentId)
          .executeTakeFirstOrThrow();
      await server.opened.database.transact(client.organizationId, async (tx) => {
        await tx
          .updateTable("tvc_deployments")
          .set({ sealed_pull_secret: "{}" })
          .where("organization_id", "=", client.organizationId)
          .where("id", "=", deploymentId)
          .execute();
      });

      // The clean-up of the first deletion comes due, and must leave what was deleted again after it.
      aheadMs += 9 * MINUTE_MS;
      await client.result("delete_tvc_deployment", { deploymentId });
      aheadMs += 6 * MINUTE_MS;
      await until(async () => !(await isWaiting()), "the first clean-up to have run");
      await client.result(restore, { deploymentId });
      assert.equal(await isDeleted(), false);
      assert.equal((await rowOf()).sealed_pull_secret, "{}");

      await client.result("delete_tvc_deployment", { deploymentId });
      aheadMs += 15 * MINUTE_MS;
      await until(async () => !(await isWaiting()), "the clean-up to have run");
      await refused(client, restore, { deploymentId }, /cleaned up, and cannot be restored/);
      assert.equal(await isDeleted(), true);
      // Nothing fetches its program any more.
      assert.equal((await rowOf()).sealed_pull_secret, null);
    });
  });
}
