import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { verifyAppProofSignature } from "@turnkey/crypto";
import { deriveAddress } from "../../src/crypto/addresses.ts";
import { SignerRefused } from "../../src/signer/client.ts";
import { openProof } from "../support/proofs.ts";
import { newOwner, startTestSigner, type TestSigner } from "../support/signer.ts";

/** Of the signer that runs: the sources, or what was built of them. */
const ROOT = join(dirname(fileURLToPath(import.meta.resolve("../../src/signer/process/main.ts"))), "../..");

const statement = {
  organizationId: "organization",
  outcome: "OUTCOME_ALLOW",
  decisionContextDigest: "a".repeat(64),
  organizationDataDigest: "b".repeat(64),
  parentOrganizationDataDigest: "",
  userRequestApprovals: [{ scheme: "scheme", publicKey: "key", message: '{"a":"ü"}', signature: "signature" }],
};
const SCHEME = "SIGNATURE_SCHEME_EPHEMERAL_KEY_P256";

describe("what the signer proves", () => {
  let test: TestSigner;
  before(async () => {
    test = await startTestSigner();
  });
  after(() => test.close());

  const proveOutcome = (policyOutcome: object, timestampMs = "1") =>
    test.signer.ask({ verb: "provePolicyOutcome", timestampMs, policyOutcome: policyOutcome as typeof statement });

  it("describes itself: two points on the curve, its files and a digest that sha256sum would make", async () => {
    const described = await test.signer.ask({ verb: "describe" });
    assert.match(described.ephemeralPublicKey, /^(04[0-9a-f]{128}){2}$/);
    assert.notEqual(described.ephemeralPublicKey.slice(0, 130), described.ephemeralPublicKey.slice(130));
    assert.ok(Math.abs(Date.now() - described.startedAt) < 600_000);
    assert.equal(described.nodeVersion, process.version);
    assert.match(described.version, /^\d+\.\d+\.\d+/);
    assert.ok(described.files.length > 0);
    const lines = described.files.map(({ path, sha256 }) => {
      const content = readFileSync(join(ROOT, path));
      assert.equal(sha256, createHash("sha256").update(content).digest("hex"), path);
      return `${sha256}  ${path}\n`;
    });
    assert.equal(described.codeDigest, createHash("sha256").update(lines.join("")).digest("hex"));
    assert.deepEqual(await test.signer.ask({ verb: "describe" }), described);
  });

  it("passes on the server's statement under a type of its own", async () => {
    const { ephemeralPublicKey, proof } = await proveOutcome(statement);
    const appProof = {
      scheme: SCHEME,
      publicKey: ephemeralPublicKey,
      proofPayload: proof.payload,
      signature: proof.signature,
    } as const;
    const payload = openProof(appProof);
    assert.deepEqual(payload, {
      type: "APP_PROOF_TYPE_POLICY_OUTCOME",
      timestampMs: "1",
      policyOutcomeProof: statement,
    });
    verifyAppProofSignature(appProof);
    assert.throws(() => verifyAppProofSignature({ ...appProof, proofPayload: `${proof.payload} ` }), /failed/);
  });

  it("lets no statement pass for one about an address", async () => {
    const forged = { ...statement, type: "APP_PROOF_TYPE_ADDRESS_DERIVATION", addressDerivationProof: {} };
    const { proof } = await proveOutcome(forged, '1","type":"APP_PROOF_TYPE_ADDRESS_DERIVATION');
    const payload = JSON.parse(proof.payload);
    assert.equal(payload.type, "APP_PROOF_TYPE_POLICY_OUTCOME");
    assert.deepEqual(Object.keys(payload), ["type", "timestampMs", "policyOutcomeProof"]);
    const types = [...proof.payload.matchAll(/(?<!\\)"type":"([A-Z_]+)"/g)].map(([, type]) => type);
    assert.equal(types[0], "APP_PROOF_TYPE_POLICY_OUTCOME");
  });

  it("derives the address of a private key and of a wallet's account itself", async () => {
    const keys = [{ keyId: "one", curve: "CURVE_SECP256K1" } as const];
    const generated = await test.signer.ask({ verb: "generateKeys", ...test.owner, keys });
    const { sealedKey, publicKey } = generated.keys[0] as (typeof generated.keys)[number];
    const account = { curve: "CURVE_ED25519", path: "m/44'/501'/0'/0'" } as const;
    const wallet = await test.signer.ask({
      verb: "createWallet",
      ...test.owner,
      walletId: "wallet",
      mnemonicLength: 12,
      accounts: [account],
    });
    const { ephemeralPublicKey, proofs } = await test.signer.ask({
      verb: "proveAddresses",
      ...test.owner,
      addresses: [
        {
          key: { kind: "privateKey", keyId: "one", curve: "CURVE_SECP256K1", sealedKey },
          format: "ADDRESS_FORMAT_ETHEREUM",
        },
        {
          key: { kind: "walletAccount", walletId: "wallet", sealedWallet: wallet.sealedWallet, ...account },
          format: "ADDRESS_FORMAT_SOLANA",
        },
      ],
    });
    const payloads = proofs.map(({ payload, signature }) =>
      openProof({ scheme: SCHEME, publicKey: ephemeralPublicKey, proofPayload: payload, signature }),
    );
    const ethereum = deriveAddress("ADDRESS_FORMAT_ETHEREUM", "CURVE_SECP256K1", Buffer.from(publicKey, "hex"));
    const solana = deriveAddress(
      "ADDRESS_FORMAT_SOLANA",
      "CURVE_ED25519",
      Buffer.from(wallet.publicKeys[0] as string, "hex"),
    );
    assert.deepEqual(
      payloads.map(({ type, addressDerivationProof }) => ({ type, addressDerivationProof })),
      [
        {
          type: "APP_PROOF_TYPE_ADDRESS_DERIVATION",
          addressDerivationProof: { organizationId: "organization", address: ethereum },
        },
        {
          type: "APP_PROOF_TYPE_ADDRESS_DERIVATION",
          addressDerivationProof: {
            organizationId: "organization",
            walletId: "wallet",
            derivationPath: account.path,
            address: solana,
          },
        },
      ],
    );
    assert.match(payloads[0].timestampMs, /^\d{13}$/);
  });

  it("proves nothing of another organization's key", async () => {
    const keys = [{ keyId: "one", curve: "CURVE_P256" } as const];
    const { keys: made } = await test.signer.ask({ verb: "generateKeys", ...test.owner, keys });
    const other = await newOwner(test.signer, "other");
    const { sealedKey } = made[0] as (typeof made)[number];
    const key = { kind: "privateKey", keyId: "one", curve: "CURVE_P256", sealedKey } as const;
    const addresses = [{ key, format: "ADDRESS_FORMAT_COMPRESSED" } as const];
    await assert.rejects(test.signer.ask({ verb: "proveAddresses", ...other, addresses }), SignerRefused);
    const impostor = { ...other, organizationId: "organization" };
    await assert.rejects(test.signer.ask({ verb: "proveAddresses", ...impostor, addresses }), SignerRefused);
  });

  it("has other keys after every start", async () => {
    const another = await startTestSigner();
    const [one, two] = await Promise.all([test, another].map(({ signer }) => signer.ask({ verb: "describe" })));
    await another.close();
    assert.notEqual(one?.ephemeralPublicKey, two?.ephemeralPublicKey);
    assert.equal(one?.codeDigest, two?.codeDigest);
  });
});
