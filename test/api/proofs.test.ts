import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { verifyAppProofSignature } from "@turnkey/crypto";
import { decompressPublicKey } from "../../src/crypto/curves.ts";
import { pruneBootProofs } from "../../src/engine/proofs/boot-proofs.ts";
import { canonicalJson } from "../../src/kernel/json.ts";
import { MAX_PROVEN_BODY_BYTES } from "../../src/kernel/limits.ts";
import { addUser, type Client, type Json, type TestAnswer } from "../support/client.ts";
import { fromBase64, isSignedBy, openProof, sha256Hex } from "../support/proofs.ts";
import { onEachEngine, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

const proving = { more: { generateAppProofs: true } };
const rename = (client: Client, organizationName: string) =>
  client.submit("update_organization_name", { organizationName }, proving);
const digestOf = (value: unknown): string => sha256Hex(canonicalJson(value));

function completed({ status, body }: TestAnswer): Json {
  assert.equal(status, 200, JSON.stringify(body));
  assert.equal(body.activity.status, "ACTIVITY_STATUS_COMPLETED");
  return body.activity;
}

/** What docs/guide/proofs.md says that the digest of an organization is over, from what the API shows. */
async function organizationData(client: Client): Promise<object> {
  const { policies } = await client.read("list_policies");
  const { configs } = await client.read("get_organization_configs");
  return {
    organizationId: client.organizationId,
    rootQuorum: configs.quorum,
    policies: policies.map(({ policyId, effect, consensus, condition, time }: Json) => ({
      policyId,
      effect,
      consensus,
      condition,
      time,
    })),
    users: (await client.read("list_users")).users,
  };
}

onEachEngine("app proofs", (server) => {
  it("state the decision: who approved, on which facts, of which organization", async () => {
    const { root } = await createWorld(server());
    await root.client.result("create_policy", {
      policyName: "p",
      effect: "EFFECT_ALLOW",
      condition: "true",
      notes: "",
    });
    const before = await organizationData(root.client);
    const activity = completed(await rename(root.client, "Proved"));
    assert.equal(activity.appProofs.length, 1);
    const [proof] = activity.appProofs;
    const { type, timestampMs, policyOutcomeProof: stated } = openProof(proof);
    verifyAppProofSignature(proof);
    assert.equal(type, "APP_PROOF_TYPE_POLICY_OUTCOME");
    assert.equal(timestampMs, String(Date.parse(activity.createdAt)));
    const [vote] = activity.votes;
    const { scheme, publicKey, message, signature } = vote;
    assert.deepEqual(stated, {
      organizationId: root.client.organizationId,
      outcome: "OUTCOME_ALLOW",
      decisionContextDigest: digestOf({
        organizationId: root.client.organizationId,
        type: activity.type,
        fingerprint: activity.fingerprint,
        governedBy: "rootQuorum",
        submitterId: root.userId,
        approvals: [{ userId: root.userId, publicKeys: [publicKey] }],
        policyEvaluations: [],
        timestampMs,
      }),
      organizationDataDigest: digestOf(before),
      parentOrganizationDataDigest: "",
      userRequestApprovals: [{ scheme, publicKey, message, signature }],
    });
    const activityId = activity.id;
    assert.deepEqual((await root.client.read("list_app_proofs", { activityId })).appProofs, activity.appProofs);
    assert.deepEqual((await root.client.read("get_activity", { activityId })).activity, activity);
    const again = await root.client.post("/public/v1/submit/update_organization_name", message);
    assert.deepEqual(again.body.activity, activity);
  });

  it("are checked by the recipe of the guide", async () => {
    const guide = readFileSync(join(import.meta.dirname, "../../docs/guide/proofs.md"), "utf8");
    const [, recipe] = /```js\n([\s\S]+?)```/.exec(guide) as RegExpExecArray;
    const folder = mkdtempSync(join(tmpdir(), "keystead-recipe-"));
    const activity = completed(await rename(server().root, "By recipe"));
    const check = (one: Json) => {
      writeFileSync(join(folder, "activity.json"), JSON.stringify({ activity: one }));
      const run = ["--input-type=module", "--eval", recipe as string];
      return execFileSync(process.execPath, run, { cwd: folder, encoding: "utf8" });
    };
    assert.match(check(activity), /^true \{\n {2}type: 'APP_PROOF_TYPE_POLICY_OUTCOME'/);
    const [proof] = activity.appProofs;
    const altered = { ...proof, proofPayload: proof.proofPayload.replace("ALLOW", "DENY") };
    assert.match(check({ ...activity, appProofs: [altered] }), /^false /);
    rmSync(folder, { recursive: true, force: true });
  });

  it("are made only where they are asked for, and of what was carried out", async () => {
    const { root, user } = await createWorld(server());
    const plain = completed(await root.client.submit("update_organization_name", { organizationName: "Plain" }));
    assert.ok(!("appProofs" in plain));
    assert.deepEqual((await root.client.read("list_app_proofs", { activityId: plain.id })).appProofs, []);
    const denied = await rename(user.client, "Denied");
    assert.equal(denied.status, 403);
    const { activities } = await root.client.read("list_activities", { filterByStatus: ["ACTIVITY_STATUS_REJECTED"] });
    assert.equal(activities.length, 1);
    assert.ok(!("appProofs" in activities[0]));
    assert.deepEqual((await root.client.read("list_app_proofs", { activityId: activities[0].id })).appProofs, []);
    const inside = { organizationName: "Inside", generateAppProofs: true };
    const asked = completed(await root.client.submit("update_organization_name", inside));
    assert.equal(asked.appProofs.length, 1);
    assert.deepEqual(asked.intent, { updateOrganizationNameIntent: { organizationName: "Inside" } });
  });

  it("are made at the last vote, with all approvals", async () => {
    const world = await createWorld(server());
    const second = await world.quorumOfTwo();
    const { client } = world.root;
    const waiting = (await rename(client, "By two")).body.activity;
    assert.equal(waiting.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    assert.ok(!("appProofs" in waiting));
    const { fingerprint } = waiting;
    const activity = completed(await second.client.submit("approve_activity", { fingerprint }));
    const { policyOutcomeProof: stated } = openProof(activity.appProofs[0]);
    assert.equal(activity.votes.length, 2);
    assert.deepEqual(
      stated.userRequestApprovals,
      activity.votes.map(({ scheme, publicKey, message, signature }: Json) => ({
        scheme,
        publicKey,
        message,
        signature,
      })),
    );
    assert.notEqual(stated.userRequestApprovals[0].message, stated.userRequestApprovals[1].message);

    const rejected = (await rename(client, "Never")).body.activity;
    const refusal = await second.client.submit("reject_activity", { fingerprint: rejected.fingerprint });
    assert.ok(!("appProofs" in refusal.body.activity));
    // The flag on a vote says nothing: the request that is voted on did not ask.
    const plain = await client.submit("update_organization_name", { organizationName: "Plain" });
    const vote = await second.client.submit(
      "approve_activity",
      { fingerprint: plain.body.activity.fingerprint },
      proving,
    );
    assert.ok(!("appProofs" in completed(vote)));
  });

  it("of a vote on a policy's consensus name what the policies came to", async () => {
    const { root, user } = await createWorld(server());
    const other = await addUser(root.client, "Other");
    await root.client.result("create_policy", {
      policyName: "two users",
      effect: "EFFECT_ALLOW",
      consensus: "approvers.count() >= 2",
      notes: "",
    });
    const tag = { userTagName: "by policy", userIds: [] };
    const { fingerprint } = (await user.client.submit("create_user_tag", tag, proving)).body.activity;
    const activity = completed(await other.client.submit("approve_activity", { fingerprint }));
    const { policyOutcomeProof: stated, timestampMs } = openProof(activity.appProofs[0]);
    const { policyEvaluations } = await root.client.read("get_policy_evaluations", { activityId: activity.id });
    const context = {
      organizationId: root.client.organizationId,
      type: activity.type,
      fingerprint,
      governedBy: "policies",
      resource: "USER",
      action: "CREATE",
      submitterId: user.userId,
      approvals: activity.votes.map(({ userId, publicKey }: Json) => ({ userId, publicKeys: [publicKey] })),
      policyEvaluations: policyEvaluations.at(-1).policyEvaluations,
      timestampMs,
    };
    assert.equal(context.policyEvaluations[0].outcome, "OUTCOME_ALLOW");
    assert.equal(stated.decisionContextDigest, digestOf(context));
  });

  it("of a sub-organization hold the digest of its parent", async () => {
    const { root } = await createWorld(server());
    const sub = await addSubOrganization(root.client);
    const [own, parent] = [await organizationData(sub.client), await organizationData(root.client)];
    const activity = completed(await rename(sub.client, "Sub"));
    const { policyOutcomeProof: stated } = openProof(activity.appProofs[0]);
    assert.equal(stated.organizationDataDigest, digestOf(own));
    assert.equal(stated.parentOrganizationDataDigest, digestOf(parent));
    assert.notEqual(stated.organizationDataDigest, stated.parentOrganizationDataDigest);
  });

  it("of new private keys name each address", async () => {
    const { root } = server();
    const key = (curve: string, ...addressFormats: string[]) => ({
      privateKeyName: "k",
      curve,
      privateKeyTags: [],
      addressFormats,
    });
    const privateKeys = [
      key("CURVE_SECP256K1", "ADDRESS_FORMAT_ETHEREUM", "ADDRESS_FORMAT_TRON"),
      key("CURVE_P256"),
      key("CURVE_ED25519", "ADDRESS_FORMAT_SOLANA"),
    ];
    const activity = completed(await root.submit("create_private_keys", { privateKeys }, proving));
    const [ofDecision, ...ofAddresses] = activity.appProofs.map(openProof);
    assert.equal(ofDecision.type, "APP_PROOF_TYPE_POLICY_OUTCOME");
    const made = activity.result.createPrivateKeysResultV2.privateKeys;
    const organizationId = root.organizationId;
    assert.deepEqual(
      ofAddresses.map(({ type, addressDerivationProof }: Json) => [type, addressDerivationProof]),
      made.flatMap(({ addresses }: Json) =>
        addresses.map(({ address }: Json) => ["APP_PROOF_TYPE_ADDRESS_DERIVATION", { organizationId, address }]),
      ),
    );
    assert.equal(ofAddresses.length, 3);
  });

  it("of a wallet's new accounts name the wallet and the path", async () => {
    const root = (await createWorld(server())).root.client;
    const account = (index: number) => ({
      curve: "CURVE_ED25519",
      pathFormat: "PATH_FORMAT_BIP32",
      path: `m/44'/501'/${index}'/0'`,
      addressFormat: "ADDRESS_FORMAT_SOLANA",
    });
    const wallet = { walletName: "Proved", accounts: [account(0), account(1)] };
    const created = completed(await root.submit("create_wallet", wallet, proving));
    const { walletId, addresses } = created.result.createWalletResult;
    const more = { walletId, accounts: [account(2)] };
    const grown = completed(await root.submit("create_wallet_accounts", more, proving));
    const proved = [...created.appProofs, ...grown.appProofs]
      .map((proof: Json) => openProof(proof))
      .filter(({ type }: Json) => type === "APP_PROOF_TYPE_ADDRESS_DERIVATION")
      .map(({ addressDerivationProof }: Json) => addressDerivationProof);
    const { organizationId } = root;
    assert.deepEqual(
      proved,
      [...addresses, ...grown.result.createWalletAccountsResult.addresses].map((address, index) => ({
        organizationId,
        walletId,
        derivationPath: `m/44'/501'/${index}'/0'`,
        address,
      })),
    );
  });

  it("do not verify once anything in them is changed", async () => {
    const [proof] = completed(await rename(server().root, "Altered")).appProofs;
    const other = proof.signature.startsWith("0") ? "1" : "0";
    for (const altered of [
      { ...proof, proofPayload: proof.proofPayload.replace("OUTCOME_ALLOW", "OUTCOME_DENY") },
      { ...proof, proofPayload: `${proof.proofPayload}\n` },
      { ...proof, signature: `${other}${proof.signature.slice(1)}` },
      { ...proof, publicKey: proof.publicKey.slice(130) + proof.publicKey.slice(0, 130) },
    ]) {
      assert.throws(() => openProof(altered), JSON.stringify(altered));
      assert.throws(() => verifyAppProofSignature(altered));
    }
  });

  it("are of one moment although others change the organization meanwhile", async () => {
    const { root } = await createWorld(server());
    const tags = Array.from({ length: 6 }, (_, index) =>
      root.client.submit("create_user_tag", { userTagName: `tag ${index}`, userIds: [root.userId] }, proving),
    );
    const digests = new Set<string>();
    for (const answer of await Promise.all(tags)) {
      // Whoever lost too many races is told to send the request again, and nothing was stored.
      if (answer.status === 503) continue;
      const [proof] = completed(answer).appProofs;
      digests.add(openProof(proof).policyOutcomeProof.organizationDataDigest);
    }
    const { userTags } = await root.client.read("list_user_tags");
    assert.equal(digests.size, userTags.length, "each saw what the one before had left");
    assert.ok(digests.size > 0);
  });

  it("are refused of requests that no proof can hold", async () => {
    const { root } = server();
    const padded = { more: { generateAppProofs: true, padding: "x".repeat(MAX_PROVEN_BODY_BYTES) } };
    const large = await root.submit("update_organization_name", { organizationName: "Large" }, padded);
    assert.equal(large.status, 400);
    assert.match(large.body.message, /`generateAppProofs` allows requests of at most 65536 bytes/);
    const addressFormats = ["ADDRESS_FORMAT_ETHEREUM", "ADDRESS_FORMAT_COMPRESSED"];
    const key = { privateKeyName: "k", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats };
    const privateKeys = Array.from({ length: 51 }, (_, index) => ({ ...key, privateKeyName: `k${index}` }));
    const many = await root.submit("create_private_keys", { privateKeys }, proving);
    assert.equal(many.status, 400);
    assert.match(many.body.message, /`generateAppProofs` proves at most 100 addresses at once, but there are 102/);
  });

  it("are not those of another organization", async () => {
    const [one, two] = [await createWorld(server()), await createWorld(server())];
    const { id: activityId } = completed(await rename(one.root.client, "Mine"));
    const answer = await two.root.client.query("list_app_proofs", { activityId });
    assert.equal(answer.status, 404);
    assert.match(answer.body.message, /unable to find activity/);
  });
});

onEachEngine("boot proofs", (server) => {
  it("bind the ephemeral key to the signer's code with a published key", async () => {
    const { root, baseUrl } = server();
    const [appProof] = completed(await rename(root, "Booted")).appProofs;
    const { bootProof } = await root.read("get_boot_proof", { ephemeralKey: appProof.publicKey.toUpperCase() });
    assert.deepEqual((await root.read("get_latest_boot_proof", { appName: "signer" })).bootProof, bootProof);
    assert.equal(bootProof.ephemeralPublicKeyHex, appProof.publicKey);
    assert.deepEqual([bootProof.enclaveApp, bootProof.owner], ["signer", "self-hosted"]);

    const published = (await (await fetch(`${baseUrl}/.well-known/keystead.json`)).json()) as Json;
    const [{ keyId, publicKey, algorithm }] = published.serviceKeys.boot;
    assert.equal(algorithm, "p256");
    const point = Buffer.from(decompressPublicKey("CURVE_P256", Buffer.from(publicKey, "hex"))).toString("hex");
    const attestation = JSON.parse(fromBase64(bootProof.awsAttestationDocB64));
    const manifestText = fromBase64(bootProof.qosManifestB64);
    const envelope = JSON.parse(fromBase64(bootProof.qosManifestEnvelopeB64));
    assert.equal(envelope.manifest, manifestText);
    for (const document of [attestation, envelope])
      assert.deepEqual([document.keyId, document.publicKey], [keyId, publicKey]);
    assert.ok(isSignedBy(point, attestation.statement, attestation.signature));
    assert.ok(isSignedBy(point, envelope.manifest, envelope.signature));
    assert.ok(!isSignedBy(point, `${envelope.manifest} `, envelope.signature));

    const described = await server().opened.signer.ask({ verb: "describe" });
    const { codeDigest, files, startedAt } = described;
    assert.deepEqual(JSON.parse(attestation.statement), {
      type: "KEYSTEAD_SIGNER_BOOT",
      ephemeralPublicKey: appProof.publicKey,
      startedAtMs: String(startedAt),
      codeDigest,
      manifestDigest: sha256Hex(manifestText),
    });
    const manifest = JSON.parse(manifestText);
    assert.deepEqual([manifest.codeDigest, manifest.files], [codeDigest, files]);
    assert.equal(bootProof.deploymentLabel, `keystead-${manifest.version}`);
  });

  it("are not found of unknown keys and apps", async () => {
    const { root } = server();
    const unknown = await root.query("get_boot_proof", { ephemeralKey: "04".repeat(130) });
    assert.equal(unknown.status, 404);
    assert.match(unknown.body.message, /ephemeralKey/);
    for (const ephemeralKey of ["", "04", "zz".repeat(130), "04".repeat(131)]) {
      assert.equal((await root.query("get_boot_proof", { ephemeralKey })).status, 400, ephemeralKey);
    }
    const other = await root.query("get_latest_boot_proof", { appName: "notarizer" });
    assert.equal(other.status, 404);
    assert.match(other.body.message, /boot proof of appName notarizer/);
  });

  it("of a signer that was killed stay, its successor has its own, and nothing half is stored", async () => {
    const { root, opened } = server();
    const first = completed(await rename(root, "Before")).appProofs[0];
    const pid = opened.signer.pid as number;
    process.kill(pid, "SIGSTOP");
    const body = root.submitBody("update_organization_name", { organizationName: "Killed" }, proving);
    const send = () => root.post("/public/v1/submit/update_organization_name", body);
    const pending = send();
    // Its request is on its way once another, which needs no signer, was answered.
    await root.result("update_organization_name", { organizationName: "Meanwhile" });
    process.kill(pid, "SIGKILL");
    const told = await pending;
    assert.equal(told.status, 503);
    assert.match(told.body.message, /^the signer is not available: .+ nothing was changed, send the request again$/);
    assert.equal((await root.read("whoami")).organizationName, "Meanwhile");
    const { activities } = await root.read("list_activities");
    assert.ok(!activities.some(({ votes }: Json) => votes[0].message === body));

    await until(() => opened.signer.state === "ready", "the signer to be back");
    const second = completed(await send()).appProofs[0];
    assert.notEqual(second.publicKey, first.publicKey);
    for (const { publicKey } of [first, second]) await root.read("get_boot_proof", { ephemeralKey: publicKey });
    const { bootProof } = await root.read("get_latest_boot_proof", { appName: "signer" });
    assert.equal(bootProof.ephemeralPublicKeyHex, second.publicKey);
  });
});

describe("proofs after a restart of the server", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "keystead-proofs-"));
  let server: TestServer;
  let now = Date.now();
  const clock = () => now;
  before(async () => {
    server = await startTestServer("sqlite", { dataDir, clock });
  });
  after(async () => {
    await server.close();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const restart = async () => {
    await server.close();
    server = await startTestServer("sqlite", { dataDir, clock });
  };
  const latest = async () =>
    (await server.root.read("get_latest_boot_proof", { appName: "signer" })).bootProof.ephemeralPublicKeyHex;
  const bootProofStatus = async (ephemeralKey: string) =>
    (await server.root.query("get_boot_proof", { ephemeralKey })).status;

  it("can still be checked; unused boot proofs go after a month, the others and the last stay", async () => {
    const activity = completed(await rename(server.root, "Before"));
    const used = await latest();
    assert.equal(activity.appProofs[0].publicKey, used);
    await restart();
    const unused = await latest();
    assert.notEqual(unused, used);
    await restart();
    const last = await latest();
    const { appProofs } = await server.root.read("list_app_proofs", { activityId: activity.id });
    assert.deepEqual(appProofs, activity.appProofs);
    openProof(appProofs[0]);
    assert.deepEqual(await Promise.all([used, unused, last].map(bootProofStatus)), [200, 200, 200]);

    const { database } = server.opened;
    const prune = () => pruneBootProofs.run({ database, clock } as never);
    now += 29 * 24 * 60 * 60 * 1000;
    await prune();
    assert.equal(await bootProofStatus(unused), 200);
    now += 2 * 24 * 60 * 60 * 1000;
    await prune();
    assert.deepEqual(await Promise.all([used, unused, last].map(bootProofStatus)), [200, 404, 200]);
    // Gone although its signer runs: it comes back with the next proof.
    await database.transact(undefined, (tx) =>
      tx.deleteFrom("boot_proofs").where("ephemeral_public_key", "=", last).execute(),
    );
    const again = completed(
      await server.root.submit(
        "update_organization_name",
        { organizationName: "x" },
        { ...proving, timestampMs: String(now) },
      ),
    );
    assert.equal(again.appProofs[0].publicKey, last);
    assert.equal(await bootProofStatus(last), 200);
  });
});
