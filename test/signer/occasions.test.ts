import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { encryptOauth2ClientSecret } from "@turnkey/crypto";
import { deriveAddress } from "../../src/crypto/addresses.ts";
import { parseP256Point } from "../../src/crypto/hpke.ts";
import { SignerRefused } from "../../src/signer/client.ts";
import {
  type ImportClientSecretRequest,
  INSTALLATION,
  type KeyReference,
  type Occasion,
  type SignerRequest,
  type SignRequest,
} from "../../src/signer/protocol.ts";
import { newOwner, startTestSigner, type TestSigner } from "../support/signer.ts";

/** The signer uses keys of organizations for activities alone, and those keys that the activity's body names. */

const TARGET = `04${"6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"}${"4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"}`;
const ACCOUNT = { curve: "CURVE_SECP256K1", path: "m/44'/60'/0'/0/0" } as const;
const payloads = [Buffer.alloc(32, 1).toString("base64")];

describe("what the signer is asked for", () => {
  let test: TestSigner;
  let key: KeyReference;
  let account: KeyReference;
  let sealedWallet: string;

  before(async () => {
    test = await startTestSigner();
    const keys = [{ keyId: "key", curve: "CURVE_SECP256K1" as const }];
    const made = await test.signer.ask({ verb: "generateKeys", ...test.owner, keys });
    key = { kind: "privateKey", ...(keys[0] as (typeof keys)[0]), sealedKey: made.keys[0]?.sealedKey as string };
    const asked = { walletId: "wallet", mnemonicLength: 12, accounts: [ACCOUNT] } as const;
    const wallet = await test.signer.ask({ verb: "createWallet", ...test.owner, ...asked, accounts: [ACCOUNT] });
    sealedWallet = wallet.sealedWallet;
    const publicKey = Buffer.from(wallet.publicKeys[0] as string, "hex");
    const format = "ADDRESS_FORMAT_ETHEREUM";
    const address = { format, address: deriveAddress(format, ACCOUNT.curve, publicKey) } as const;
    account = { kind: "walletAccount", walletId: "wallet", sealedWallet, ...ACCOUNT, address };
  });
  after(() => test.close());

  const activity = (parameters: unknown, type = "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2"): Occasion => ({
    body: JSON.stringify({ type, organizationId: test.owner.organizationId, parameters }),
    ballots: [],
  });
  const askFor = (request: Exclude<SignerRequest, { verb: "open" }>, occasion: Occasion | undefined) =>
    test.signer.ask(request, { occasion } as { occasion: Occasion });
  const refused = (request: Exclude<SignerRequest, { verb: "open" }>, occasion: Occasion | undefined, why: RegExp) =>
    assert.rejects(askFor(request, occasion), (error) => error instanceof SignerRefused && why.test(error.message));
  const sign = (which: KeyReference): SignRequest => ({
    verb: "sign",
    ...test.owner,
    key: which,
    hash: "none",
    payloads: [...payloads],
  });

  it("needs an activity", async () => {
    const { owner } = test;
    const owned = { ...owner, targetPublicKey: TARGET };
    const requests: Exclude<SignerRequest, { verb: "open" }>[] = [
      sign(key),
      { verb: "generateKeys", ...owner, keys: [] },
      { verb: "createWallet", ...owner, walletId: "new", mnemonicLength: 12, accounts: [] },
      { verb: "deriveAccounts", ...owner, walletId: "wallet", sealedWallet, accounts: [] },
      { verb: "createImportKeys", ...owner, importIds: [] },
      { verb: "exportWallet", ...owned, walletId: "wallet", sealedWallet },
      { verb: "exportKey", ...owned, key },
      { verb: "exportSecret", ...owned, secretId: "secret", sealedSecret: "" },
      { verb: "proveAddresses", ...owner, addresses: [] },
    ];
    for (const request of requests) {
      await refused(request, undefined, /for no activity/);
      await refused(request, { body: "{", ballots: [] }, /not JSON/);
      await refused(request, { body: "[]", ballots: [] }, /names no organization/);
      const other = { body: JSON.stringify({ type: "T", organizationId: "other", parameters: {} }), ballots: [] };
      await refused(request, other, /organization organization/);
    }
  });

  it("needs the key that the activity names, by its id, its wallet or an address in any spelling", async () => {
    const address = account.address?.address as string;
    await askFor(sign(key), activity({ signWith: "key" }));
    await refused(sign(key), activity({ signWith: "another" }), /does not name/);
    await refused(sign(key), activity({}), /does not name/);
    for (const spelling of [address, address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`]) {
      await askFor(sign(account), activity({ signWith: spelling }));
    }
    await refused(sign(account), activity({ signWith: "wallet" }), /does not name/);
    const { address: _, ...nameless } = account;
    await refused(sign(nameless as KeyReference), activity({ signWith: address }), /does not name/);
    const exporting = { verb: "exportWallet", ...test.owner, walletId: "wallet", sealedWallet } as const;
    await askFor({ ...exporting, targetPublicKey: TARGET }, activity({ walletId: "wallet" }));
    await refused({ ...exporting, targetPublicKey: TARGET }, activity({ walletId: "other" }), /does not name/);
  });

  it("opens the client secret of a credential for an activity that names it, and what was sealed for another not at all", async () => {
    const { owner, signer } = test;
    const service = await newOwner(signer, INSTALLATION);
    const keys = [{ keyId: "fetcher", curve: "CURVE_P256" as const }];
    const [made] = (await signer.ask({ verb: "generateKeys", ...service, keys })).keys;
    const fetcher: KeyReference = {
      kind: "privateKey",
      keyId: "fetcher",
      curve: "CURVE_P256",
      sealedKey: made?.sealedKey as string,
    };
    const point = parseP256Point(made?.publicKey as string)?.toString("hex") as string;
    const importing = (envelope: string): ImportClientSecretRequest => ({
      verb: "importClientSecret",
      ...owner,
      credentialId: "credential",
      envelope: Buffer.from(envelope, "hex").toString("base64"),
      installationKey: service.organizationKey,
      keys: [fetcher],
    });
    const envelope = await encryptOauth2ClientSecret("client secret", point);
    const sealed = await signer.ask(importing(envelope), { occasion: activity({}) });
    assert.ok("sealedClientSecret" in sealed);
    assert.deepEqual(await signer.ask(importing("00"), { occasion: activity({}) }), { problem: "undecryptable" });
    await refused(importing(envelope), undefined, /for no activity/);
    const opening = { verb: "openClientSecret", ...owner, credentialId: "credential", ...sealed } as const;
    const named = activity({ oauth2CredentialId: "credential" });
    const { clientSecret } = await signer.ask(opening, { occasion: named });
    assert.equal(Buffer.from(clientSecret, "base64").toString(), "client secret");
    await refused(opening, activity({ oauth2CredentialId: "other" }), /does not name/);
    const other = activity({ oauth2CredentialId: "other" });
    await refused({ ...opening, credentialId: "other" }, other, /sealed/);
  });

  it("refuses an address that is not the key's, whoever names it", async () => {
    const foreign = { format: "ADDRESS_FORMAT_ETHEREUM", address: `0x${"1".repeat(40)}` } as const;
    const named = activity({ signWith: foreign.address });
    await refused(sign({ ...account, address: foreign }), named, /not that of the key/);
    await refused(sign({ ...key, address: foreign }), named, /not that of the key/);
  });

  it("makes keys of another organization for its creation alone, and uses none", async () => {
    const child = await newOwner(test.signer, "child");
    const parents = activity({ subOrganizationName: "child" }, "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8");
    const keys = [{ keyId: "of the child", curve: "CURVE_P256" as const }];
    const made = await test.signer.ask({ verb: "generateKeys", ...child, keys }, { occasion: parents });
    await refused({ verb: "generateKeys", ...child, keys }, activity({}), /organization child/);
    const sealedKey = made.keys[0]?.sealedKey as string;
    const stolen: KeyReference = { kind: "privateKey", keyId: "of the child", curve: "CURVE_P256", sealedKey };
    const naming = activity({ signWith: "of the child" }, "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8");
    const request: SignRequest = { ...sign(stolen), ...child };
    await refused(request, naming, /organization child/);
  });
});
