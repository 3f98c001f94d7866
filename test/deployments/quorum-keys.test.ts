import assert from "node:assert/strict";
import { createHash, createPublicKey, randomBytes, verify } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { quorumKeyEncrypt } from "@turnkey/crypto";
import { judgeApprovals } from "../../src/crypto/manifests/approvals.ts";
import { parseEnvelope } from "../../src/crypto/manifests/manifest.ts";
import { quorumPublicKeyOf } from "../../src/crypto/manifests/quorum-keys.ts";
import { p256Jwk } from "../../src/crypto/verify-signature.ts";
import { canonicalJson } from "../../src/kernel/json.ts";
import type { Client, Json } from "../support/client.ts";
import {
  appParams,
  approvalParams,
  deploymentParams,
  hashOf,
  hostedOperator,
  newOperator,
  someProgram,
} from "../support/deployments.ts";
import { reservePort, usersOfTests } from "../support/ports.ts";
import { httpProgram, parentOf, programFolder, requestAs } from "../support/program.ts";
import { httpSdk, type Sdk } from "../support/sdk.ts";
import { onEachEngine, oneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { createWorld } from "../support/world.ts";

const UNKNOWN = "00000000-0000-7000-8000-000000000000";
const AWAITING = "PROVISIONING_STATE_AWAITING_PROVISION";
const PROVISIONED = "PROVISIONING_STATE_PROVISIONED";

/** An operator whose keys are elsewhere, as the organization knows them: by an app that names them. */
async function known(client: Client, operator = newOperator("carol")): Promise<Json> {
  const { manifestSetOperatorIds } = await client.result("create_tvc_app", appParams([operator]));
  return { ...operator, operatorId: manifestSetOperatorIds[0], encryptPublicKey: operator.publicKey.slice(0, 130) };
}

/** An app whose share set is these operators. */
const appWith = (client: Client, quorumPublicKey: string, operators: Json[], approver = newOperator(), threshold = 2) =>
  client.result("create_tvc_app", {
    ...appParams([approver]),
    quorumPublicKey,
    shareSetParams: { name: "holders", existingOperatorIds: operators.map(({ operatorId }) => operatorId), threshold },
  });

async function refused(client: Client, path: string, parameters: object, pattern: RegExp, status = 400): Promise<void> {
  const answer = await client.submit(path, parameters);
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  assert.match(answer.body.message, pattern);
}

for (const engine of oneEngine("postgres")) {
  describe(`the quorum key of an app (${engine})`, () => {
    const folder = programFolder();
    const approver = newOperator("approver");
    let server: TestServer;
    let client: Client;
    let sdk: Sdk;
    let holders: [Json, Json, Json];
    let key: Json;
    let deployment: Json;

    before(async () => {
      server = await startTestServer(engine, {
        tvc: { runner: "local", directory: folder.directory, ...(await usersOfTests()) },
      });
      client = (await createWorld(server)).root.client;
      sdk = httpSdk({ baseUrl: server.baseUrl, organizationId: client.organizationId, key: client.key });
      holders = [await hostedOperator(client, "alice"), await hostedOperator(client, "bob"), await known(client)];
    });
    after(async () => {
      await server.close();
      folder.remove();
    });

    const detailsOf = ({ deploymentId }: Json): Promise<Json> =>
      sdk.read("get_tvc_deployment_provisioning_details", { deploymentId });
    const untilState = (wanted: string) =>
      until(async () => (await detailsOf(deployment)).provisioningState === wanted, `the state ${wanted}`);
    const documentOf = async (): Promise<Json> =>
      JSON.parse(Buffer.from((await detailsOf(deployment)).attestationDocument, "base64").toString());
    /** As the holder with keys elsewhere hands it in: encrypted with the published client. */
    const posted = async (share: string, ephemeralPublicKeyHex: string): Promise<Json> => {
      const [, , carol] = holders;
      const target = Buffer.from(ephemeralPublicKeyHex, "hex");
      const envelope = await quorumKeyEncrypt(target, Buffer.from(share, "hex"));
      return {
        deploymentId: deployment.deploymentId,
        ephemeralPublicKeyHex,
        shareApprovalBundle: {
          operatorId: carol.operatorId,
          reEncryptedShareHex: Buffer.from(envelope).toString("hex"),
          signature: carol.approve(await hashOf(client, deployment.deploymentId)),
        },
      };
    };
    const shareOfCarol = async (): Promise<string> => {
      const { tvcQuorumKeys } = await sdk.read("list_tvc_quorum_keys");
      const [, , carol] = holders;
      const { encryptedShare } = tvcQuorumKeys[0].shares.find((each: Json) => each.operatorId === carol.operatorId);
      return carol.openShare(encryptedShare);
    };
    const reEncryption = async ({ encryptPublicKey, signPublicKey }: Json, more: object = {}): Promise<Json> => {
      const { tvcDeployment } = await client.read("get_tvc_deployment", { deploymentId: deployment.deploymentId });
      return {
        attestationDocB64: (await detailsOf(deployment)).attestationDocument,
        manifestB64: tvcDeployment.manifest.manifest,
        operatorEncryptKey: encryptPublicKey,
        operatorSignKey: signPublicKey,
        deploymentId: deployment.deploymentId,
        appQuorumKey: key.quorumPublicKey,
        ...more,
      };
    };
    const ask = () =>
      requestAs(server.baseUrl, `app-${deployment.appId}.tvc.localhost`, "/").catch(() => ({ status: 0, body: {} }));

    it("is shared among its operators, each share for one of them", async () => {
      const operatorEncryptKeys = holders.map(({ encryptPublicKey }) => encryptPublicKey);
      const { result } = await sdk.submit("create_tvc_quorum_key", { threshold: 2, operatorEncryptKeys });
      key = result;
      assert.equal(key.shareIds.length, 3);
      assert.match(key.quorumPublicKey, /^04[0-9a-f]{128}04[0-9a-f]{128}$/);
      const { tvcQuorumKeys } = await sdk.read("list_tvc_quorum_keys");
      assert.deepEqual(
        tvcQuorumKeys.map(({ id, publicKey, threshold, operatorIds }: Json) => ({
          id,
          publicKey,
          threshold,
          operatorIds,
        })),
        [
          {
            id: key.quorumKeyId,
            publicKey: key.quorumPublicKey,
            threshold: 2,
            operatorIds: holders.map(({ operatorId }) => operatorId),
          },
        ],
      );
      assert.deepEqual(
        tvcQuorumKeys[0].shares.map(({ shareId }: Json) => shareId),
        key.shareIds,
      );
      const opened = tvcQuorumKeys[0].shares.map(({ encryptedShare }: Json) => holders[2].openShare(encryptedShare));
      assert.deepEqual(opened.slice(0, 2), [undefined, undefined]);
      assert.match(opened[2], /^03[0-9a-f]{64}$/);
    });

    it("is what a program waits for, and its runner asks for with a key that the installation states", async () => {
      const app = await appWith(client, key.quorumPublicKey, holders, approver);
      const port = await reservePort();
      const params = await deploymentParams(app.appId, httpProgram(folder.node, "keyed"), {
        healthCheckPort: port,
        publicIngressPort: port,
        replicas: 1,
      });
      deployment = { ...app, ...(await client.result("create_tvc_deployment", params)) };
      assert.deepEqual(await detailsOf(deployment), { provisioningState: "PROVISIONING_STATE_PENDING" });
      const early = await posted(await shareOfCarol(), holders[0].encryptPublicKey);
      await refused(client, "post_tvc_quorum_key_share", early, /no runner has started it yet/);
      await client.result("create_tvc_manifest_approvals", await approvalParams(client, deployment, [approver]));
      await untilState(AWAITING);
      assert.equal((await ask()).status, 503);
      const { appStatus } = await client.read("get_app_status", { appId: deployment.appId });
      assert.deepEqual(
        appStatus.deployments.map(({ readyReplicas, provisioningState }: Json) => [readyReplicas, provisioningState]),
        [[0, AWAITING]],
      );

      const { publicKey, signature, ...stated } = await documentOf();
      const published = (await (await fetch(`${server.baseUrl}/.well-known/keystead.json`)).json()) as Json;
      assert.ok(JSON.stringify(published.serviceKeys.boot).includes(publicKey));
      const text = canonicalJson({ type: "KEYSTEAD_DEPLOYMENT_PROVISIONING", ...stated });
      const signer = createPublicKey({ key: p256Jwk(publicKey), format: "jwk" });
      const signed = { key: signer, dsaEncoding: "ieee-p1363" } as const;
      assert.ok(verify("sha256", Buffer.from(text), signed, Buffer.from(signature, "hex")));
      assert.equal(stated.deploymentId, deployment.deploymentId);
      assert.equal(stated.manifestHash, (await hashOf(client, deployment.deploymentId)).toString("hex"));

      const envelope = Buffer.from((await detailsOf(deployment)).manifestEnvelope, "base64");
      assert.ok(judgeApprovals(parseEnvelope(envelope)).reached);
    });

    it("is not made of shares that are wrong, of strangers, or for another key", async () => {
      const post = "post_tvc_quorum_key_share";
      const { ephemeralPublicKey } = await documentOf();
      const right = await posted(await shareOfCarol(), ephemeralPublicKey);
      const [alice, bob, carol] = holders;
      const withBundle = (change: object) => ({
        ...right,
        shareApprovalBundle: { ...right.shareApprovalBundle, ...change },
      });
      await refused(
        client,
        post,
        { ...right, ephemeralPublicKeyHex: alice.encryptPublicKey },
        /ephemeralPublicKeyHex.*not the key of/,
      );
      await refused(client, post, { ...right, ephemeralPublicKeyHex: "04" }, /ephemeralPublicKeyHex/);
      await refused(client, post, { ...right, deploymentId: UNKNOWN }, /TVC deployment/, 404);
      await refused(client, post, withBundle({ operatorId: UNKNOWN }), /operator/, 404);
      await refused(client, post, withBundle({ operatorId: bob.operatorId }), /signature.*not the operator's/);
      const [stranger] = deployment.manifestSetOperatorIds;
      await refused(client, post, withBundle({ operatorId: stranger }), /operatorId.*not in the share set/);
      await refused(
        client,
        post,
        withBundle({ signature: carol.approve(randomBytes(32)) }),
        /signature.*not the operator's/,
      );
      await refused(client, post, withBundle({ signature: "00" }), /signature/);
      await refused(client, post, withBundle({ reEncryptedShareHex: "00" }), /reEncryptedShareHex/);

      const reEncrypt = "re_encrypt_tvc_quorum_key_share";
      const wrong = Buffer.from("{}").toString("base64");
      await refused(
        client,
        reEncrypt,
        await reEncryption(alice, { attestationDocB64: wrong }),
        /attestationDocB64.*not the current document/,
      );
      await refused(
        client,
        reEncrypt,
        await reEncryption(alice, { manifestB64: wrong }),
        /manifestB64.*not the deployment's/,
      );
      await refused(
        client,
        reEncrypt,
        await reEncryption(alice, { appQuorumKey: newOperator().publicKey }),
        /appQuorumKey/,
      );
      await refused(
        client,
        reEncrypt,
        await reEncryption(alice, { operatorSignKey: bob.signPublicKey }),
        /operatorSignKey/,
      );
      await refused(
        client,
        reEncrypt,
        await reEncryption({ encryptPublicKey: carol.encryptPublicKey, signPublicKey: carol.publicKey.slice(130) }),
        /operatorEncryptKey.*not an account of a wallet here/,
      );
      const { shareSetApprovals } = parseEnvelope(
        Buffer.from((await detailsOf(deployment)).manifestEnvelope, "base64"),
      );
      assert.deepEqual(shareSetApprovals, []);
    });

    it("is made by the runner of enough of them, and handed to the program", async () => {
      const { ephemeralPublicKey } = await documentOf();
      const { result } = await sdk.submit("re_encrypt_tvc_quorum_key_share", await reEncryption(holders[0]));
      // What is no share of the key counts for nothing, and whoever handed it in can do so again.
      const garbage = `03${randomBytes(32).toString("hex")}`;
      const first = await sdk.submit("post_tvc_quorum_key_share", await posted(garbage, ephemeralPublicKey));
      assert.notEqual(first.result.provisioningShareId, result.provisioningShareId);
      const envelope = parseEnvelope(Buffer.from((await detailsOf(deployment)).manifestEnvelope, "base64"));
      assert.deepEqual(envelope.shareSetApprovals.map(({ member }) => member.alias).sort(), ["alice", "carol"]);
      await until(() => server.log().includes('"wrongShares":1'), "the wrong share to be told");
      assert.equal((await detailsOf(deployment)).provisioningState, AWAITING);

      await sdk.submit("post_tvc_quorum_key_share", await posted(await shareOfCarol(), ephemeralPublicKey));
      await untilState(PROVISIONED);
      await until(async () => (await ask()).status === 201, "the program to answer");
      const { body } = await ask();
      assert.equal(quorumPublicKeyOf(Buffer.from(body.quorumKey, "hex")), key.quorumPublicKey);
      assert.ok(!body.environment.some((name: string) => /KEY/.test(name)));
      const { publicKey, ...rest } = await detailsOf(deployment);
      assert.deepEqual(rest, { provisioningState: PROVISIONED });
      await refused(
        client,
        "re_encrypt_tvc_quorum_key_share",
        await reEncryption(holders[1], { attestationDocB64: "e30=" }),
        /already has the quorum key/,
      );

      // A program that ends is started again with it.
      await requestAs(server.baseUrl, `app-${deployment.appId}.tvc.localhost`, "/end").catch(() => undefined);
      await until(async () => {
        const again = await ask();
        return again.status === 201 && again.body.pid !== body.pid && again.body.quorumKey === body.quorumKey;
      }, "the program to be back");
    });

    it("ends with its runner, and the next one asks for it anew, with another key", async () => {
      const before = (await ask()).body;
      process.kill(parentOf(before.pid), "SIGKILL");
      await untilState(AWAITING);
      assert.equal((await ask()).status, 503);
      for (const holder of holders.slice(0, 2)) {
        await sdk.submit("re_encrypt_tvc_quorum_key_share", await reEncryption(holder));
      }
      await untilState(PROVISIONED);
      await until(async () => (await ask()).body.quorumKey === before.quorumKey, "the program to be back");
    });
  });
}

onEachEngine("quorum keys", (server) => {
  const fresh = async (): Promise<Client> => (await createWorld(server())).root.client;

  it("are refused where nobody could use them, or one alone", async () => {
    const client = await fresh();
    const [alice, bob] = [await hostedOperator(client, "alice"), await hostedOperator(client, "bob")];
    const create = "create_tvc_quorum_key";
    const keys = [alice.encryptPublicKey, bob.encryptPublicKey];
    const offCurve = `04${"11".repeat(64)}`;
    await refused(client, create, { threshold: 1, operatorEncryptKeys: keys }, /threshold/);
    await refused(client, create, { threshold: 0, operatorEncryptKeys: keys }, /threshold/);
    await refused(
      client,
      create,
      { threshold: 3, operatorEncryptKeys: keys },
      /threshold.*more than the number of operators, 2/,
    );
    await refused(client, create, { threshold: 1e30, operatorEncryptKeys: keys }, /threshold/);
    await refused(client, create, { threshold: 2, operatorEncryptKeys: [] }, /operatorEncryptKeys/);
    await refused(
      client,
      create,
      { threshold: 2, operatorEncryptKeys: [keys[0], keys[0]] },
      /operatorEncryptKeys\.1.*already/,
    );
    await refused(
      client,
      create,
      { threshold: 2, operatorEncryptKeys: [keys[0], offCurve] },
      /operatorEncryptKeys\.1.*point of P-256/,
    );
    await refused(client, create, { threshold: 2, operatorEncryptKeys: [keys[0], "02ab"] }, /operatorEncryptKeys\.1/);
    const strange = newOperator().publicKey.slice(0, 130);
    await refused(
      client,
      create,
      { threshold: 2, operatorEncryptKeys: [keys[0], strange] },
      /operatorEncryptKeys\.1.*not the encryption key of an operator/,
    );
    const many = Array.from({ length: 51 }, () => newOperator().publicKey.slice(0, 130));
    await refused(client, create, { threshold: 2, operatorEncryptKeys: many }, /operatorEncryptKeys/);
    assert.deepEqual((await client.read("list_tvc_quorum_keys")).tvcQuorumKeys, []);
  });

  it("bind the share set of their app, and are another one each time", async () => {
    const client = await fresh();
    const [alice, bob, eve] = [
      await hostedOperator(client, "alice"),
      await hostedOperator(client, "bob"),
      await hostedOperator(client, "eve"),
    ];
    const params = { threshold: 2, operatorEncryptKeys: [alice.encryptPublicKey, bob.encryptPublicKey] };
    const made = await client.result("create_tvc_quorum_key", params);
    const again = await client.result("create_tvc_quorum_key", params);
    assert.notEqual(made.quorumPublicKey, again.quorumPublicKey);
    await assert.rejects(appWith(client, made.quorumPublicKey, [alice, eve]), /exactly the operators/);
    await assert.rejects(appWith(client, made.quorumPublicKey, [alice, bob, eve]), /exactly the operators/);
    await assert.rejects(
      appWith(client, made.quorumPublicKey, [alice, bob, eve], newOperator(), 3),
      /threshold 3.*has 2/,
    );
    const { appId } = await appWith(client, made.quorumPublicKey.toUpperCase(), [bob, alice]);
    assert.equal((await client.read("get_tvc_app", { tvcAppId: appId })).tvcApp.quorumPublicKey, made.quorumPublicKey);
  });

  it("from elsewhere leave their programs without one", async () => {
    const client = await fresh();
    const carol = await known(client);
    const { appId } = await client.result("create_tvc_app", appParams([newOperator()]));
    const { deploymentId } = await client.result("create_tvc_deployment", await deploymentParams(appId, someProgram));
    assert.deepEqual(await client.read("get_tvc_deployment_provisioning_details", { deploymentId }), {});
    const parameters = {
      deploymentId,
      ephemeralPublicKeyHex: carol.encryptPublicKey,
      shareApprovalBundle: {
        operatorId: carol.operatorId,
        reEncryptedShareHex: "00".repeat(130),
        signature: carol.approve(createHash("sha256").digest()),
      },
    };
    await refused(client, "post_tvc_quorum_key_share", parameters, /not created with create_tvc_quorum_key/);
    const foreign = (await createWorld(server())).root.client;
    const answer = await foreign.query("get_tvc_deployment_provisioning_details", { deploymentId });
    assert.equal(answer.status, 404);
  });
});
