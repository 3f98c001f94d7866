import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { deriveAddress } from "../../crypto/addresses.ts";
import { sealBundle } from "../../crypto/bundles.ts";
import { toHex } from "../../kernel/bytes.ts";
import {
  type Curve,
  type KeyReference,
  PROTOCOL_VERSION,
  type Responses,
  type SignerRequest,
  type SparkTransfer,
} from "../protocol.ts";
import { SigningRefused } from "./refused.ts";
import { inSlices } from "./slices.ts";
import { prepareTransfer } from "./spark.ts";
import { answer, forgetSecrets, sparkWalletOf } from "./verbs.ts";

const folder = mkdtempSync(join(tmpdir(), "keystead-slices-"));
after(() => {
  forgetSecrets();
  rmSync(folder, { recursive: true, force: true });
});
answer({
  verb: "open",
  protocolVersion: PROTOCOL_VERSION,
  rootKeyFile: join(folder, "root.key"),
  mayCreate: true,
  mayReplaceFile: false,
  seedCache: { entries: 0, lifetimeMs: 0 },
  recordUses: false,
});
const organizationId = "organization";
const owner = { organizationId, ...answer({ verb: "createOrganizationKey", organizationId }) };

/** The response to a request that is answered in slices, and the number of slices. */
function sliced<R extends SignerRequest>(request: R): { response: Responses[R["verb"]]; slices: number } {
  const steps = inSlices(request);
  for (let slices = 1; ; slices++) {
    const { done, value } = steps.next();
    if (done) return { response: value as Responses[R["verb"]], slices };
  }
}

function whole<Result>(work: Generator<void, Result, void>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}

function newKey(curve: Curve): KeyReference {
  const { keys } = answer({ verb: "generateKeys", ...owner, keys: [{ keyId: "key", curve }] });
  return { kind: "privateKey", keyId: "key", curve, sealedKey: keys[0]?.sealedKey as string };
}

/** The generator of secp256k1. */
const SOMEBODYS_KEY = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";

/** A wallet's Spark identity, and the operators to share with. */
function newSparkWallet() {
  const path = "m/8797555'/0'/0'";
  const curve = "CURVE_SECP256K1";
  const asked = { walletId: "spark", mnemonicLength: 12, accounts: [{ curve, path }] } as const;
  const wallet = answer({ verb: "createWallet", ...owner, ...asked, accounts: [{ curve, path }] });
  const [publicKey = ""] = wallet.publicKeys;
  const format = "ADDRESS_FORMAT_SPARK_REGTEST";
  const address = { format, address: deriveAddress(format, curve, Buffer.from(publicKey, "hex")) } as const;
  const { sealedWallet } = wallet;
  const key = { kind: "walletAccount", walletId: "spark", sealedWallet, curve, path, address } as const;
  const operatorRecipients = ["a", "b"].map((operatorId) => ({ operatorId, encryptionPublicKey: publicKey }));
  return { key, publicKey, sharing: { threshold: 2, operatorRecipients } };
}

const accounts = Array.from({ length: 100 }, (_, index) => ({
  curve: "CURVE_SECP256K1" as const,
  path: `m/44'/60'/0'/0/${index}`,
}));
const derived = (walletId: string, sealedWallet: string): string[] =>
  answer({ verb: "deriveAccounts", ...owner, walletId, sealedWallet, accounts }).publicKeys;

describe("a long request in slices", () => {
  it("signs what it would sign in one, in the order of the payloads, on every curve", () => {
    const payloads = Array.from({ length: 150 }, (_, index) => Buffer.alloc(32, index).toString("base64"));
    for (const curve of ["CURVE_SECP256K1", "CURVE_P256", "CURVE_ED25519"] as const) {
      const request = { verb: "sign", ...owner, key: newKey(curve), hash: "none", payloads } as const;
      const { response, slices } = sliced(request);
      assert.deepEqual(response, answer(request));
      assert.ok(slices >= 4 && slices < payloads.length, `${slices} slices on ${curve}`);
    }
    const schnorr = { verb: "sign", ...owner, key: newKey("CURVE_SECP256K1"), hash: "none", payloads } as const;
    const { response } = sliced({ ...schnorr, scheme: "bip340Taproot" });
    assert.deepEqual(response, answer({ ...schnorr, scheme: "bip340Taproot" }));
  });

  it("gives a large payload a slice of its own", () => {
    const large = Buffer.alloc(64 * 1024).toString("base64");
    const request = { verb: "sign", ...owner, key: newKey("CURVE_SECP256K1"), hash: "sha256" } as const;
    assert.equal(sliced({ ...request, payloads: [large, large, large] }).slices, 3);
    assert.equal(sliced({ ...request, payloads: [large] }).slices, 1);
    // Those after it share one again.
    assert.equal(sliced({ ...request, payloads: [large, "AA==", "AA=="] }).slices, 2);
  });

  it("makes as many keys as asked, each sealed under its own name", () => {
    const keys = Array.from({ length: 100 }, (_, index) => ({ keyId: `key ${index}`, curve: "CURVE_P256" as const }));
    const { response, slices } = sliced({ verb: "generateKeys", ...owner, keys });
    assert.ok(slices > 1);
    assert.equal(response.keys.length, keys.length);
    const last = { ...keys.at(-1), kind: "privateKey", sealedKey: response.keys.at(-1)?.sealedKey } as KeyReference;
    answer({ verb: "sign", ...owner, key: last, hash: "sha256", payloads: ["AA=="] });
    const other = { ...last, keyId: "key 0" } as KeyReference;
    assert.throws(
      () => answer({ verb: "sign", ...owner, key: other, hash: "sha256", payloads: ["AA=="] }),
      SigningRefused,
    );
  });

  it("makes and imports wallets with all their accounts", () => {
    const made = sliced({ verb: "createWallet", ...owner, walletId: "made", mnemonicLength: 12, accounts });
    assert.ok(made.slices > 4);
    assert.deepEqual(made.response.publicKeys, derived("made", made.response.sealedWallet));

    const request = { verb: "deriveAccounts", ...owner, walletId: "made", accounts } as const;
    const { sealedWallet } = made.response;
    assert.deepEqual(sliced({ ...request, sealedWallet }).response.publicKeys, made.response.publicKeys);

    const terms = { userId: "user", issuedAt: 1 };
    const { importKeys } = answer({
      verb: "createImportKeys",
      ...owner,
      terms: { purpose: "key", ...terms },
      importIds: ["import"],
    });
    const { sealedImportKey, targetPublicKey } = importKeys[0] as (typeof importKeys)[number];
    const importing = (text: string) => {
      const { encapped, ciphertext } = sealBundle(Buffer.from(targetPublicKey, "hex"), Buffer.from(text));
      const bundle = { encappedPublic: toHex(encapped), ciphertext: toHex(ciphertext) };
      const keys = [{ importId: "import", sealedImportKey, ...terms }];
      return sliced({ verb: "importWallet", ...owner, walletId: "imported", importKeys: keys, bundle, accounts });
    };
    const imported = importing(`${"abandon ".repeat(11)}about`).response;
    assert.ok("sealedWallet" in imported);
    assert.equal(imported.importId, "import");
    assert.deepEqual(imported.publicKeys, derived("imported", imported.sealedWallet));
    assert.deepEqual(importing("no words of any language").response, { problem: "invalidMnemonic" });
  });

  it("proves every address", () => {
    const key = newKey("CURVE_SECP256K1");
    const addresses = new Array(20).fill({ key, format: "ADDRESS_FORMAT_ETHEREUM" });
    const { response, slices } = sliced({ verb: "proveAddresses", ...owner, addresses });
    assert.ok(slices > 1);
    assert.equal(response.proofs.length, addresses.length);
    assert.equal(response.ephemeralPublicKey, answer({ verb: "describe" }).ephemeralPublicKey);
  });

  it("signs for Spark, and hands leaves over, a few at a time", () => {
    const { key, sharing, publicKey } = newSparkWallet();
    const commitment = { id: "1".padStart(64, "0"), hiding: publicKey, binding: publicKey };
    const signature = {
      derivation: { identity: {} },
      message: "00".repeat(32),
      verifyingKey: SOMEBODYS_KEY,
      operatorCommitments: [commitment],
    };
    const signatures = new Array(20).fill(signature);
    const signed = sliced({ verb: "signSparkFrost", ...owner, key, signatures });
    assert.ok(signed.slices >= 5, `${signed.slices} slices`);
    assert.ok("signatures" in signed.response);
    assert.equal(new Set(signed.response.signatures.map(({ hiding }) => hiding)).size, 20);
    const alone = [...signatures.slice(0, 17), { ...signature, verifyingKey: publicKey }, signature];
    const refused = sliced({ verb: "signSparkFrost", ...owner, key, signatures: alone });
    assert.deepEqual(refused.response, { problem: "ownKey", at: 17 });

    const leaves = Array.from({ length: 10 }, (_, at) => ({
      leafId: `${at}`,
      oldLeafDerivation: { signingLeaf: { leafId: `${at}` } },
      newLeafDerivation: { signingLeaf: { leafId: `new ${at}` } },
    }));
    const transferId = "0195c6d3-0000-7000-8000-00000000000a";
    const transfer = { ...sharing, transferId, leaves, receiverPublicKey: publicKey };
    const sent = sliced({ verb: "prepareSparkTransfer", ...owner, key, transfer });
    assert.ok(sent.slices > 3, `${sent.slices} slices`);
    assert.equal(new Set(sent.response.newPublicKeys).size, 10);
    const request = { verb: "prepareSparkTransfer", ...owner, key, transfer } as const;
    const inOne = whole(prepareTransfer(sparkWalletOf(request), request, [leaves]));
    assert.deepEqual(inOne.newPublicKeys, sent.response.newPublicKeys);
    assert.deepEqual(
      inOne.packages.map(({ length }) => length),
      sent.response.packages.map(({ length }) => length),
    );

    const elsewhere = { ...key, path: "m/8797555'/0'/1'" };
    assert.throws(() => sliced({ verb: "signSparkFrost", ...owner, key: elsewhere, signatures }), SigningRefused);
    const { address: _, ...unnamed } = key;
    assert.throws(() => sliced({ verb: "signSparkFrost", ...owner, key: unnamed, signatures }), SigningRefused);
    const preimages = [{ ...signature, derivation: { htlcPreimage: {} } }];
    assert.throws(
      () => sliced({ verb: "signSparkFrost", ...owner, key, signatures: preimages }),
      /the key for HTLC preimages must not sign/,
    );
  });

  it("hands over leaves alone, whatever the activity says", () => {
    const { key, sharing, publicKey } = newSparkWallet();
    const transferId = "0195c6d3-0000-7000-8000-00000000000a";
    const leaf = { signingLeaf: { leafId: "a leaf" } };
    const others = [{ identity: {} }, { deposit: {} }, { staticDeposit: { index: 0 } }, { htlcPreimage: {} }];
    for (const other of others) {
      for (const [oldLeafDerivation, newLeafDerivation] of [
        [other, leaf],
        [leaf, other],
      ]) {
        const leaves = [{ leafId: "a leaf", oldLeafDerivation, newLeafDerivation }] as SparkTransfer["leaves"];
        const transfer = { ...sharing, transferId, leaves, receiverPublicKey: publicKey };
        assert.throws(
          () => sliced({ verb: "prepareSparkTransfer", ...owner, key, transfer }),
          /only the keys of leaves/,
        );
      }
    }
  });

  it("answers an empty one as it would in one", () => {
    const key = newKey("CURVE_SECP256K1");
    assert.deepEqual(sliced({ verb: "sign", ...owner, key, hash: "none", payloads: [] }).response, { signatures: [] });
    const { ephemeralPublicKey, proofs } = sliced({ verb: "proveAddresses", ...owner, addresses: [] }).response;
    assert.deepEqual(proofs, []);
    assert.match(ephemeralPublicKey, /^04/);
  });

  it("is refused as a whole where a later slice is", () => {
    const wrong = [...accounts.slice(0, 99), { curve: "CURVE_SECP256K1" as const, path: "no path" }];
    const request = { verb: "createWallet", ...owner, walletId: "wrong", mnemonicLength: 12, accounts: wrong } as const;
    assert.throws(() => sliced(request), SigningRefused);
  });
});
