import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { quorumKeyEncrypt } from "@turnkey/crypto";
import { deriveAddress } from "../../src/crypto/addresses.ts";
import { generateReceiver } from "../../src/crypto/hpke.ts";
import { verifyApproval } from "../../src/crypto/manifests/approvals.ts";
import { provisioningDocument } from "../../src/crypto/manifests/provisioning.ts";
import { quorumPublicKeyOf, shareDigest } from "../../src/crypto/manifests/quorum-keys.ts";
import { openQuorumEnvelope } from "../../src/crypto/quorum-encryption.ts";
import { combineShares } from "../../src/crypto/secret-sharing.ts";
import { SignerRefused } from "../../src/signer/client.ts";
import {
  type CreateQuorumKeyRequest,
  INSTALLATION,
  type KeyReference,
  type ReEncryptQuorumShareRequest,
  type SignerRequest,
} from "../../src/signer/protocol.ts";
import { newOwner, startTestSigner, type TestSigner } from "../support/signer.ts";

/** What the signer does with quorum keys is what the activity's body says, for a key that the installation stated. */

const CREATE = "ACTIVITY_TYPE_CREATE_TVC_QUORUM_KEY";
const RE_ENCRYPT = "ACTIVITY_TYPE_RE_ENCRYPT_TVC_QUORUM_KEY_SHARE";
const PATHS = ["m/5527107'/0'/0'/0'", "m/5527107'/0'/0'/1'"] as const;
const MANIFEST = Buffer.from('{"version":"v2"}');
const HASH = createHash("sha256").update(MANIFEST).digest("hex");

describe("quorum keys in the signer", () => {
  let test: TestSigner;
  let installation: TestSigner["owner"];
  let serviceKey: KeyReference & { kind: "privateKey" };
  let servicePublicKey: string;
  let accounts: [KeyReference, KeyReference];
  let publicKeys: [string, string];

  before(async () => {
    test = await startTestSigner();
    installation = await newOwner(test.signer, INSTALLATION);
    const keys = [{ keyId: "boot", curve: "CURVE_P256" as const }];
    const [made] = (await test.signer.ask({ verb: "generateKeys", ...installation, keys })).keys;
    serviceKey = { kind: "privateKey", keyId: "boot", curve: "CURVE_P256", sealedKey: made?.sealedKey ?? "" };
    servicePublicKey = made?.publicKey ?? "";
    const derived = PATHS.map((path) => ({ curve: "CURVE_P256" as const, path }));
    const wallet = await test.signer.ask({
      verb: "createWallet",
      ...test.owner,
      walletId: "wallet",
      mnemonicLength: 12,
      accounts: derived,
    });
    const format = "ADDRESS_FORMAT_UNCOMPRESSED" as const;
    const addresses = wallet.publicKeys.map((key) => deriveAddress(format, "CURVE_P256", Buffer.from(key, "hex")));
    publicKeys = [addresses[0] ?? "", addresses[1] ?? ""];
    const account = (index: 0 | 1): KeyReference => ({
      kind: "walletAccount",
      walletId: "wallet",
      sealedWallet: wallet.sealedWallet,
      curve: "CURVE_P256",
      path: PATHS[index],
      address: { format, address: publicKeys[index] },
    });
    accounts = [account(0), account(1)];
  });
  after(() => test.close());

  const occasion = (type: string, parameters: object) => ({
    occasion: { body: JSON.stringify({ type, organizationId: test.owner.organizationId, parameters }), ballots: [] },
  });
  const refused = (request: Exclude<SignerRequest, { verb: "open" }>, type: string, parameters: object, why: RegExp) =>
    assert.rejects(
      test.signer.ask(request, occasion(type, parameters)),
      (error) => error instanceof SignerRefused && why.test(error.message),
    );

  it("are made and shared among whom the body names, with its threshold", async () => {
    const receivers = [generateReceiver(), generateReceiver(), generateReceiver()];
    const operatorEncryptKeys = receivers.map(({ publicKey }) => publicKey.toString("hex"));
    const parameters = { threshold: 2, operatorEncryptKeys };
    const { organizationId } = test.owner;
    const request: CreateQuorumKeyRequest = { verb: "createQuorumKey", organizationId, ...parameters };
    const { publicKey, shares } = await test.signer.ask(request, occasion(CREATE, parameters));
    const opened = shares.map(({ encryptedShare, digest }, index) => {
      const share = openQuorumEnvelope(receivers[index]?.secret ?? Buffer.alloc(0), Buffer.from(encryptedShare, "hex"));
      assert.ok(share && shareDigest(share) === digest);
      return share;
    });
    assert.equal(quorumPublicKeyOf(combineShares(opened.slice(1)) ?? Buffer.alloc(0)), publicKey);

    const other = generateReceiver().publicKey.toString("hex");
    const instead = { ...request, operatorEncryptKeys: [...operatorEncryptKeys.slice(1), other] };
    await refused(instead, CREATE, parameters, /differs from what the activity says/);
    const more = { ...request, operatorEncryptKeys: [...operatorEncryptKeys, other] };
    await refused(more, CREATE, parameters, /differs from what the activity says/);
    await refused({ ...request, threshold: 3 }, CREATE, parameters, /differs from what the activity says/);
    await refused(request, "ACTIVITY_TYPE_CREATE_TVC_APP", parameters, /differs from what the activity says/);
  });

  it("have a share opened for the key that the installation stated, for this manifest, and no other", async () => {
    const runner = generateReceiver();
    const asked = {
      deploymentId: "deployment",
      manifestHash: HASH,
      ephemeralPublicKey: runner.publicKey.toString("hex"),
    };
    const state = async (provisioning: typeof asked, says = provisioning): Promise<string> => {
      const { signatures } = await test.signer.ask({
        verb: "signStatements",
        ...installation,
        key: serviceKey,
        statements: [{ says: "provisioning", ...says }],
      });
      return Buffer.from(provisioningDocument(provisioning, servicePublicKey, signatures[0] ?? "")).toString("base64");
    };
    const share = Buffer.alloc(33, 5);
    const envelope = Buffer.from(await quorumKeyEncrypt(Buffer.from(publicKeys[0], "hex"), share)).toString("hex");
    const ask = async (attestationDocB64: string, change: Partial<ReEncryptQuorumShareRequest> = {}) => {
      const request: ReEncryptQuorumShareRequest = {
        verb: "reEncryptQuorumShare",
        ...test.owner,
        encryptKey: accounts[0],
        signKey: accounts[1],
        encryptedShare: envelope,
        deploymentId: asked.deploymentId,
        attestationDocB64,
        manifestB64: MANIFEST.toString("base64"),
        installationKey: installation.organizationKey,
        keys: [serviceKey],
        ...change,
      };
      const [operatorEncryptKey, operatorSignKey] = publicKeys;
      const { deploymentId, manifestB64 } = request;
      const parameters = { attestationDocB64, manifestB64, operatorEncryptKey, operatorSignKey, deploymentId };
      return { request, parameters, answer: () => test.signer.ask(request, occasion(RE_ENCRYPT, parameters)) };
    };

    const stated = await state(asked);
    const right = await ask(stated);
    const answer = await right.answer();
    assert.ok("reEncryptedShare" in answer);
    assert.deepEqual(openQuorumEnvelope(runner.secret, Buffer.from(answer.reEncryptedShare, "hex")), share);
    assert.ok(verifyApproval(Buffer.from(HASH, "hex"), publicKeys.join(""), answer.signature));

    const unstated = { problem: "unstated" };
    const mine = { ...asked, ephemeralPublicKey: generateReceiver().publicKey.toString("hex") };
    assert.deepEqual(await (await ask(await state(mine, asked))).answer(), unstated);
    assert.deepEqual(await (await ask(stated, { deploymentId: "another" })).answer(), unstated);
    const otherManifest = { manifestB64: Buffer.from("{}").toString("base64") };
    assert.deepEqual(await (await ask(stated, otherManifest)).answer(), unstated);
    assert.deepEqual(await (await ask(Buffer.from("[]").toString("base64"))).answer(), unstated);
    const strange = Buffer.from(await quorumKeyEncrypt(runner.publicKey, share)).toString("hex");
    assert.deepEqual(await (await ask(stated, { encryptedShare: strange })).answer(), { problem: "undecryptable" });

    const { request, parameters } = right;
    const swapped = { ...request, encryptKey: accounts[1], signKey: accounts[0] };
    await refused(swapped, RE_ENCRYPT, parameters, /differs from what the activity says/);
    const another = { ...request, attestationDocB64: await state(mine) };
    await refused(another, RE_ENCRYPT, parameters, /differs from what the activity says/);
    await refused(request, "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2", parameters, /differs from what the activity says/);
  });
});
