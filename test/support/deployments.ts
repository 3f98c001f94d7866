import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { stateProvisioning } from "../../src/capabilities/deployments/provisioning.ts";
import { generateReceiver } from "../../src/crypto/hpke.ts";
import { openQuorumEnvelope, sealQuorumEnvelope } from "../../src/crypto/quorum-encryption.ts";
import { newId } from "../../src/kernel/ids.ts";
import { LONGEST_LEASE_MS } from "../../src/kernel/limits.ts";
import type { Client, Json } from "./client.ts";
import { pushImage } from "./registry.ts";
import type { TestServer } from "./server.ts";

/** Somebody who approves manifests. */
export interface Operator {
  name: string;
  /** Hex: encryption key, then signing key. */
  publicKey: string;
  /** The signature over a hash, hex. */
  approve(hash: Uint8Array): string;
  /** The share in an envelope for the operator; both in hex, undefined for one that is for somebody else. */
  openShare(envelope: string): string | undefined;
}

const pointOf = (key: KeyObject): string => {
  const { x = "", y = "" } = createPublicKey(key).export({ format: "jwk" });
  return `04${Buffer.from(x, "base64url").toString("hex")}${Buffer.from(y, "base64url").toString("hex")}`;
};

const newKey = (): KeyObject =>
  createPrivateKey(
    generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "pem", type: "pkcs8" }),
  );

export function newOperator(name = "operator"): Operator {
  const [signing, encryption] = [newKey(), newKey()];
  const secret = Buffer.from(encryption.export({ format: "jwk" }).d ?? "", "base64url");
  return {
    name,
    publicKey: pointOf(encryption) + pointOf(signing),
    approve: (hash) => sign("sha256", hash, { key: signing, dsaEncoding: "ieee-p1363" }).toString("hex"),
    openShare: (envelope) => openQuorumEnvelope(secret, Buffer.from(envelope, "hex"))?.toString("hex"),
  };
}

/** What `create_tvc_app` takes. */
export function appParams(operators: readonly Operator[], more: { threshold?: number } & Json = {}): Json {
  const { threshold = 1, ...others } = more;
  const newOperators = operators.map(({ name, publicKey }) => ({ name, publicKey }));
  const holders = [newOperator("holder 1"), newOperator("holder 2")];
  return {
    name: "app",
    quorumPublicKey: newOperator().publicKey,
    manifestSetParams: { name: "approvers", newOperators, existingOperatorIds: [], threshold },
    shareSetParams: {
      name: "holders",
      newOperators: holders.map(({ name, publicKey }) => ({ name, publicKey })),
      threshold: 2,
    },
    enableEgress: false,
    enableDebugModeDeployments: true,
    ...others,
  };
}

export const PROGRAM_PATH = "/usr/local/bin/app";

/** What `create_tvc_deployment` takes, for an image with this program. */
export async function deploymentParams(appId: string, program: Buffer, more: object = {}): Promise<Json> {
  const { byDigest } = await pushImage([[{ name: "usr/local/bin/app", content: program }]]);
  return {
    appId,
    qosVersion: "local-1",
    pivotContainerImageUrl: byDigest,
    pivotPath: PROGRAM_PATH,
    pivotArgs: ["--greeting", "hello"],
    expectedPivotDigest: createHash("sha256").update(program).digest("hex"),
    healthCheckType: "TVC_HEALTH_CHECK_TYPE_HTTP",
    healthCheckPort: 8080,
    publicIngressPort: 8080,
    ...more,
  };
}

/** A program that no test runs. */
export const someProgram = Buffer.from("#!/bin/sh\nexit 0\n");

/** The hash of a manifest that was made here, computed from its bytes alone. */
export async function hashOf(client: Client, deploymentId: string): Promise<Buffer> {
  const { tvcDeployment } = await client.read("get_tvc_deployment", { deploymentId });
  return createHash("sha256").update(Buffer.from(tvcDeployment.manifest.manifest, "base64")).digest();
}

/** An app with a manifest set of these operators, and one deployment of it. */
export async function newDeployment(
  client: Client,
  operators: readonly Operator[],
  { app = {}, deployment = {} }: { app?: Json; deployment?: object } = {},
) {
  const created = await client.result("create_tvc_app", appParams(operators, app));
  const params = await deploymentParams(created.appId, someProgram, deployment);
  const { deploymentId, manifestId } = await client.result("create_tvc_deployment", params);
  return { ...created, deploymentId, manifestId } as Json;
}

/** What `create_tvc_manifest_approvals` takes. */
export async function approvalParams(
  client: Client,
  { deploymentId, manifestId, manifestSetOperatorIds }: Json,
  operators: readonly Operator[],
): Promise<Json> {
  const hash = await hashOf(client, deploymentId);
  const approvals = operators.map((operator, index) => ({
    operatorId: manifestSetOperatorIds[index],
    signature: operator.approve(hash),
  }));
  return { manifestId, approvals };
}

/** A row that says that some server runs a deployment, with one replica ready. */
export const runOf = (organizationId: string, deploymentId: string, now: number) => ({
  organization_id: organizationId,
  deployment_id: deploymentId,
  runner_id: newId(),
  // No lease ends later.
  leased_until: now + LONGEST_LEASE_MS - 10_000,
  ready_replicas: 1,
  provisioning: null,
  is_provisioned: 0,
  created_at: now,
  updated_at: now,
});

export const hostedOperator = (client: Client, name: string): Promise<Json> =>
  client.result("create_tvc_operator", { walletName: newId(), path: "m/5527107'/0'/0'", operatorName: name });

/**
 * A deployment of an app with a quorum key, of which some server says that its runner asks for shares; what two of its operators may hand
 * in, one with keys elsewhere and one with keys in a wallet here.
 */
export async function awaitingDeployment({ opened }: Pick<TestServer, "opened">, client: Client): Promise<Json> {
  const [approver, carol] = [newOperator("approver"), newOperator("carol")];
  const { organizationId } = client;
  // She is known by an app that names her, also after that is gone.
  const { appId, manifestSetOperatorIds } = await client.result("create_tvc_app", appParams([carol]));
  await client.result("delete_tvc_app_and_deployments", { appId });
  const [carolId] = manifestSetOperatorIds;
  const alice = await hostedOperator(client, "alice");
  const otherEncryptKey = carol.publicKey.slice(0, 130);
  const operatorEncryptKeys = [alice.encryptPublicKey, otherEncryptKey];
  const { quorumPublicKey } = await client.result("create_tvc_quorum_key", { threshold: 2, operatorEncryptKeys });
  const shareSetParams = { name: "holders", existingOperatorIds: [alice.operatorId, carolId], threshold: 2 };
  const made = await newDeployment(client, [approver], { app: { quorumPublicKey, shareSetParams } });
  const { deploymentId } = made;
  await client.result("create_tvc_manifest_approvals", await approvalParams(client, made, [approver]));

  const { publicKey } = generateReceiver();
  const ephemeralPublicKeyHex = publicKey.toString("hex");
  const { read } = opened.database;
  const row = { organization_id: organizationId, id: deploymentId };
  const provisioning = await stateProvisioning({ read, signer: opened.signer }, row, ephemeralPublicKeyHex);
  await opened.database.transact(organizationId, async (tx) => {
    const run = { ...runOf(organizationId, deploymentId, Date.now()), ready_replicas: 0, provisioning };
    await tx.insertInto("tvc_runs").values(run).execute();
  });
  const { tvcQuorumKeys } = await client.read("list_tvc_quorum_keys");
  const encrypted = tvcQuorumKeys[0].shares.find((each: Json) => each.operatorId === carolId).encryptedShare;
  const share = Buffer.from(carol.openShare(encrypted) ?? "", "hex");
  const { tvcDeployment } = await client.read("get_tvc_deployment", { deploymentId });
  return {
    appId: made.appId,
    otherEncryptKey,
    share: {
      deploymentId,
      ephemeralPublicKeyHex,
      shareApprovalBundle: {
        operatorId: carolId,
        reEncryptedShareHex: sealQuorumEnvelope(publicKey, share).toString("hex"),
        signature: carol.approve(await hashOf(client, deploymentId)),
      },
    },
    reEncryption: {
      attestationDocB64: Buffer.from(provisioning).toString("base64"),
      manifestB64: tvcDeployment.manifest.manifest,
      operatorEncryptKey: alice.encryptPublicKey,
      operatorSignKey: alice.signPublicKey,
      deploymentId,
      appQuorumKey: quorumPublicKey,
    },
  };
}

/** One more deployment of an app, approved. */
export async function addDeployment(client: Client, app: Json, operators: readonly Operator[]): Promise<Json> {
  const params = await deploymentParams(app.appId, someProgram, { nonce: Math.floor(Math.random() * 1e9) });
  const made = { ...app, ...(await client.result("create_tvc_deployment", params)) };
  await client.result("create_tvc_manifest_approvals", await approvalParams(client, made, operators));
  return made;
}
