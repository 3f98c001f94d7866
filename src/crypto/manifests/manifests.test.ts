import assert from "node:assert/strict";
import { createHash, createPrivateKey, generateKeyPairSync, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { judgeApprovals, parseKeyPair, verifyApproval } from "./approvals.ts";
import { manifestHash, manifestJson, parseEnvelope, parseManifest } from "./manifest.ts";
import { parseQosJson, qosJson } from "./qos-json.ts";

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const v1Text = readFileSync(new URL("../../../test/vectors/manifests/v1-envelope.json", import.meta.url));
const v1 = () => JSON.parse(v1Text.toString());

/** The manifest's hash in the attestation of an enclave that booted with the envelope of the test vectors. */
const ATTESTED = "021028da9d6d07121a1807f0f0351d76bb9b6a44e63a13e8246ae50850f58e3d";

describe("canonical JSON of manifests", () => {
  /** Text, canonical form and hash, as published in the format's specification. */
  const published = [
    ["{}", "{}", "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"],
    [
      '{ "version": "1", "threshold": 3, "name": "test" }',
      '{"name":"test","threshold":"3","version":"1"}',
      "898eaf2263b3ca34a9fb0b59615a16e5819b43c53fabc44396f92128f72ccc7e",
    ],
    ['{"data":"deadbeef"}', '{"data":"deadbeef"}', "03fe564ceddcb54a7a742bd7a4db57318a068cecd22ae44435ce68d35e754e13"],
  ] as const;

  for (const [text, canonical, hash] of published) {
    it(`is ${canonical}`, () => {
      const spelled = qosJson(parseQosJson(Buffer.from(text)));
      assert.equal(spelled, canonical);
      assert.equal(sha256(spelled), hash);
    });
  }

  it("leaves null members out, keeps null items, and sorts names by their UTF-16 units", () => {
    assert.equal(qosJson(parseQosJson(Buffer.from('{"b":null,"a":[null,{"x":null}]}'))), '{"a":[null,{}]}');
    const names = ["€", "\r", "\ufb33", "1", "😀", "\u0080", "ö"];
    const sorted = Object.keys(JSON.parse(qosJson(Object.fromEntries(names.map((name) => [name, ""])))));
    // In an object, names that look like indexes come first, whatever their order in the text.
    assert.deepEqual(sorted, ["1", "\r", "\u0080", "ö", "€", "😀", "\ufb33"]);
  });

  it("writes integers of any size as they stand, and refuses what is not an integer or there twice", () => {
    const large = '{"a":123456789012345678901234567890,"b":-42}';
    assert.equal(qosJson(parseQosJson(Buffer.from(large))), '{"a":"123456789012345678901234567890","b":"-42"}');
    for (const text of ['{"a":1.0}', '{"a":1e3}', '{"a":-0.5}', '{"a":-0}', '{"a":1,"a":1}', '{"__proto__":1}']) {
      assert.throws(() => parseQosJson(Buffer.from(text)), text);
    }
  });
});

describe("manifests v1", () => {
  it("have the hash that an enclave attested, and the approval that its operator signed", () => {
    const envelope = parseEnvelope(v1Text);
    assert.equal(envelope.manifest.version, "v1");
    assert.equal(manifestHash(envelope.manifest).toString("hex"), ATTESTED);
    const verdicts = judgeApprovals(envelope);
    assert.deepEqual(verdicts.approvals, [{ alias: "testiest-app-operator", verdict: "valid" }]);
    assert.equal(verdicts.reached, true);
  });

  it("have another hash whatever is changed", () => {
    const changes: ((manifest: ReturnType<typeof v1>) => void)[] = [
      (manifest) => manifest.namespace.nonce++,
      (manifest) => manifest.pivot.args.push("x"),
      (manifest) => manifest.pivot.bridgeConfig.pop(),
      (manifest) => {
        manifest.pivot.bridgeConfig[0] = { type: "client", port: 3000, host: "0.0.0.0" };
      },
      (manifest) => {
        manifest.pivot.debugMode = true;
      },
      (manifest) => {
        manifest.pivot.restart = "Never";
      },
      (manifest) => manifest.patchSet.members.pop(),
      (manifest) => {
        delete manifest.pivot.debugMode;
        delete manifest.pivot.bridgeConfig;
      },
    ];
    const hashes = changes.map((change) => {
      const { manifest } = v1();
      change(manifest);
      return manifestHash(parseManifest(json(manifest))).toString("hex");
    });
    assert.equal(new Set([ATTESTED, ...hashes]).size, changes.length + 1);
  });

  it("are refused with members that are unknown, missing, twice there or wrong", () => {
    const { manifest } = v1();
    const bad: Record<string, unknown> = {
      "manifest.extra": { ...manifest, extra: 1 },
      "manifest.pivot.env": { ...manifest, pivot: { ...manifest.pivot, env: {} } },
      "manifest.namespace.nonce": { ...manifest, namespace: { ...manifest.namespace, nonce: 2 ** 32 } },
      "manifest.pivot.hash": { ...manifest, pivot: { ...manifest.pivot, hash: "00" } },
      "manifest.pivot.restart": { ...manifest, pivot: { ...manifest.pivot, restart: "always" } },
      "manifest.pivot.debugMode": { ...manifest, pivot: { ...manifest.pivot, debugMode: null } },
      "manifest.manifestSet.members.0.role": {
        ...manifest,
        manifestSet: { threshold: 1, members: [{ ...manifest.manifestSet.members[0], role: "x" }] },
      },
      "manifest.patchSet": { ...manifest, patchSet: null },
      "manifest.version": { ...manifest, version: "v1" },
    };
    for (const [field, value] of Object.entries(bad)) {
      assert.throws(
        () => parseManifest(json(value)),
        ({ message }: Error) => message.includes(`\`${field}\``),
        field,
      );
    }
    const twice = JSON.stringify(manifest).replace('"threshold":1', '"threshold":1,"threshold":2');
    assert.throws(() => parseManifest(Buffer.from(twice)));
  });
});

describe("manifests v2", () => {
  const { patchSet: _, ...rest } = v1().manifest;
  const v2 = { version: "v2", ...rest };
  const text = Buffer.from(JSON.stringify(v2, null, 2));

  it("are hashed as canonical JSON, however they are spelled", () => {
    const manifest = parseManifest(text);
    assert.equal(manifestJson(manifest), qosJson(parseQosJson(text)));
    const reversed = Object.fromEntries(Object.entries({ ...v2, dns: null }).reverse());
    const spelled = { ...reversed, manifestSet: { ...rest.manifestSet, threshold: "1" } };
    assert.deepEqual(manifestHash(parseManifest(json(spelled))), manifestHash(manifest));
    assert.equal(manifestHash(manifest).toString("hex"), sha256(manifestJson(manifest)));
    assert.match(manifestJson(manifest), /^\{"enclave":\{.*"nonce":"1775842067".*"version":"v2"\}$/);
  });

  it("may have variables and resolvers, which are part of the hash", () => {
    const env = { B: { plain: { value: "2" } }, A: { plain: { value: "1" } } };
    const manifest = parseManifest(json({ ...v2, pivot: { ...rest.pivot, env }, dns: { resolvers: ["1.1.1.1"] } }));
    assert.deepEqual(manifest.pivot.env, { A: "1", B: "2" });
    assert.match(manifestJson(manifest), /"dns":\{"resolvers":\["1.1.1.1"\]\}/);
    assert.match(manifestJson(manifest), /"env":\{"A":\{"plain":\{"value":"1"\}\},"B":\{"plain":\{"value":"2"\}\}\}/);
    const empty = parseManifest(json({ ...v2, pivot: { ...rest.pivot, env: {} } }));
    assert.deepEqual(manifestHash(empty), manifestHash(parseManifest(text)));
  });

  it("are refused with a patch set, another version, or a resolver that is no address", () => {
    for (const change of [{ patchSet: v1().manifest.patchSet }, { version: "v3" }, { dns: { resolvers: ["x"] } }]) {
      assert.throws(() => parseManifest(json({ ...v2, ...change })), JSON.stringify(change));
    }
  });
});

describe("approvals", () => {
  const hash = Buffer.alloc(32, 7);
  const newOperator = () => {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const { x = "", y = "" } = publicKey.export({ format: "jwk" });
    const point = `04${Buffer.from(x, "base64url").toString("hex")}${Buffer.from(y, "base64url").toString("hex")}`;
    const approve = (message: Uint8Array) =>
      sign("sha256", message, {
        key: createPrivateKey(privateKey.export({ format: "pem", type: "pkcs8" })),
        dsaEncoding: "ieee-p1363",
      }).toString("hex");
    return { publicKey: point + point, approve };
  };

  it("are ECDSA with SHA-256 over the hash, r || s", () => {
    const operator = newOperator();
    assert.equal(verifyApproval(hash, operator.publicKey, operator.approve(hash)), true);
    assert.equal(verifyApproval(hash, newOperator().publicKey, operator.approve(hash)), false);
    assert.equal(verifyApproval(Buffer.alloc(32), operator.publicKey, operator.approve(hash)), false);
    for (const signature of ["", "00".repeat(64), `${operator.approve(hash)}00`, "zz".repeat(64)]) {
      assert.equal(verifyApproval(hash, operator.publicKey, signature), false);
    }
  });

  it("count once for each member, and not for strangers", () => {
    const [alice, bob, mallory] = [newOperator(), newOperator(), newOperator()];
    const { manifest } = v1();
    const member = (alias: string, { publicKey }: { publicKey: string }) => ({ alias, pubKey: publicKey });
    manifest.manifestSet = { threshold: 2, members: [member("alice", alice), member("bob", bob)] };
    const by = (alias: string, operator: typeof alice) => ({
      signature: operator.approve(manifestHash(parseManifest(json(manifest)))),
      member: member(alias, operator),
    });
    const judge = (manifestSetApprovals: object[]) =>
      judgeApprovals(parseEnvelope(json({ manifest, manifestSetApprovals, shareSetApprovals: [] })));
    const wanting = judge([by("alice", alice), by("alice", alice), by("mallory", mallory), by("robert", bob)]);
    assert.deepEqual(
      wanting.approvals.map(({ verdict }) => verdict),
      ["valid", "duplicate", "not a member", "not a member"],
    );
    assert.equal(wanting.reached, false);
    assert.equal(judge([by("alice", alice), by("bob", bob)]).reached, true);
    // The owner of a signing key counts as one signer, whatever the encryption key.
    const twin = { ...alice, publicKey: bob.publicKey.slice(0, 130) + alice.publicKey.slice(130) };
    manifest.manifestSet = { threshold: 2, members: [member("alice", alice), member("twin", twin)] };
    const twins = judge([by("alice", alice), by("twin", twin)]);
    assert.deepEqual([twins.valid, twins.reached], [1, false]);
  });

  it("need keys that are points of the curve", () => {
    const { publicKey } = newOperator();
    assert.ok(parseKeyPair(publicKey.toUpperCase()));
    assert.equal(parseKeyPair(publicKey.slice(2)), undefined);
    assert.equal(parseKeyPair(`04${"11".repeat(64)}${publicKey.slice(130)}`), undefined);
  });
});
