import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  decryptExportBundle,
  encryptPrivateKeyToBundle,
  encryptSecretToBundle,
  encryptWalletToBundle,
  generateP256KeyPair,
} from "@turnkey/crypto";
import type { HpkeMessage, KeyReference } from "../../src/signer/protocol.ts";
import { envelopes } from "../support/bundles.ts";
import { IMPORT_TERMS, startTestSigner, type TestSigner } from "../support/signer.ts";

/** The published client library encrypts what is imported and decrypts what is exported, under envelopes of another key. */

const WORDS = `${"abandon ".repeat(11)}about`;
const userId = "user";
const { publicKey: dangerouslyOverrideSignerPublicKey, sign } = envelopes();

describe("the client library", () => {
  let test: TestSigner;
  before(async () => {
    test = await startTestSigner();
  });
  after(() => test.close());

  /** An import key and what the client is told of it. */
  async function offered(purpose: "key" | "secret" = "key") {
    const { organizationId } = test.owner;
    const { importKeys } = await test.signer.ask({
      verb: "createImportKeys",
      ...test.owner,
      terms: { purpose, ...IMPORT_TERMS },
      importIds: ["import"],
    });
    const { sealedImportKey, targetPublicKey } = importKeys[0] as (typeof importKeys)[number];
    return {
      importKeys: [{ importId: "import", sealedImportKey, ...IMPORT_TERMS }],
      client: {
        importBundle: sign({ targetPublic: targetPublicKey, organizationId, userId }),
        organizationId,
        userId,
        dangerouslyOverrideSignerPublicKey,
      },
    };
  }

  function opened(message: HpkeMessage, embeddedKey: string, returnMnemonic: boolean): Promise<string> {
    const { organizationId } = test.owner;
    const exportBundle = sign({ ...message, organizationId });
    const options = { exportBundle, organizationId, embeddedKey, returnMnemonic };
    return decryptExportBundle({ ...options, dangerouslyOverrideSignerPublicKey });
  }

  it("imports and exports a wallet", async () => {
    const { importKeys, client } = await offered();
    const bundle = JSON.parse(await encryptWalletToBundle({ mnemonic: WORDS, ...client })) as HpkeMessage;
    const asked = { verb: "importWallet", ...test.owner, importKeys, walletId: "wallet" } as const;
    const imported = await test.signer.ask({ ...asked, bundle, accounts: [] });
    assert.ok("sealedWallet" in imported);
    const { privateKey, publicKeyUncompressed: targetPublicKey } = generateP256KeyPair();
    const { sealedWallet } = imported;
    const exporting = { verb: "exportWallet", ...test.owner, walletId: "wallet", sealedWallet } as const;
    const message = await test.signer.ask({ ...exporting, targetPublicKey });
    assert.equal(await opened(message, privateKey, true), WORDS);
  });

  it("imports and exports a private key", async () => {
    const { importKeys, client } = await offered();
    const secret = "5a".repeat(32);
    const bundle = JSON.parse(
      await encryptPrivateKeyToBundle({ privateKey: secret, keyFormat: "HEXADECIMAL", ...client }),
    ) as HpkeMessage;
    const curve = "CURVE_SECP256K1";
    const asked = { verb: "importPrivateKey", ...test.owner, importKeys, bundle, keyId: "key", curve } as const;
    const imported = await test.signer.ask(asked);
    assert.ok("sealedKey" in imported);
    const { privateKey, publicKeyUncompressed: targetPublicKey } = generateP256KeyPair();
    const key: KeyReference = { kind: "privateKey", keyId: "key", curve, sealedKey: imported.sealedKey };
    const message = await test.signer.ask({ verb: "exportKey", ...test.owner, key, targetPublicKey });
    assert.equal(await opened(message, privateKey, false), secret);
  });

  it("imports and exports a secret", async () => {
    const { importKeys, client } = await offered("secret");
    const plaintext = "a secret of any kind";
    const { importBundle: ingressTargetBundle, organizationId } = client;
    const made = await encryptSecretToBundle({
      plaintext,
      ingressTargetBundle,
      organizationId,
      dangerouslyOverrideSignerPublicKey,
    });
    const bundle = JSON.parse(made.secretPayload) as HpkeMessage;
    const asked = { verb: "importSecret", ...test.owner, importKeys, bundle, secretId: "secret" } as const;
    const imported = await test.signer.ask(asked);
    assert.ok("sealedSecret" in imported);
    const { privateKey, publicKeyUncompressed: targetPublicKey } = generateP256KeyPair();
    const { sealedSecret } = imported;
    const exporting = { verb: "exportSecret", ...test.owner, secretId: "secret", sealedSecret } as const;
    const message = await test.signer.ask({ ...exporting, targetPublicKey });
    assert.equal(await opened(message, privateKey, true), plaintext);
  });
});
