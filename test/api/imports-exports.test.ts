import assert from "node:assert/strict";
import { it } from "node:test";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import {
  decryptExportBundle,
  decryptSecretBundle,
  encryptPrivateKeyToBundle,
  encryptSecretToBundle,
  encryptWalletToBundle,
  generateP256KeyPair,
} from "@turnkey/crypto";
import type { Curve } from "../../src/crypto/curves.ts";
import { MNEMONIC_LANGUAGES } from "../../src/crypto/mnemonic-languages.ts";
import { bundleKey } from "../../src/engine/keys/bundle-envelopes.ts";
import { rotateServiceKey } from "../../src/engine/keys/service-keys.ts";
import { newId } from "../../src/kernel/ids.ts";
import { clientBundle, envelopeData, importBundleTo } from "../support/bundles.ts";
import { occupySigner } from "../support/busy-signer.ts";
import { addUser, type Client, type Json, type TestAnswer } from "../support/client.ts";
import { dumpDatabase } from "../support/database-dump.ts";
import { onEachEngine, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { addSubOrganization, createWorld, type Member, type World } from "../support/world.ts";

/** What goes in and comes out encrypted, by the published client library and by hand. */

const WORDS = `${"abandon ".repeat(11)}about`;
/** Of the words above at m/44'/60'/0'/0/0; a published vector. */
const ADDRESS = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94";
const SUITE = "TRANSPORT_ENCRYPTION_SUITE_ENCLAVE_ENCRYPT_V1";
const account = (path: string, more: object = {}) => ({
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path,
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
  ...more,
});

/** The key that clients are told to trust in place of the one they know. */
async function trustedKey({ baseUrl }: Pick<TestServer, "baseUrl">): Promise<string> {
  const answer = await fetch(`${baseUrl}/.well-known/keystead.json`);
  const { serviceKeys } = (await answer.json()) as Json;
  return serviceKeys.bundle[0].publicKey;
}

const newBundle = async ({ client, userId }: Member, path = "init_import_private_key"): Promise<string> =>
  (await client.result(path, { userId })).importBundle;

const keyParams = ({ userId }: Pick<Member, "userId">, encryptedBundle: string, more: object = {}) => ({
  userId,
  privateKeyName: "imported",
  encryptedBundle,
  curve: "CURVE_SECP256K1",
  addressFormats: [],
  ...more,
});

const secretKey = (): Uint8Array => secp256k1.utils.randomSecretKey();
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");

/** Sends what must be refused, and finds the database as it was. */
async function refused(
  world: World,
  path: string,
  parameters: object,
  client = world.root.client,
): Promise<TestAnswer> {
  const { database } = world.server.opened;
  const before = await dumpDatabase(database);
  const answer = await client.submit(path, parameters);
  assert.ok(answer.status >= 400 && answer.status < 500, JSON.stringify(answer.body));
  assert.deepEqual(await dumpDatabase(database), before);
  return answer;
}

async function exported(world: World, path: string, parameters: object, returnMnemonic = false): Promise<string> {
  const { privateKey, publicKeyUncompressed: targetPublicKey } = generateP256KeyPair();
  const { exportBundle } = await world.root.client.result(path, { ...parameters, targetPublicKey });
  return decryptExportBundle({
    exportBundle,
    organizationId: world.organizationId,
    embeddedKey: privateKey,
    returnMnemonic,
    dangerouslyOverrideSignerPublicKey: await trustedKey(world.server),
  });
}

/** What a plain user may do: a policy allows it to everybody. */
async function allow(world: World, condition: string, effect = "EFFECT_ALLOW"): Promise<void> {
  const consensus = effect === "EFFECT_ALLOW" ? "true" : "";
  const policy = { policyName: newId(), effect, condition, notes: "", ...(consensus ? { consensus } : {}) };
  await world.root.client.result("create_policy", policy);
}

onEachEngine("private keys in bundles", (server) => {
  const curves: [Curve, string, () => Uint8Array, (secret: Uint8Array) => string][] = [
    ["CURVE_SECP256K1", "ETHEREUM", secretKey, (secret) => hex(secp256k1.getPublicKey(secret, false))],
    [
      "CURVE_P256",
      "UNCOMPRESSED",
      () => p256.utils.randomSecretKey(),
      (secret) => hex(p256.getPublicKey(secret, false)),
    ],
    ["CURVE_ED25519", "SOLANA", () => ed25519.utils.randomSecretKey(), (secret) => hex(ed25519.getPublicKey(secret))],
  ];
  for (const [curve, format, newSecret, publicKeyOf] of curves) {
    it(`are imported and exported by the client library on ${curve}`, async () => {
      const world = await createWorld(server());
      const { organizationId, root } = world;
      const secret = newSecret();
      const encryptedBundle = await encryptPrivateKeyToBundle({
        privateKey: hex(secret),
        keyFormat: "HEXADECIMAL",
        importBundle: await newBundle(root),
        organizationId,
        userId: root.userId,
        dangerouslyOverrideSignerPublicKey: await trustedKey(server()),
      });
      const addressFormats = [`ADDRESS_FORMAT_${format}`, "ADDRESS_FORMAT_COMPRESSED"];
      const params = keyParams(root, encryptedBundle, { curve, addressFormats });
      const { privateKeyId, addresses } = await root.client.result("import_private_key", params);
      const { privateKey } = await root.client.read("get_private_key", { privateKeyId });
      assert.equal(privateKey.publicKey, publicKeyOf(secret));
      assert.deepEqual(privateKey.addresses, addresses);
      assert.deepEqual(
        addresses.map((address: Json) => address.format),
        addressFormats,
      );
      assert.deepEqual([privateKey.imported, privateKey.exported], [true, false]);
      assert.equal(privateKey.privateKeyName, "imported");

      assert.equal(await exported(world, "export_private_key", { privateKeyId }), hex(secret));
      const shown = (await root.client.read("get_private_key", { privateKeyId })).privateKey;
      assert.deepEqual([shown.imported, shown.exported], [true, true]);
      // It stays usable, and can be deleted now without insisting.
      assert.equal(await exported(world, "export_private_key", { privateKeyId }), hex(secret));
      await root.client.result("delete_private_keys", { privateKeyIds: [privateKeyId] });
      const gone = await refused(world, "export_private_key", {
        privateKeyId,
        targetPublicKey: generateP256KeyPair().publicKeyUncompressed,
      });
      assert.equal(gone.status, 404);
    });
  }

  it("made here are exported too, to compressed target keys as well", async () => {
    const world = await createWorld(server());
    const { client } = world.root;
    const params = { privateKeyName: "made", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };
    const { privateKeys } = await client.result("create_private_keys", { privateKeys: [params] });
    const [{ privateKeyId }] = privateKeys;
    const { publicKey: targetPublicKey, privateKey: embeddedKey } = generateP256KeyPair();
    assert.equal(targetPublicKey.length, 66);
    const { exportBundle } = await client.result("export_private_key", { privateKeyId, targetPublicKey });
    const { organizationId } = world;
    const trusted = { dangerouslyOverrideSignerPublicKey: await trustedKey(server()), returnMnemonic: false };
    const secret = await decryptExportBundle({ exportBundle, organizationId, embeddedKey, ...trusted });
    const { privateKey } = await client.read("get_private_key", { privateKeyId });
    assert.equal(hex(secp256k1.getPublicKey(Buffer.from(secret, "hex"), false)), privateKey.publicKey);
    // The library believes no other key, no other organization, and no changed byte.
    const opened = (change: object) =>
      decryptExportBundle({ exportBundle, organizationId, embeddedKey, ...trusted, ...change });
    await assert.rejects(opened({ organizationId: newId() }));
    await assert.rejects(opened({ dangerouslyOverrideSignerPublicKey: generateP256KeyPair().publicKeyUncompressed }));
    const envelope = JSON.parse(exportBundle);
    const changed = JSON.stringify({ ...envelope, data: envelope.data.replace(/^../, "5b") });
    await assert.rejects(opened({ exportBundle: changed }));
  });

  it("come with one bundle once, also when two imports race for it", async () => {
    const world = await createWorld(server());
    const { root } = world;
    const bundle = clientBundle(await newBundle(root), secretKey());
    const attempts = Array.from({ length: 8 }, (_, index) =>
      root.client.submit("import_private_key", keyParams(root, bundle, { privateKeyName: `racer ${index}` })),
    );
    const answers = await Promise.all(attempts);
    const statuses = answers.map(({ status }) => status).sort();
    assert.deepEqual(statuses, [200, ...new Array(7).fill(400)]);
    for (const { status, body } of answers) {
      if (status === 400) assert.match(body.message, /parameters\.encryptedBundle.*Initialize the import again/);
    }
    const { privateKeys } = await root.client.read("list_private_keys");
    assert.equal(privateKeys.length, 1);
    const replayed = await refused(world, "import_private_key", keyParams(root, bundle));
    assert.match(replayed.body.message, /each key can be used for one import/);
  });

  it("come with one request once, however often and closely it is sent again", async () => {
    const { root } = await createWorld(server());
    for (let round = 0; round < 10; round++) {
      const params = keyParams(root, clientBundle(await newBundle(root), secretKey()));
      const body = root.client.submitBody("import_private_key", params);
      // One after another while the first is on its way: some are looked at just before it is stored, some just after.
      const answers: Promise<TestAnswer>[] = [];
      let open = true;
      while (open && answers.length < 100) {
        const answer = root.client.post("/public/v1/submit/import_private_key", body);
        answers.push(answer);
        void answer.then(() => {
          open = false;
        });
        await new Promise(setImmediate);
      }
      const ids = (await Promise.all(answers)).map(({ status, body }) => {
        assert.equal(status, 200, JSON.stringify(body));
        return body.activity.result.importPrivateKeyResult.privateKeyId;
      });
      assert.equal(new Set(ids).size, 1);
    }
    assert.equal((await root.client.read("list_private_keys")).privateKeys.length, 10);
  });

  it("are taken with any of the user's open import keys, of which 20 are kept", async () => {
    const world = await createWorld(server());
    const { root } = world;
    const first = await newBundle(root);
    const bundles = [];
    for (let count = 0; count < 19; count++) bundles.push(await newBundle(root));
    await root.client.result("import_private_key", keyParams(root, clientBundle(first, secretKey())));
    const oldest = bundles[0] as string;
    for (let count = 0; count < 2; count++) bundles.push(await newBundle(root));
    const pushedOut = await refused(world, "import_private_key", keyParams(root, clientBundle(oldest, secretKey())));
    assert.equal(pushedOut.status, 400);
    const second = clientBundle(bundles[1] as string, secretKey());
    await root.client.result("import_private_key", keyParams(root, second));
  });

  it("are refused with the bundle of another user, organization or purpose", async () => {
    const world = await createWorld(server());
    const { root, user } = world;
    await allow(world, "activity.resource == 'PRIVATE_KEY'");
    const others = [await newBundle(user), await newBundle((await createWorld(server())).root)];
    const secrets = await root.client.result("init_import_secrets", { encryptionSuite: SUITE, numSecrets: 1 });
    const sub = await addSubOrganization(root.client);
    others.push(secrets.enclaveTargetMessages[0], await newBundle(sub));
    for (const bundle of others) {
      const answer = await refused(world, "import_private_key", keyParams(root, clientBundle(bundle, secretKey())));
      assert.equal(answer.status, 400);
      assert.match(
        answer.body.message,
        /`parameters\.encryptedBundle` was not encrypted to a valid import key of this user/,
      );
    }
    // The user whose it is may use it.
    await user.client.result("import_private_key", keyParams(user, clientBundle(others[0] as string, secretKey())));
  });

  it("are imported for oneself alone, whatever policies and quorum say", async () => {
    const world = await createWorld(server());
    const { root, user } = world;
    await allow(world, "true");
    const bundle = clientBundle(await newBundle(user), secretKey());
    for (const path of ["init_import_private_key", "init_import_wallet"]) {
      for (const [asker, other] of [
        [root, user],
        [user, root],
      ] as const) {
        const answer = await asker.client.submit(path, { userId: other.userId });
        assert.equal(answer.status, 403);
        assert.match(answer.body.message, new RegExp(`Only user ${other.userId} may do this`));
      }
    }
    const answer = await root.client.submit("import_private_key", keyParams(user, bundle));
    assert.equal(answer.status, 403);
    const wallet = { userId: user.userId, walletName: "w", encryptedBundle: bundle, accounts: [] };
    assert.equal((await root.client.submit("import_wallet", wallet)).status, 403);
    assert.equal((await root.client.read("list_private_keys")).privateKeys.length, 0);
    const unknown = await refused(world, "init_import_private_key", { userId: newId() });
    assert.equal(unknown.status, 404);
  });

  it("take the vote of the quorum like everything else, and belong to who asked", async () => {
    const world = await createWorld(server());
    const { root } = world;
    const second = await world.quorumOfTwo();
    const approved = async (path: string, parameters: object): Promise<Json> => {
      const { body } = await root.client.submit(path, parameters);
      assert.equal(body.activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
      const { fingerprint } = body.activity;
      return Object.values((await second.client.submit("approve_activity", { fingerprint })).body.activity.result)[0];
    };
    const { importBundle } = await approved("init_import_private_key", { userId: root.userId });
    assert.equal(envelopeData(importBundle).userId, root.userId);
    const bundle = clientBundle(importBundle, secretKey());
    const { privateKeyId } = await approved("import_private_key", keyParams(root, bundle));
    assert.ok(privateKeyId);
    const offered = await approved("init_import_secrets", { encryptionSuite: SUITE, numSecrets: 1 });
    const [message] = offered.enclaveTargetMessages;
    assert.equal(envelopeData(message).userId, "", "a secret is the organization's, and clients compare it");
    const item = secretItem(message, "by two");
    const { secretIds } = await approved("import_secrets", { secrets: [item] });
    assert.equal(secretIds.length, 1);
  });

  it("are refused when the bundle or what it holds is wrong, and the import key stays", async () => {
    const world = await createWorld(server());
    const { root } = world;
    const importBundle = await newBundle(root);
    const good = JSON.parse(clientBundle(importBundle, secretKey()));
    const { encappedPublic, ciphertext } = good;
    const lost = /`parameters\.encryptedBundle` was not encrypted to a valid import key/;
    const form = /`parameters\.encryptedBundle` must be the JSON of an encrypted bundle/;
    const flip = (text: string, at: number) => {
      const digit = (Number.parseInt(text.at(at) as string, 16) ^ 1).toString(16);
      return at < 0 ? `${text.slice(0, at)}${digit}${text.slice(text.length + at + 1)}` : text;
    };
    const zero = new Uint8Array(32);
    const order = Buffer.from("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", "hex");
    const other = generateP256KeyPair().publicKeyUncompressed;
    const cases: [string, RegExp][] = [
      [JSON.stringify({ encappedPublic, ciphertext: flip(ciphertext, -1) }), lost],
      [JSON.stringify({ encappedPublic, ciphertext: flip(ciphertext, -ciphertext.length) }), lost],
      [JSON.stringify({ encappedPublic, ciphertext: ciphertext.slice(2) }), lost],
      [JSON.stringify({ encappedPublic: other, ciphertext }), lost],
      [JSON.stringify({ encappedPublic: flip(encappedPublic, -1), ciphertext }), form],
      [JSON.stringify({ encappedPublic: `04${"00".repeat(64)}`, ciphertext }), form],
      [JSON.stringify({ encappedPublic: "00", ciphertext }), form],
      [JSON.stringify({ encappedPublic, ciphertext: "0".repeat(30) }), form],
      [JSON.stringify({ encappedPublic, ciphertext: `${ciphertext}0` }), form],
      [JSON.stringify({ encappedPublic, ciphertext: `0x${ciphertext}` }), form],
      [JSON.stringify({ encappedPublic, ciphertext: "00".repeat(300) }), form],
      [JSON.stringify({ encappedPublic }), form],
      [JSON.stringify({ encappedPublic, ciphertext: null }), form],
      [JSON.stringify({ ...good, more: 1 }), form],
      [`{"ciphertext":"00","ciphertext":"00","encappedPublic":"00"}`, form],
      [JSON.stringify([encappedPublic, ciphertext]), form],
      [JSON.stringify(JSON.stringify(good)), form],
      ["null", form],
      ["{", form],
      ["[".repeat(1000), form],
      [clientBundle(importBundle, zero), /must contain a private key of CURVE_SECP256K1/],
      [clientBundle(importBundle, order), /must contain a private key of CURVE_SECP256K1/],
      [clientBundle(importBundle, secretKey().subarray(1)), /must contain a private key of CURVE_SECP256K1/],
      [clientBundle(importBundle, Buffer.alloc(64, 1)), /must contain a private key of CURVE_SECP256K1/],
      [clientBundle(importBundle, ""), /must contain a private key of CURVE_SECP256K1/],
    ];
    for (const [encryptedBundle, message] of cases) {
      const answer = await refused(world, "import_private_key", keyParams(root, encryptedBundle));
      assert.equal(answer.status, 400, encryptedBundle);
      assert.match(answer.body.message, message, encryptedBundle);
      assert.equal(answer.body.details[0].fieldViolations[0].field, "parameters.encryptedBundle");
    }
    const formats = { addressFormats: ["ADDRESS_FORMAT_SOLANA"] };
    const wrongFormat = await refused(world, "import_private_key", keyParams(root, JSON.stringify(good), formats));
    assert.match(wrongFormat.body.message, /parameters\.addressFormats\.0.*takes CURVE_ED25519 keys/);
    await root.client.result("import_private_key", keyParams(root, JSON.stringify(good)));
  });

  it("are exported to points of P-256 alone", async () => {
    const world = await createWorld(server());
    const { privateKeyId } = await world.root.client.result(
      "import_private_key",
      keyParams(world.root, clientBundle(await newBundle(world.root), secretKey())),
    );
    const offCurve = `04${"11".repeat(64)}`;
    for (const targetPublicKey of [offCurve, `02${"ff".repeat(32)}`, hex(secp256k1.getPublicKey(secretKey(), false))]) {
      const answer = await refused(world, "export_private_key", { privateKeyId, targetPublicKey });
      assert.equal(answer.status, 400);
      assert.match(answer.body.message, /`parameters\.targetPublicKey` must be a point of the curve P-256/);
    }
    const { privateKey } = await world.root.client.read("get_private_key", { privateKeyId });
    assert.equal(privateKey.exported, false);
  });

  it("are exported as policies on the key say", async () => {
    const world = await createWorld(server());
    const { root, user } = world;
    await allow(world, "activity.action == 'EXPORT' && private_key.imported && private_key.label == 'mine'");
    const importOne = async (privateKeyName: string): Promise<string> => {
      const bundle = clientBundle(await newBundle(root), secretKey());
      return (await root.client.result("import_private_key", keyParams(root, bundle, { privateKeyName }))).privateKeyId;
    };
    const [mine, other] = [await importOne("mine"), await importOne("other")];
    const { publicKeyUncompressed: targetPublicKey } = generateP256KeyPair();
    await user.client.result("export_private_key", { privateKeyId: mine, targetPublicKey });
    const answer = await user.client.submit("export_private_key", { privateKeyId: other, targetPublicKey });
    assert.equal(answer.status, 403);
  });
});

onEachEngine("wallets in bundles", (server) => {
  const imported = async (world: World, words: string, accounts: object[]): Promise<Json> => {
    const { root, organizationId } = world;
    const encryptedBundle = await encryptWalletToBundle({
      mnemonic: words,
      importBundle: await newBundle(root, "init_import_wallet"),
      organizationId,
      userId: root.userId,
      dangerouslyOverrideSignerPublicKey: await trustedKey(server()),
    });
    return root.client.result("import_wallet", { userId: root.userId, walletName: "w", encryptedBundle, accounts });
  };

  it("are imported by the client library, derive the same addresses, and are exported", async () => {
    const world = await createWorld(server());
    const { client } = world.root;
    const { walletId, addresses } = await imported(world, WORDS, [account("m/44'/60'/0'/0/0")]);
    assert.deepEqual(addresses, [ADDRESS]);
    const before = (await client.read("get_wallet", { walletId })).wallet;
    assert.deepEqual([before.imported, before.exported], [true, false]);
    assert.equal(await exported(world, "export_wallet", { walletId }, true), WORDS);
    const shown = (await client.read("get_wallet", { walletId })).wallet;
    assert.deepEqual([shown.imported, shown.exported], [true, true]);
    await client.result("delete_wallets", { walletIds: [walletId] });
  });

  it("are exported in nine languages, of which each but the first is another wallet", async () => {
    const world = await createWorld(server());
    // Words of which no two lists have the same; those of zeros are alike in both Chinese ones.
    const original = "legal winner thank year wave sausage worth useful legal winner thank yellow";
    const accounts = [account("m/44'/60'/0'/0/0")];
    const { walletId, addresses: own } = await imported(world, original, accounts);
    const seen = new Set<string>();
    for (const language of MNEMONIC_LANGUAGES) {
      // The library reads mnemonics as ASCII; the bytes are UTF-8.
      const words = Buffer.from(await exported(world, "export_wallet", { walletId, language }), "hex").toString();
      assert.equal(words === original, language === "MNEMONIC_LANGUAGE_ENGLISH");
      const { addresses } = await imported(world, words, accounts);
      assert.equal(addresses[0] === own[0], language === "MNEMONIC_LANGUAGE_ENGLISH");
      seen.add(addresses[0]);
    }
    assert.equal(seen.size, 9);
  });

  it("have accounts whose key is exported alone, which leaves the wallet unexported", async () => {
    const world = await createWorld(server());
    const { client } = world.root;
    const solana = { curve: "CURVE_ED25519", addressFormat: "ADDRESS_FORMAT_SOLANA" };
    const accounts = [account("m/44'/60'/0'/0/0"), account("m/44'/501'/0'/0'", solana), account("m/44'/60'/0'/0/1")];
    const { walletId, addresses } = await imported(world, WORDS, accounts);
    for (const address of [addresses[0].toLowerCase(), addresses[1]]) {
      const secret = Buffer.from(await exported(world, "export_wallet_account", { address }), "hex");
      const { account: shown } = await client.read("get_wallet_account", { walletId, address });
      const publicKey = address === addresses[1] ? ed25519.getPublicKey(secret) : secp256k1.getPublicKey(secret);
      assert.equal(hex(publicKey), shown.publicKey);
    }
    assert.equal((await client.read("get_wallet", { walletId })).wallet.exported, false);
    const { accounts: stored } = await client.read("list_wallet_accounts", { walletId });
    const [first, second, third] = stored.map(({ walletAccountId }: Json) => walletAccountId);
    await client.result("delete_wallet_accounts", { walletAccountIds: [first, second] });
    const kept = await refused(world, "delete_wallet_accounts", { walletAccountIds: [third] });
    assert.equal(kept.body.turnkeyErrorCode, "WALLET_ACCOUNT_NOT_EXPORTED");
    const target = { targetPublicKey: generateP256KeyPair().publicKeyUncompressed };
    const gone = await refused(world, "export_wallet_account", { address: ADDRESS, ...target });
    assert.equal(gone.status, 404);
  });

  it("are refused with words that are no mnemonic", async () => {
    const world = await createWorld(server());
    const { root } = world;
    const importBundle = await newBundle(root, "init_import_wallet");
    const wrong = ["abandon ".repeat(12).trim(), `${WORDS} `, "", "nonsense", WORDS.toUpperCase()];
    for (const words of wrong) {
      const encryptedBundle = clientBundle(importBundle, words);
      const params = { userId: root.userId, walletName: "w", encryptedBundle, accounts: [] };
      const answer = await refused(world, "import_wallet", params);
      assert.equal(answer.status, 400);
      assert.match(answer.body.message, /^invalid mnemonic/);
    }
    const long = JSON.stringify(importBundleTo(envelopeData(importBundle).targetPublic, "a ".repeat(3000)));
    const params = { userId: root.userId, walletName: "w", encryptedBundle: long, accounts: [] };
    assert.match((await refused(world, "import_wallet", params)).body.message, /parameters\.encryptedBundle/);
  });

  it("come with one bundle once, also when two imports race for it, of wallets or of keys", async () => {
    const world = await createWorld(server());
    const { root } = world;
    const encryptedBundle = clientBundle(await newBundle(root, "init_import_wallet"), WORDS);
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        root.client.submit("import_wallet", {
          userId: root.userId,
          walletName: `racer ${index}`,
          encryptedBundle,
          accounts: [],
        }),
      ),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400, 400, 400]);
    assert.equal((await root.client.read("list_wallets")).wallets.length, 1);
  });

  it("and their accounts are exported as policies on them say", async () => {
    const world = await createWorld(server());
    const { user } = world;
    await allow(world, "activity.action == 'EXPORT' && wallet.imported && wallet_account.path_indexes[4] == 1");
    const { walletId, addresses } = await imported(world, WORDS, [
      account("m/44'/60'/0'/0/0"),
      account("m/44'/60'/0'/0/1"),
    ]);
    const { publicKeyUncompressed: targetPublicKey } = generateP256KeyPair();
    const statusOf = async (path: string, parameters: object) =>
      (await user.client.submit(path, { ...parameters, targetPublicKey })).status;
    assert.equal(await statusOf("export_wallet_account", { address: addresses[0] }), 403);
    assert.equal(await statusOf("export_wallet_account", { address: addresses[1] }), 200);
    // The whole wallet has no account, so the condition cannot be told.
    assert.equal(await statusOf("export_wallet", { walletId }), 403);
  });
});

function secretItem(message: string, plaintext: string, more: object = {}): object {
  const secretPayload = clientBundle(message, plaintext);
  const targetPublicKey = envelopeData(message).targetPublic;
  return { secretPayload, targetPublicKey, encryptionSuite: SUITE, ...more };
}

const offered = async (client: Client, numSecrets: number): Promise<string[]> =>
  (await client.result("init_import_secrets", { encryptionSuite: SUITE, numSecrets })).enclaveTargetMessages;

onEachEngine("secrets", (server) => {
  it("are offered to whose activity it is, also to who asks in the same words while another's request is made ready", async () => {
    const world = await createWorld(server());
    const { root, user } = world;
    const { signer } = server().opened;
    await root.client.result("create_policy", {
      policyName: "by two",
      effect: "EFFECT_ALLOW",
      consensus: "approvers.count() >= 2",
      condition: "activity.resource == 'SECRET'",
      notes: "",
    });
    const path = "init_import_secrets";
    const body = root.client.submitBody(path, { encryptionSuite: SUITE, numSecrets: 1 });
    const ahead = 3;
    const release = await occupySigner(signer, world.organizationId, ahead);
    // The root user needs nobody else, and has the keys made at once; as long as that takes there is no activity.
    const asked = root.client.post(`/public/v1/submit/${path}`, body);
    await Promise.race([until(() => signer.figures.waiting > ahead, "the request to wait for the signer"), asked]);
    const { activity } = (await user.client.post(`/public/v1/submit/${path}`, body)).body;
    assert.equal(activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    release();
    const { activity: approved } = (await asked).body;
    assert.equal(approved.status, "ACTIVITY_STATUS_COMPLETED");
    assert.equal(approved.id, activity.id, "it was an approval by then");
    const [message] = approved.result.initImportSecretsResult.enclaveTargetMessages;
    const imported = await user.client.submit("import_secrets", { secrets: [secretItem(message, "the user's")] });
    const { fingerprint } = imported.body.activity;
    const { secretIds } = (await root.client.result("approve_activity", { fingerprint })) ?? {};
    assert.equal(secretIds?.length, 1);
  });

  it("are imported and exported by the client library, in order", async () => {
    const world = await createWorld(server());
    const { client } = world.root;
    const { organizationId } = world;
    const trusted = { organizationId, dangerouslyOverrideSignerPublicKey: await trustedKey(server()) };
    const plaintexts = ["first", "zweites Geheimnis 🔑"];
    const secrets = [];
    for (const [index, ingressTargetBundle] of (await offered(client, 2)).entries()) {
      const plaintext = plaintexts[index] as string;
      const made = await encryptSecretToBundle({ plaintext, ingressTargetBundle, ...trusted });
      const staticProperties = [{ key: "kind", value: `kind ${index}` }];
      secrets.push({ ...made, encryptionSuite: SUITE, staticProperties, ...(index === 0 ? { name: "one" } : {}) });
    }
    const { secretIds } = await client.result("import_secrets", { secrets });
    const { secrets: listed } = await client.read("list_secrets");
    assert.deepEqual(
      listed.map(({ createdAtUnixMs: _, ...rest }: Json) => rest),
      [
        { secretId: secretIds[1], staticProperties: [{ key: "kind", value: "kind 1" }] },
        { secretId: secretIds[0], name: "one", staticProperties: [{ key: "kind", value: "kind 0" }] },
      ],
    );
    for (const { createdAtUnixMs } of listed) assert.match(createdAtUnixMs, /^[0-9]{13}$/);
    const targets = secretIds.map(() => generateP256KeyPair());
    const { secretPayloads } = await client.result("export_secrets", {
      secrets: secretIds.map((secretId: string, index: number) => ({
        secretId,
        targetPublicKey: targets[index].publicKeyUncompressed,
        encryptionSuite: SUITE,
        requestContext: [{ key: "purpose", value: `purpose ${index}` }, { key: "empty" }],
      })),
    });
    for (const [index, secretPayload] of secretPayloads.entries()) {
      const { privateKey: embeddedPrivateKey } = targets[index];
      assert.equal(await decryptSecretBundle({ secretPayload, embeddedPrivateKey, ...trusted }), plaintexts[index]);
    }
  });

  it("are stored and handed out together or not at all", async () => {
    const world = await createWorld(server());
    const { client } = world.root;
    const [a, b, c] = (await offered(client, 3)) as [string, string, string];
    const good = secretItem(a, "good", { name: "good" });
    const bad: [object, RegExp][] = [
      [secretItem(b, "x", { name: "good" }), /`parameters\.secrets\.1\.name` occurs twice/],
      [secretItem(a, "x"), /`parameters\.secrets\.1\.targetPublicKey` occurs twice/],
      [
        { ...secretItem(b, "x"), secretPayload: clientBundle(c, "x") },
        /`parameters\.secrets\.1\.secretPayload` was not encrypted to a valid import key/,
      ],
      [
        { ...secretItem(b, "x"), targetPublicKey: generateP256KeyPair().publicKeyUncompressed },
        /`parameters\.secrets\.1\.targetPublicKey` was not encrypted to a valid import key/,
      ],
      [
        secretItem(b, "x", {
          staticProperties: [
            { key: "k", value: "1" },
            { key: "k", value: "2" },
          ],
        }),
        /`parameters\.secrets\.1\.staticProperties\.1\.key` occurs twice/,
      ],
      [
        secretItem(b, "x", { staticProperties: [{ value: "1" }] }),
        /missing field `parameters\.secrets\.1\.staticProperties\.0\.key`/,
      ],
      [secretItem(b, "x".repeat(65_537)), /parameters\.secrets\.1\.secretPayload/],
    ];
    for (const [second, message] of bad) {
      const answer = await refused(world, "import_secrets", { secrets: [good, second] });
      assert.equal(answer.status, 400);
      assert.match(answer.body.message, message);
    }
    const { secretIds } = await client.result("import_secrets", { secrets: [good] });
    const taken = await refused(world, "import_secrets", { secrets: [secretItem(b, "x", { name: "good" })] });
    assert.equal(taken.status, 409);
    assert.match(taken.body.message, /secret already exists: `parameters\.secrets\.0\.name` is taken/);
    const longest = "x".repeat(65_536);
    await client.result("import_secrets", { secrets: [secretItem(b, longest)] });
    const target = { targetPublicKey: generateP256KeyPair().publicKeyUncompressed, encryptionSuite: SUITE };
    const unknown = newId();
    const answer = await refused(world, "export_secrets", {
      secrets: [
        { secretId: secretIds[0], ...target },
        { secretId: unknown, ...target },
      ],
    });
    assert.equal(answer.status, 404);
    assert.match(answer.body.message, new RegExp(unknown));
    const contexts: [Json, RegExp][] = [
      [[{ value: "1" }], /missing field `parameters\.secrets\.0\.requestContext\.0\.key`/],
      [[{ key: "a" }, { key: "a", value: "1" }], /`parameters\.secrets\.0\.requestContext\.1\.key` occurs twice/],
      [[{ key: "a", value: 1 }], /`parameters\.secrets\.0\.requestContext\.0\.value` must be a string/],
      [Array.from({ length: 33 }, (_, i) => ({ key: `${i}` })), /requestContext` has more than 32 entries/],
      [{ purpose: "audit" }, /requestContext` must be an array/],
    ];
    for (const [requestContext, message] of contexts) {
      const secrets = [{ secretId: secretIds[0], ...target, requestContext }];
      const refusal = await refused(world, "export_secrets", { secrets });
      assert.equal(refusal.status, 400);
      assert.match(refusal.body.message, message);
    }
  });

  it("are taken from the user that the key is for, and once", async () => {
    const world = await createWorld(server());
    const { root, user } = world;
    await allow(world, "activity.resource == 'SECRET' && activity.action == 'IMPORT'");
    const [message] = (await offered(root.client, 1)) as [string];
    const foreign = await refused(world, "import_secrets", { secrets: [secretItem(message, "x")] }, user.client);
    assert.match(
      foreign.body.message,
      /`parameters\.secrets\.0\.targetPublicKey` was not encrypted to a valid import key/,
    );
    const secrets = [secretItem(message, "x")];
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => root.client.submit("import_secrets", { secrets })),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400, 400, 400]);
    assert.equal((await root.client.read("list_secrets")).secrets.length, 1);
  });

  it("of other organizations are not there", async () => {
    const world = await createWorld(server());
    const other = await createWorld(server());
    const [message] = (await offered(other.root.client, 1)) as [string];
    const { secretIds } = await other.root.client.result("import_secrets", { secrets: [secretItem(message, "x")] });
    const target = { targetPublicKey: generateP256KeyPair().publicKeyUncompressed, encryptionSuite: SUITE };
    const answer = await refused(world, "export_secrets", { secrets: [{ secretId: secretIds[0], ...target }] });
    assert.equal(answer.status, 404);
    assert.deepEqual((await world.root.client.read("list_secrets")).secrets, []);
  });

  it("are listed in pages, newest first", async () => {
    const world = await createWorld(server());
    const { client } = world.root;
    const messages = await offered(client, 5);
    const { secretIds } = await client.result("import_secrets", {
      secrets: messages.map((message, index) => secretItem(message, `secret ${index}`)),
    });
    const page = async (paginationOptions: object): Promise<string[]> =>
      (await client.read("list_secrets", { paginationOptions })).secrets.map(({ secretId }: Json) => secretId);
    const newest = [...secretIds].reverse();
    assert.deepEqual(await page({}), newest);
    assert.deepEqual(await page({ limit: "2" }), newest.slice(0, 2));
    assert.deepEqual(await page({ limit: "2", before: newest[1] }), newest.slice(2, 4));
    assert.deepEqual(await page({ limit: "2", after: newest[3] }), newest.slice(1, 3));
  });

  it("are handed out as policies on their static properties say, and never several on the word for one", async () => {
    const world = await createWorld(server());
    const { root, user } = world;
    await allow(world, "activity.action == 'EXPORT' && secret.static_properties['kind'] == 'card'");
    const messages = await offered(root.client, 4);
    const properties = [[["kind", "card"]], [["kind", "pin"]], [["kind", "card"]], []] as [string, string][][];
    const { secretIds } = await root.client.result("import_secrets", {
      secrets: messages.map((message, index) => {
        const staticProperties = properties[index]?.map(([key, value]) => ({ key, value }));
        return secretItem(message, `secret ${index}`, { staticProperties });
      }),
    });
    const target = { targetPublicKey: generateP256KeyPair().publicKeyUncompressed, encryptionSuite: SUITE };
    const asked = (...ids: string[]) =>
      user.client.submit("export_secrets", { secrets: ids.map((secretId) => ({ secretId, ...target })) });
    const [card, pin, otherCard, plain] = secretIds;
    assert.equal((await asked(card)).status, 200);
    for (const ids of [[pin], [plain], [card, pin], [pin, card], [card, otherCard], [card, card], [card, newId()]]) {
      const { status, body } = await asked(...ids);
      assert.equal(status, 403, JSON.stringify(ids));
      assert.equal(body.turnkeyErrorCode, "REQUEST_NOT_AUTHORIZED");
    }
    // A denial holds for several as well, although it cannot tell what they are.
    await allow(world, "activity.action == 'EXPORT'");
    assert.equal((await asked(card, pin)).status, 200);
    await allow(world, "secret.static_properties['kind'] == 'pin'", "EFFECT_DENY");
    assert.equal((await asked(card, pin)).status, 403);
    assert.equal((await asked(card)).status, 200);
  });

  it("are deleted for good, all that are named or none, and leave their names", async () => {
    const world = await createWorld(server());
    const { root, user } = world;
    const { client } = root;
    const kinds = ["card", "pin", "card", "card"];
    const { secretIds } = await client.result("import_secrets", {
      secrets: (await offered(client, kinds.length)).map((message, index) =>
        secretItem(message, "x", { name: `secret ${index}`, staticProperties: [{ key: "kind", value: kinds[index] }] }),
      ),
    });
    const left = async () => (await client.read("list_secrets")).secrets.map(({ secretId }: Json) => secretId);
    const [card, pin, otherCard, third] = secretIds;
    const elsewhere = await createWorld(server());
    const [message] = (await offered(elsewhere.root.client, 1)) as [string];
    const foreign = await elsewhere.root.client.result("import_secrets", { secrets: [secretItem(message, "x")] });
    const refusals: [Json[], number, RegExp][] = [
      [[card, newId()], 404, /secret/],
      [[card, foreign.secretIds[0]], 404, /secret/],
      [[card, pin, card], 400, /`parameters\.secretIds\.2` occurs twice/],
      [[], 400, /secretIds/],
      [Array.from({ length: 33 }, () => newId()), 400, /secretIds` has more than 32 entries/],
    ];
    for (const [ids, status, text] of refusals) {
      const refusal = await refused(world, "delete_secrets", { secretIds: ids });
      assert.equal(refusal.status, status, JSON.stringify(refusal.body));
      assert.match(refusal.body.message, text);
    }

    await allow(world, "activity.action == 'DELETE' && secret.static_properties['kind'] == 'card'");
    for (const ids of [[pin], [otherCard, third]]) {
      assert.equal((await user.client.submit("delete_secrets", { secretIds: ids })).status, 403);
    }
    assert.deepEqual(await user.client.result("delete_secrets", { secretIds: [third] }), { secretIds: [third] });
    assert.deepEqual(await left(), [otherCard, pin, card]);
    const ids = [otherCard, card];
    assert.deepEqual(await client.result("delete_secrets", { secretIds: ids }), { secretIds: ids });
    assert.deepEqual(await left(), [pin]);

    const target = { targetPublicKey: generateP256KeyPair().publicKeyUncompressed, encryptionSuite: SUITE };
    for (const [path, parameters] of [
      ["export_secrets", { secrets: [{ secretId: card, ...target }] }],
      ["delete_secrets", { secretIds: [card] }],
    ] as const) {
      assert.equal((await refused(world, path, parameters)).status, 404);
    }
    const [another] = (await offered(client, 1)) as [string];
    await client.result("import_secrets", { secrets: [secretItem(another, "new", { name: "secret 0" })] });
    assert.equal((await left()).length, 2);
  });

  it("keep their sub-organization from being deleted unexported", async () => {
    const world = await createWorld(server(), "subOrganizations");
    const { client } = world.root;
    const [message] = (await offered(client, 1)) as [string];
    const { secretIds } = await client.result("import_secrets", { secrets: [secretItem(message, "x")] });
    const answer = await refused(world, "delete_sub_organization", {});
    assert.match(answer.body.message, new RegExp(`secret ${secretIds[0]} has not been exported`));
    const target = { targetPublicKey: generateP256KeyPair().publicKeyUncompressed, encryptionSuite: SUITE };
    await client.result("export_secrets", { secrets: [{ secretId: secretIds[0], ...target }] });
    await offered(client, 1);
    await client.result("delete_sub_organization", {});
    const { read } = server().opened.database;
    for (const table of ["secrets", "import_keys"] as const) {
      const rows = await read
        .selectFrom(table)
        .select("id")
        .where("organization_id", "=", world.organizationId)
        .execute();
      assert.deepEqual(rows, [], table);
    }
  });
});

it("import keys serve for a day", async () => {
  let ahead = 0;
  const server = await startTestServer("sqlite", { clock: () => Date.now() + ahead });
  try {
    const { root } = await createWorld(server);
    const [late, early] = [await newBundle(root), await newBundle(root)];
    const day = 24 * 60 * 60 * 1000;
    const at = (offset: number) => ({ timestampMs: String(Date.now() + offset) });
    ahead = day - 60_000;
    const inTime = keyParams(root, clientBundle(early, secretKey()));
    await root.client.result("import_private_key", inTime, at(ahead));
    ahead = day + 1;
    const tooLate = keyParams(root, clientBundle(late, secretKey()));
    const answer = await root.client.submit("import_private_key", tooLate, at(ahead));
    assert.equal(answer.status, 400);
    assert.match(answer.body.message, /within 24 hours/);
  } finally {
    await server.close();
  }
});

it("envelopes are signed with the key of the day, and the one before stays published", async () => {
  const server = await startTestServer("sqlite");
  try {
    const { root } = await createWorld(server);
    const [before, kept] = [await trustedKey(server), await newBundle(root)];
    assert.equal(JSON.parse(kept).enclaveQuorumPublic, before);
    assert.match(before, /^04[0-9a-f]{128}$/);
    const keyId = await rotateServiceKey(server.opened, bundleKey, Date.now());
    const answer = await fetch(`${server.baseUrl}/.well-known/keystead.json`);
    const { bundle, webhook } = ((await answer.json()) as Json).serviceKeys;
    assert.deepEqual(
      bundle.map((key: Json) => key.publicKey === before),
      [false, true],
    );
    assert.equal(bundle[0].keyId, keyId);
    for (const { publicKey, quorumPublicKey } of bundle) {
      assert.match(quorumPublicKey, /^(04[0-9a-f]{128}){2}$/, "a key to encrypt to, and one to verify with");
      assert.equal(quorumPublicKey.slice(130), publicKey);
    }
    assert.equal(webhook.length, 1);
    assert.equal(JSON.parse(await newBundle(root)).enclaveQuorumPublic, bundle[0].publicKey);
    // What was encrypted under the envelope before is imported all the same.
    await root.client.result("import_private_key", keyParams(root, clientBundle(kept, secretKey())));
  } finally {
    await server.close();
  }
});

it("import keys go with their user", async () => {
  const server = await startTestServer("sqlite");
  try {
    const world = await createWorld(server);
    await allow(world, "activity.resource == 'PRIVATE_KEY'");
    const leaving = await addUser(world.root.client, "Leaving");
    await newBundle(leaving);
    await world.root.client.result("delete_users", { userIds: [leaving.userId] });
    const { read } = server.opened.database;
    assert.deepEqual(await read.selectFrom("import_keys").select("id").execute(), []);
  } finally {
    await server.close();
  }
});
