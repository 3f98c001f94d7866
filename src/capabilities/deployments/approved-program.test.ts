import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { describe, it } from "node:test";
import { type Manifest, manifestHash, manifestJson } from "../../crypto/manifests/manifest.ts";
import { MAX_SHOWN_MANIFEST_DIGITS } from "../../kernel/limits.ts";
import { type ClaimedDeployment, type GivenApproval, judgeDeployment, judgeOnce } from "./approved-program.ts";

const pointOf = (key: KeyObject): string => {
  const { x = "", y = "" } = createPublicKey(key).export({ format: "jwk" });
  return `04${Buffer.from(x, "base64url").toString("hex")}${Buffer.from(y, "base64url").toString("hex")}`;
};
const newKey = (): KeyObject => generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
const newMember = (name: string) => {
  const [encryption, signing] = [newKey(), newKey()];
  return { name, signing, publicKey: pointOf(encryption) + pointOf(signing) };
};
type Signer = ReturnType<typeof newMember>;

const [alice, bob, mallory] = [newMember("alice"), newMember("bob"), newMember("mallory")];
const membersOf = (members: Signer[]) => members.map(({ name, publicKey }) => ({ alias: name, pubKey: publicKey }));
const manifest: Manifest = {
  version: "v2",
  namespace: { name: "prod/tvc/app", nonce: 1, quorumKey: mallory.publicKey },
  pivot: {
    hash: "ab".repeat(32),
    restart: "Always",
    bridgeConfig: [
      { type: "server", port: 8080, host: "0.0.0.0" },
      { type: "server", port: 8081, host: "0.0.0.0" },
    ],
    debugMode: false,
    args: ["--greeting", "hello"],
    env: {},
  },
  manifestSet: { threshold: 2, members: membersOf([alice, bob]) },
  shareSet: { threshold: 2, members: membersOf([alice, bob]) },
  enclave: { pcr0: "", pcr1: "", pcr2: "", pcr3: "", awsRootCertificate: "", qosCommit: "" },
  dns: undefined,
  patchSet: undefined,
};
const row: ClaimedDeployment = {
  app_id: "app",
  manifest: manifestJson(manifest),
  pivot_args: '["--greeting","hello"]',
  pivot_digest: manifest.pivot.hash,
  debug_mode: 0,
  health_check_port: 8081,
  public_ingress_port: 8080,
  replicas: 3,
  quorum_key_id: "key",
  quorum_public_key: mallory.publicKey,
  quorum_threshold: 2,
};
const approvalOf = ({ name, publicKey, signing }: Signer, of = manifest): GivenApproval => ({
  name,
  public_key: publicKey,
  signature: sign("sha256", manifestHash(of), { key: signing, dsaEncoding: "ieee-p1363" }).toString("hex"),
});
const both = [approvalOf(alice), approvalOf(bob)];
/** A manifest that differs, approved by those whom it names. */
const judgeOther = (other: Manifest, changes: Partial<ClaimedDeployment> = {}) =>
  judgeDeployment({ ...row, manifest: manifestJson(other), ...changes }, [
    approvalOf(alice, other),
    approvalOf(bob, other),
  ]);

describe("what a deployment runs", () => {
  it("is worked out once, until anything that counts is another", async () => {
    const first = await judgeOnce(row, both, "queue");
    assert.equal(await judgeOnce({ ...row }, both.slice(), "queue"), first);
    const others = [
      await judgeOnce({ ...row, replicas: 2 }, both, "queue"),
      await judgeOnce(row, both.slice(1), "queue"),
      await judgeOnce(row, [...both.slice(1), { ...approvalOf(alice), signature: "00".repeat(64) }], "queue"),
    ];
    assert.ok(!others.includes(first));
    assert.deepEqual(
      others.map(({ program }) => program !== undefined),
      [true, false, false],
    );
  });

  it("is what its approved manifest says", () => {
    assert.deepEqual(judgeDeployment(row, both), {
      program: {
        digest: manifest.pivot.hash,
        args: ["--greeting", "hello"],
        publicIngressPort: 8080,
        healthCheckPort: 8081,
        quorumPublicKey: mallory.publicKey,
        shareThreshold: 2,
      },
    });
  });

  it("is nothing where too few distinct members signed this manifest", () => {
    const other = { ...manifest, pivot: { ...manifest.pivot, args: [] } };
    const few: GivenApproval[][] = [
      [],
      [approvalOf(alice)],
      [approvalOf(alice), approvalOf(alice)],
      [approvalOf(alice), approvalOf(mallory)],
      [approvalOf(alice), { ...approvalOf(mallory), name: "bob" }],
      [approvalOf(alice), { ...approvalOf(mallory), name: "bob", public_key: bob.publicKey }],
      [approvalOf(alice), approvalOf(bob, other)],
      [approvalOf(alice), { ...approvalOf(bob), signature: "" }],
    ];
    for (const approvals of few) {
      assert.equal(
        judgeDeployment(row, approvals).refusal,
        `its manifest has valid approvals from ${approvals.length && 1} members of the manifest set, but requires 2`,
      );
    }
    const open = { ...manifest, manifestSet: { threshold: 0, members: [] } };
    assert.match(judgeDeployment({ ...row, manifest: manifestJson(open) }, []).refusal ?? "", /requires 0/);
  });

  it("is nothing where the row says something else than the manifest", () => {
    const changes: [Partial<ClaimedDeployment>, RegExp][] = [
      [{ app_id: "another" }, /another app/],
      [{ pivot_digest: "cd".repeat(32) }, /program's digest in the database/],
      [{ pivot_digest: "../../bin/sh" }, /program's digest in the database/],
      [{ pivot_args: '["--greeting","bye"]' }, /arguments in the database/],
      [{ pivot_args: "{" }, /arguments in the database/],
      [{ public_ingress_port: 22 }, /public ingress port/],
      [{ health_check_port: 22 }, /health check port/],
      [{ debug_mode: 1 }, /debug mode/],
      [{ quorum_public_key: alice.publicKey }, /the quorum key in/],
      [{ quorum_public_key: null }, /the quorum key in/],
      [{ quorum_threshold: 1 }, /threshold of the quorum key/],
      [{ replicas: 0 }, /0 replicas/],
      [{ replicas: 1_000_000 }, /1000000 replicas/],
      [{ manifest: "{" }, /cannot be read/],
      [{ manifest: " ".repeat(MAX_SHOWN_MANIFEST_DIGITS) + row.manifest }, /cannot be read/],
    ];
    for (const [change, pattern] of changes) {
      assert.match(judgeDeployment({ ...row, ...change }, both).refusal ?? "it runs", pattern);
    }
    assert.ok(judgeDeployment({ ...row, quorum_key_id: null, quorum_public_key: null }, both).program);
  });

  it("is nothing where the manifest asks for what is not done here", () => {
    const { pivot } = manifest;
    assert.match(judgeOther({ ...manifest, pivot: { ...pivot, restart: "Never" } }).refusal ?? "", /restarted/);
    assert.match(judgeOther({ ...manifest, pivot: { ...pivot, env: { A: "b" } } }).refusal ?? "", /environment/);
    assert.match(judgeOther({ ...manifest, pivot: { ...pivot, bridgeConfig: [] } }).refusal ?? "", /port/);
    const one = { ...manifest, pivot: { ...pivot, bridgeConfig: pivot.bridgeConfig?.slice(0, 1) } };
    assert.equal(judgeOther(one, { health_check_port: 8080 }).program?.healthCheckPort, 8080);
  });
});
