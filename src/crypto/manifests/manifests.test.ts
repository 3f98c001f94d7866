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

/** Borsh of a manifest without a version, written down from its specification: members in their order, lengths of 32 bits. */
function borsh({ namespace, pivot, manifestSet, shareSet, enclave, patchSet }: ReturnType<typeof v1>): Buffer {
  const number = (size: 2 | 4, value: number) => {
    const bytes = Buffer.alloc(size);
    bytes.writeUIntLE(value, 0, size);
    return bytes;
  };
  const sized = (bytes: Buffer) => Buffer.concat([number(4, bytes.length), bytes]);
  const text = (value: string) => sized(Buffer.from(value));
  const hex = (value: string) => sized(Buffer.from(value, "hex"));
  const list = <T>(items: T[], of: (item: T) => Buffer) => Buffer.concat([number(4, items.length), ...items.map(of)]);
  const bridge = ({ type, port, host }: { type: string; port: number; host?: string }) => {
    const named = host === undefined ? [Buffer.of(0)] : [Buffer.of(1), text(host)];
    return Buffer.concat([
      Buffer.of(type === "server" ? 0 : 1),
      number(2, port),
      ...(type === "server" ? [text(host ?? "")] : named),
    ]);
  };
  type Member = { alias: string; pubKey: string };
  const member = ({ alias, pubKey }: Member) => Buffer.concat([text(alias), hex(pubKey)]);
  return Buffer.concat([
    text(namespace.name),
    number(4, namespace.nonce),
    hex(namespace.quorumKey),
    Buffer.from(pivot.hash, "hex"),
    Buffer.of(pivot.restart === "Always" ? 1 : 0),
    ...(pivot.bridgeConfig === undefined ? [] : [list(pivot.bridgeConfig, bridge), Buffer.of(pivot.debugMode ? 1 : 0)]),
    list(pivot.args, text),
    ...[manifestSet, shareSet].flatMap(({ threshold, members }) => [number(4, threshold), list(members, member)]),
    ...[enclave.pcr0, enclave.pcr1, enclave.pcr2, enclave.pcr3, enclave.awsRootCertificate].map(hex),
    text(enclave.qosCommit),
    number(4, patchSet.threshold),
    list(patchSet.members, ({ pubKey }: Member) => hex(pubKey)),
  ]);
}

describe("manifests v1", () => {
  it("are hashed as Borsh, with whatever bridges they have, and the oldest ones without any", () => {
    const server = { type: "server", port: 3000, host: "0.0.0.0" };
    const pivots: object[] = [
      {},
      { restart: "Never", debugMode: true },
      { bridgeConfig: [] },
      { bridgeConfig: [{ type: "client", port: 443, host: "example.com" }, server] },
      { bridgeConfig: [server, { type: "client", port: 65_535 }] },
      { bridgeConfig: undefined, debugMode: undefined },
    ];
    const hashes = pivots.map((pivot) => {
      const { manifest } = v1();
      Object.assign(manifest.pivot, pivot);
      const hash = manifestHash(parseManifest(json(manifest))).toString("hex");
      assert.equal(hash, createHash("sha256").update(borsh(manifest)).digest("hex"), JSON.stringify(pivot));
      return hash;
    });
    assert.equal(hashes[0], ATTESTED);
    assert.equal(new Set(hashes).size, pivots.length);
    const { manifest } = v1();
    assert.equal(parseManifest(json(manifest)).version, "v1");
    Object.assign(manifest.pivot, pivots.at(-1));
    assert.equal(parseManifest(json(manifest)).version, "v0");
  });

  it("come alone, or with two lists of approvals and nothing else", () => {
    const { manifest, manifestSetApprovals, shareSetApprovals } = v1();
    const bare = parseEnvelope(json(manifest));
    assert.deepEqual([bare.isBare, bare.manifestSetApprovals, bare.shareSetApprovals], [true, [], []]);
    assert.deepEqual(bare.manifest, parseManifest(json(manifest)));
    const whole = { manifest, manifestSetApprovals, shareSetApprovals };
    assert.equal(parseEnvelope(json(whole)).isBare, false);
    const refused: [value: unknown, problem: RegExp][] = [
      [null, /`manifest` must be an object/],
      ["text", /`manifest` must be an object/],
      [{ ...whole, manifest: null }, /`envelope\.manifest` is missing/],
      [{ ...whole, manifest: 5 }, /`manifest` must be an object/],
      [{ ...whole, shareSetApprovals: undefined }, /`envelope\.shareSetApprovals` is missing/],
      [{ ...whole, manifestSetApprovals: {} }, /`envelope\.manifestSetApprovals` must be a list/],
      [
        { ...whole, manifestSetApprovals: [{ signature: "00" }] },
        /`envelope\.manifestSetApprovals\.0\.member` is missing/,
      ],
      [{ ...whole, more: 1 }, /`envelope\.more` is not known in this schema/],
    ];
    for (const [value, problem] of refused) assert.throws(() => parseEnvelope(json(value)), { message: problem });
  });

  it("are refused with the member that is wrong, and what it must be", () => {
    const nonce = (value: unknown) => ({ namespace: { ...v1().manifest.namespace, nonce: value } });
    const pivot = (more: object) => ({ pivot: { ...v1().manifest.pivot, ...more } });
    const bridge = (more: object) => pivot({ bridgeConfig: [{ type: "server", port: 1, host: "h", ...more }] });
    const key = (quorumKey: string) => ({ namespace: { ...v1().manifest.namespace, quorumKey } });
    const integer = /`manifest\.namespace\.nonce` must be an integer from 0 to 4294967295/;
    const port = /`manifest\.pivot\.bridgeConfig\.0\.port` must be an integer from 0 to 65535/;
    const refused: [change: object, problem: RegExp][] = [
      [{ namespace: [] }, /`manifest\.namespace` must be an object/],
      [{ namespace: "x" }, /`manifest\.namespace` must be an object/],
      [{ namespace: { ...v1().manifest.namespace, name: true } }, /`manifest\.namespace\.name` must be a string/],
      ...["01", "-1", "x1", "1x", "", 2 ** 32, true, []].map((value): [object, RegExp] => [nonce(value), integer]),
      ...["0", "zz", "00 00", "0x00"].map((hex): [object, RegExp] => [
        key(hex),
        /`manifest\.namespace\.quorumKey` must be hex of whole bytes/,
      ]),
      ...["00", "ab".repeat(33)].map((hash): [object, RegExp] => [
        pivot({ hash }),
        /`manifest\.pivot\.hash` must be 32 bytes/,
      ]),
      [pivot({ restart: "always" }), /`manifest\.pivot\.restart` must be Never or Always/],
      [pivot({ debugMode: "true" }), /`manifest\.pivot\.debugMode` must be true or false/],
      [pivot({ debugMode: undefined }), /`manifest\.pivot\.debugMode` is missing/],
      [pivot({ bridgeConfig: undefined }), /`manifest\.pivot\.bridgeConfig` is missing/],
      [pivot({ bridgeConfig: {} }), /`manifest\.pivot\.bridgeConfig` must be a list/],
      [pivot({ args: [true] }), /`manifest\.pivot\.args\.0` must be a string/],
      [bridge({ port: 65_536 }), port],
      [bridge({ type: "both" }), /`manifest\.pivot\.bridgeConfig\.0\.type` must be server or client/],
      [bridge({ host: undefined }), /`manifest\.pivot\.bridgeConfig\.0\.host` is missing/],
      [{ dns: { resolvers: [] } }, /`manifest\.dns` is not known in this schema/],
      [{ version: "v1" }, /`manifest\.version` must be "v2", or left out in v1/],
      [{ shareSet: 5 }, /`manifest\.shareSet` must be an object/],
      [{ enclave: 5 }, /`manifest\.enclave` must be an object/],
      [{ patchSet: 5 }, /`manifest\.patchSet` must be an object/],
    ];
    for (const [change, problem] of refused) {
      const refuses = () => parseManifest(json({ ...v1().manifest, ...change }));
      assert.throws(refuses, { code: "FIELD_INVALID", message: problem }, JSON.stringify(change));
    }
    parseManifest(json({ ...v1().manifest, ...nonce(2 ** 32 - 1) }));
    parseManifest(json({ ...v1().manifest, ...bridge({ port: 65_535 }) }));
  });

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

  it("have one hash in whatever case their hex is", () => {
    const upper = { ...v2, pivot: { ...v2.pivot, hash: v2.pivot.hash.toUpperCase() } };
    assert.deepEqual(manifestHash(parseManifest(json(upper))), manifestHash(parseManifest(text)));
  });

  it("are refused with a variable that has no name or no plain value, and without what only the oldest lack", () => {
    const refused: [pivot: object, problem: RegExp][] = [
      ...["1A", "A-B", "", "A".repeat(1025)].map((name): [object, RegExp] => [
        { env: { [name]: { plain: { value: "1" } } } },
        /`manifest\.pivot\.env\.[^`]*` must be the name of a variable/,
      ]),
      [{ env: { A: {} } }, /`manifest\.pivot\.env\.A\.plain` is missing/],
      [{ env: { A: { plain: {} } } }, /`manifest\.pivot\.env\.A\.plain\.value` is missing/],
      [{ env: { A: { plain: { value: true } } } }, /`manifest\.pivot\.env\.A\.plain\.value` must be a string/],
      [{ env: { A: { plain: { value: "1" }, secret: 1 } } }, /`manifest\.pivot\.env\.A\.secret` is not known/],
      [{ env: [] }, /`manifest\.pivot\.env` must be an object/],
      [{ bridgeConfig: undefined, debugMode: undefined }, /`manifest\.pivot\.bridgeConfig` is missing/],
    ];
    for (const [pivot, problem] of refused) {
      const refuses = () => parseManifest(json({ ...v2, pivot: { ...rest.pivot, ...pivot } }));
      assert.throws(refuses, { message: problem }, JSON.stringify(pivot).slice(0, 80));
    }
    const dns = { resolvers: [true] };
    assert.throws(() => parseManifest(json({ ...v2, dns })), {
      message: /`manifest\.dns\.resolvers\.0` must be an IP/,
    });
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
    const signed = operator.approve(hash);
    for (const signature of ["", "00".repeat(64), `${signed}00`, `${signed}zz`, `${signed}0`, "zz".repeat(64)]) {
      assert.equal(verifyApproval(hash, operator.publicKey, signature), false, signature);
    }
    assert.equal(verifyApproval(hash, operator.publicKey.toUpperCase(), signed.toUpperCase()), true);
    for (const publicKey of ["", operator.publicKey.slice(130)]) {
      assert.equal(verifyApproval(hash, publicKey, signed), false);
    }
  });

  it("are those of members alone, and of nobody who signs in a member's name", () => {
    const [alice, mallory] = [newOperator(), newOperator()];
    const { manifest } = v1();
    const member = { alias: "alice", pubKey: alice.publicKey };
    const judged = (threshold: number, ...given: [signer: typeof alice, named: object][]) => {
      manifest.manifestSet = { threshold, members: [member] };
      const hash = manifestHash(parseManifest(json(manifest)));
      const manifestSetApprovals = given.map(([signer, named]) => ({ signature: signer.approve(hash), member: named }));
      const envelope = parseEnvelope(json({ manifest, manifestSetApprovals, shareSetApprovals: [] }));
      const { approvals, valid, reached } = judgeApprovals(envelope);
      return { verdicts: approvals.map(({ verdict }) => verdict), valid, reached };
    };
    assert.deepEqual(judged(1, [alice, member]), { verdicts: ["valid"], valid: 1, reached: true });
    assert.deepEqual(judged(1, [mallory, member]), { verdicts: ["invalid signature"], valid: 0, reached: false });
    const impostor = { alias: "alice", pubKey: mallory.publicKey };
    assert.deepEqual(judged(1, [mallory, impostor]), { verdicts: ["not a member"], valid: 0, reached: false });
    // One that asks for no approval is approved by nobody.
    assert.deepEqual(judged(0), { verdicts: [], valid: 0, reached: false });
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
    const [point, noPoint] = [publicKey.slice(130), `04${"11".repeat(64)}`];
    for (const pair of [noPoint + point, point + noPoint]) assert.equal(parseKeyPair(pair), undefined);
    // The hybrid form, which says in its first byte whether y is odd.
    for (const form of ["06", "07"]) assert.equal(parseKeyPair(`${form}${point.slice(2)}${point}`), undefined);
  });
});
