import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { after, before, describe, it } from "node:test";
import type { Address } from "@solana/kit";
import { encryptOauth2ClientSecret, encryptOnRampSecret } from "@turnkey/crypto";
import { asSponsored } from "../../src/chains/solana/sponsored.ts";
import {
  messageOf,
  parseTransaction,
  serializeMessage,
  transactionOfMessage,
} from "../../src/chains/solana/transaction.ts";
import { deriveAddress } from "../../src/crypto/addresses.ts";
import { parseCredentialBundle, sealBundle } from "../../src/crypto/bundles.ts";
import { parseP256Point } from "../../src/crypto/hpke.ts";
import { decodeApiKeyStamp, verifyApiKeyStamp } from "../../src/crypto/stamps.ts";
import { quoteIdOf } from "../../src/crypto/swap-quotes.ts";
import { p256VerificationKey, verifySignature } from "../../src/crypto/verify-signature.ts";
import { toHex } from "../../src/kernel/bytes.ts";
import { IMPORT_KEY_LIFETIME_MS, MAX_ADDRESS_LENGTH, MAX_CLOCK_AHEAD_MS } from "../../src/kernel/limits.ts";
import { SignerRefused } from "../../src/signer/client.ts";
import { useOf } from "../../src/signer/process/occasion.ts";
import {
  type AuthorizeCoinbaseRequest,
  type HpkeMessage,
  type ImportClientSecretRequest,
  INSTALLATION,
  type KeyReference,
  type Occasion,
  type SignerRequest,
  type SignMoonPayUrlRequest,
  type SignRequest,
  type SignSponsorTransactionRequest,
  type SignStatementsRequest,
} from "../../src/signer/protocol.ts";
import { type Statement, tokenInput } from "../../src/signer/statements.ts";
import { moonPaySignature, onRampProviderOfTests, openMoonPayUrl } from "../support/on-ramp-provider.ts";
import { IMPORT_TERMS, newOwner, startTestSigner, type TestSigner } from "../support/signer.ts";
import { addressOf, compiled } from "../support/solana.ts";
import { transfer } from "../support/solana-sender.ts";

/** The signer uses keys of organizations for activities alone, and those keys that the activity's body names. */

const TARGET = `04${"6b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"}${"4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5"}`;
/** Of secp256k1: somebody's public key. */
const GENERATOR = "0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798";
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

  it("signs for Spark what the activity says, to the last member", async () => {
    const path = "m/8797555'/0'/0'";
    const asked = { walletId: "spark", mnemonicLength: 12, accounts: [{ curve: ACCOUNT.curve, path }] } as const;
    const wallet = await test.signer.ask({
      verb: "createWallet",
      ...test.owner,
      ...asked,
      accounts: [{ curve: ACCOUNT.curve, path }],
    });
    const [point = ""] = wallet.publicKeys;
    const format = "ADDRESS_FORMAT_SPARK_REGTEST";
    const signWith = deriveAddress(format, ACCOUNT.curve, Buffer.from(point, "hex"));
    const { sealedWallet } = wallet;
    const { curve } = ACCOUNT;
    const address = { format, address: signWith } as const;
    const key: KeyReference = { kind: "walletAccount", walletId: "spark", sealedWallet, curve, path, address };
    const signature = {
      derivation: { identity: {} },
      message: "11".repeat(32),
      verifyingKey: GENERATOR,
      operatorCommitments: [{ id: "1".padStart(64, "0"), hiding: point, binding: point }],
    };
    const request = { verb: "signSparkFrost", ...test.owner, key, signatures: [signature] } as const;
    const type = "ACTIVITY_TYPE_SPARK_SIGN_FROST";
    const named = (signatures: unknown) => activity({ signWith, signatures }, type);
    await askFor({ ...request, signatures: [signature] }, named([{ ...signature, adaptorPublicKey: null }]));
    const why = /differs from what the activity says/;
    for (const signatures of [
      [{ ...signature, message: "12".repeat(32) }],
      [{ ...signature, derivation: { deposit: {} } }],
      [{ ...signature, adaptorPublicKey: point }],
      [{ ...signature, operatorCommitments: [...signature.operatorCommitments, ...signature.operatorCommitments] }],
      [{ ...signature, derivation: { identity: 5 } }],
      [signature, signature],
      { 0: signature },
      null,
      undefined,
    ]) {
      await refused({ ...request, signatures: [signature] }, named(signatures), why);
    }
    await refused({ ...request, signatures: [signature] }, activity({ signWith, signatures: [signature] }), why);
    const sharing = { threshold: 2, operatorRecipients: [{ operatorId: "a", encryptionPublicKey: point }] };
    const receive = { verb: "prepareSparkLightningReceive", ...test.owner, key, lightningReceive: sharing } as const;
    const receiving = activity({ signWith, lightningReceive: sharing }, type);
    await refused(receive, receiving, why);
    for (const lightningReceive of [null, "text", [sharing]]) {
      const body = activity({ signWith, lightningReceive }, "ACTIVITY_TYPE_SPARK_PREPARE_LIGHTNING_RECEIVE");
      await refused(receive, body, why);
    }
    // The wallet is what `signWith` names, wherever else its address stands.
    const elsewhere = { threshold: 2, operatorRecipients: [{ operatorId: signWith, encryptionPublicKey: point }] };
    const of = (parameters: object) => activity(parameters, "ACTIVITY_TYPE_SPARK_PREPARE_LIGHTNING_RECEIVE");
    for (const parameters of [{ signWith: "another" }, { signWith: { signWith: "another" } }, {}, { more: signWith }]) {
      const body = of({ ...parameters, lightningReceive: elsewhere });
      await refused({ ...receive, lightningReceive: elsewhere }, body, /does not name/);
    }
  });

  it("tells of a key that was used, and of a drill too, which has no activity", () => {
    const { organizationId } = test.owner;
    const rehearse: SignerRequest = { verb: "rehearse", ...test.owner, items: [] };
    assert.deepEqual(useOf(rehearse, undefined), { verb: "rehearse", organizationId });
    const use = useOf(sign(key), activity({ signWith: "key" }));
    assert.deepEqual([use?.verb, use?.named], ["sign", "key"]);
    const paying = { verb: "signSponsorTransaction", ...test.owner, key, purpose: "gas" } as unknown as SignerRequest;
    assert.equal(useOf(paying, activity({ signWith: "key" }))?.purpose, "gas");
  });

  it("tells the activity and the name by which it names what is used, and refuses what it does not name", () => {
    const { organizationId } = test.owner;
    const uses: [object, parameters: object, named: string][] = [
      [{ verb: "openOtp", otpId: "otp" }, { otpId: "otp" }, "otp"],
      [{ verb: "exportSecret", secretId: "secret" }, { secretIds: ["secret"] }, "secret"],
      [{ verb: "exportWallet", walletId: "wallet" }, { walletId: "wallet" }, "wallet"],
      [{ verb: "deriveAccounts", walletId: "wallet" }, { walletId: "wallet" }, "wallet"],
      [{ verb: "exportKey", key }, { privateKeyId: "key" }, "key"],
      [{ verb: "openClientSecret", credentialId: "credential" }, { oauth2CredentialId: "credential" }, "credential"],
    ];
    for (const [asked, parameters, named] of uses) {
      const request = { organizationId, ...asked } as unknown as SignerRequest;
      const { verb } = request;
      const use = useOf(request, activity(parameters, "ACTIVITY_TYPE_TEST"));
      assert.equal(use?.named, named, verb);
      assert.deepEqual([use?.activityType, use && "purpose" in use], ["ACTIVITY_TYPE_TEST", false], verb);
      const more = { ...parameters, unsaid: null, count: 1, [named]: "another" };
      const others = Object.fromEntries(Object.keys(parameters).map((member) => [member, "another"]));
      assert.equal(useOf(request, activity(more))?.named, named, verb);
      for (const other of [others, {}, { nested: { [named]: [others] } }, undefined]) {
        assert.throws(() => useOf(request, activity(other)), /does not name/, `${verb} ${JSON.stringify(other)}`);
      }
    }
  });

  it("does not take a key of an account for a private key of that id", () => {
    const { address: _, ...nameless } = account;
    const withId = { ...nameless, keyId: "key" } as unknown as KeyReference;
    assert.throws(() => useOf(sign(withId), activity({ signWith: "key" })), /does not name/);
  });

  it("tells of no activity where a query asks, which names what it is about as it is", () => {
    const { organizationId } = test.owner;
    const envelope = "e".repeat(2 * MAX_ADDRESS_LENGTH);
    const asked = { verb: "openPullSecret", organizationId, envelope } as SignerRequest;
    const query = (members: object): Occasion => ({
      body: JSON.stringify({ organizationId, ...members }),
      ballots: [],
    });
    const use = useOf(asked, query({ pullSecret: envelope }));
    assert.deepEqual([use?.named, use && "activityType" in use], [envelope, false]);
    assert.throws(() => useOf(asked, query({ pullSecret: envelope.toUpperCase() })), /does not name/);
  });

  it("states an outcome for a user of an organization below the one that the activity names, as it uses no key of theirs", () => {
    const policyOutcome = { organizationId: "child" };
    const stating = { verb: "provePolicyOutcome", policyOutcome } as unknown as SignerRequest;
    assert.equal(useOf(stating, activity({}))?.organizationId, "child");
    assert.throws(() => useOf(stating, undefined), /not for an activity/);
  });

  it("needs an activity", async () => {
    const { owner } = test;
    const owned = { ...owner, targetPublicKey: TARGET };
    const requests: Exclude<SignerRequest, { verb: "open" }>[] = [
      sign(key),
      { verb: "generateKeys", ...owner, keys: [] },
      { verb: "createWallet", ...owner, walletId: "new", mnemonicLength: 12, accounts: [] },
      { verb: "deriveAccounts", ...owner, walletId: "wallet", sealedWallet, accounts: [] },
      { verb: "createImportKeys", ...owner, terms: { purpose: "key", ...IMPORT_TERMS }, importIds: [] },
      { verb: "exportWallet", ...owned, walletId: "wallet", sealedWallet },
      { verb: "exportKey", ...owned, key },
      { verb: "exportSecret", ...owned, secretId: "secret", sealedSecret: "" },
      { verb: "proveAddresses", ...owner, addresses: [] },
    ];
    for (const request of requests) {
      await refused(request, undefined, /not for an activity/);
      await refused(request, { body: "{", ballots: [] }, /not JSON/);
      for (const body of ["[]", "null", '"text"']) {
        await refused(request, { body, ballots: [] }, /names no organization/);
      }
      const ofNobody = { type: "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8", parameters: {} };
      await refused(request, { body: JSON.stringify(ofNobody), ballots: [] }, /names no organization/);
      const other = { body: JSON.stringify({ type: "T", organizationId: "other", parameters: {} }), ballots: [] };
      await refused(request, other, /organization organization/);
    }
  });

  it("needs the key that the activity names, by its id, its wallet or an address in any spelling", async () => {
    const address = account.address?.address as string;
    await askFor(sign(key), activity({ unsaid: null, signWith: "key" }));
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

  it("needs the quote that a swap names to be that of the key", async () => {
    const address = account.address?.address as string;
    const { organizationId } = test.owner;
    const type = "ACTIVITY_TYPE_EXECUTE_SWAP_V2";
    const termsFor = (more: object) => JSON.stringify({ organizationId, signWith: address.toLowerCase(), ...more });
    const swap = (terms: string, named = quoteIdOf(terms)): Occasion => ({
      ...activity({ quoteId: named }, type),
      plan: { terms },
    });
    await askFor(sign(account), swap(termsFor({})));
    const why = /does not name/;
    await refused(sign(account), swap(termsFor({}), quoteIdOf("another")), why);
    await refused(sign(account), swap(termsFor({ signWith: `0x${"ab".repeat(20)}` })), why);
    await refused(sign(account), swap(termsFor({ organizationId: "other" })), why);
    await refused(sign(account), activity({ quoteId: quoteIdOf(termsFor({})) }, type), why);
    await refused(sign(key), swap(termsFor({})), why);
    await refused(sign(account), { ...activity(undefined, type), plan: { terms: termsFor({}) } }, why);
    const elsewhere = { ...activity({ quoteId: quoteIdOf(termsFor({})) }), plan: { terms: termsFor({}) } };
    await refused(sign(account), elsewhere, why);
  });

  it("signs for a quote that has a message that message alone, with any blockhash", async () => {
    const address = account.address?.address as string;
    const type = "ACTIVITY_TYPE_EXECUTE_SWAP_V2";
    const parts = { version: 0, header: [1, 0, 1], keys: [1, 2].map(addressOf), lookups: [] } as const;
    const messageAt = (blockhash: string, data = 7) =>
      serializeMessage({ ...parts, blockhash, instructions: [{ program: 1, accounts: [0], data: Buffer.of(data) }] });
    const message = messageAt(addressOf(0)).toString("hex");
    const terms = JSON.stringify({
      organizationId: test.owner.organizationId,
      signWith: address.toLowerCase(),
      message,
    });
    const swap = { ...activity({ quoteId: quoteIdOf(terms) }, type), plan: { terms } };
    const asked = (...payloads: Uint8Array[]): SignRequest => ({
      ...sign(account),
      hash: "none",
      payloads: payloads.map((payload) => Buffer.from(payload).toString("base64")),
    });
    const other = /is not that of the swap quote/;
    const [named, changed] = [messageAt(addressOf(9)), messageAt(addressOf(9), 8)];
    await refused(asked(changed), swap, other);
    await refused(asked(named, named), swap, other);
    await refused(asked(named.subarray(1)), swap, other);
    await refused(asked(), swap, other);
    await refused({ ...asked(named), hash: "keccak256" }, swap, other);
    // What is left to say against it is that this key is not of Ed25519.
    await refused(asked(named), swap, /^(?!.*another message)/);
    // With a payer where the body asks for one, and nowhere else; all that may come with it is what pays.
    const sponsoredSwap = { ...activity({ quoteId: quoteIdOf(terms), sponsor: true }, type), plan: { terms } };
    const quoted = transactionOfMessage(named, "message");
    const sponsored = messageOf(asSponsored(quoted, addressOf(5), addressOf(9), { unitPrice: 1n, grants: [] }));
    const another = transactionOfMessage(changed, "message");
    const changedToo = messageOf(asSponsored(another, addressOf(5), addressOf(9), { unitPrice: 1n, grants: [] }));
    await refused(asked(sponsored), swap, other);
    await refused(asked(named), sponsoredSwap, /another message/);
    await refused(asked(changedToo), sponsoredSwap, /another message/);
    await refused(asked(sponsored, sponsored), sponsoredSwap, other);
    await refused(asked(sponsored), sponsoredSwap, /^(?!.*another message)/);
  });

  it("signs for a claim of swap fees one message of 32 bytes with the receiver's key, and nothing else", async () => {
    const type = "ACTIVITY_TYPE_CLAIM_SWAP_FEES";
    const address = account.address?.address as string;
    const claim = { ...activity({}, type), plan: { receiver: address.toLowerCase() } };
    const message = Buffer.concat([Buffer.from("\x19Ethereum Signed Message:\n32"), Buffer.alloc(32, 7)]);
    const base64 = (payload: Uint8Array) => Buffer.from(payload).toString("base64");
    const asked = (payload: Uint8Array, hash: SignRequest["hash"] = "keccak256"): SignRequest => ({
      ...sign(account),
      hash,
      payloads: [base64(payload)],
    });
    await askFor(asked(message), claim);
    const why = /does not name/;
    await refused({ ...asked(message), payloads: [base64(message), base64(message)] }, claim, why);
    await refused({ ...asked(message), payloads: [] }, claim, why);
    await refused(asked(message), activity({}, type), why);
    await refused(asked(message), { ...activity({}, type), plan: { receiver: `0x${"ab".repeat(20)}` } }, why);
    await refused({ ...asked(message), key: sign(key).key }, claim, why);
    await refused(asked(message, "none"), claim, why);
    await refused(asked(message.subarray(1)), claim, why);
    await refused(asked(Buffer.concat([message, Buffer.of(0)])), claim, why);
    await refused(asked(Buffer.alloc(message.length)), claim, why);
    await refused(asked(message), { ...claim, ...activity({}, "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2") }, why);
  });

  it("signs with keys of the installation what these say, and no bytes that it is handed", async () => {
    const { owner, signer } = test;
    const service = await newOwner(signer, INSTALLATION);
    const keys = [{ keyId: "statements", curve: "CURVE_P256" as const }];
    const [made] = (await signer.ask({ verb: "generateKeys", ...service, keys })).keys;
    const key = { keyId: "statements", curve: "CURVE_P256" as const, sealedKey: made?.sealedKey as string };
    const stating = (statement: object): SignStatementsRequest => ({
      verb: "signStatements",
      ...service,
      key,
      statements: [statement as Statement],
    });
    const verification = { id: "1", verification_type: "T", contact: "a@example.com", organization_id: "o", exp: "1" };
    const statement: Statement = { says: "verification", claims: verification };
    const { signatures } = await signer.ask(stating(statement));
    const verificationKey = p256VerificationKey(made?.publicKey as string);
    const signature = Buffer.from(signatures[0] as string, "hex");
    assert.ok(await verifySignature("sha256", Buffer.from(tokenInput(statement)), verificationKey, signature));

    const raw = { verb: "sign", ...service, key: { kind: "privateKey", ...key }, hash: "none", payloads } as const;
    await refused(raw, { body: "{}", ballots: [] }, /only makes the installation's statements/);
    await refused({ ...stating(statement), ...owner }, undefined, /only the installation makes statements/);
    const malformed: [object, RegExp][] = [
      [{ says: "anything", text: "as the server likes" }, /no such statement/],
      [{ says: "verification", claims: { ...verification, more: "x" } }, /no `more`/],
      [{ says: "verification", claims: { ...verification, contact: { toJSON: 1 } } }, /`contact`/],
      [{ says: "session", claims: verification }, /no `id`/],
      [{ says: "identity", keyId: 'k"', claims: {} }, /another form/],
      [{ says: "delivery", keyId: "key", timestampMs: "1", eventId: "event", body: "" }, /`timestampMs`/],
      [{ says: "standardDelivery", seconds: 1, eventId: "v1.ed25519.key", body: "" }, /another form/],
    ];
    for (const [statement, why] of malformed) await refused(stating(statement), undefined, why);
  });

  it("opens an import with the key that was made for this user, of late, and for this kind of import", async () => {
    const { owner, signer } = test;
    const terms = { userId: "ada", issuedAt: 1_000_000_000_000 };
    const asked = { verb: "createImportKeys" as const, ...owner, importIds: ["import"] };
    const { importKeys } = await signer.ask(
      { ...asked, terms: { purpose: "secret", ...terms } },
      { occasion: activity({}) },
    );
    const [{ sealedImportKey, targetPublicKey }] = importKeys as [(typeof importKeys)[0]];
    const { encapped, ciphertext } = sealBundle(Buffer.from(targetPublicKey, "hex"), Buffer.from("a secret"));
    const bundle = { encappedPublic: toHex(encapped), ciphertext: toHex(ciphertext) };
    const key = { importId: "import", sealedImportKey, ...terms };
    const importing = { verb: "importSecret", ...owner, bundle, secretId: "secret", importKeys: [key] } as const;
    const stampedBy = (userId: string, timestampMs: number): Occasion => ({
      body: JSON.stringify({ ...JSON.parse(activity({}).body), timestampMs: String(timestampMs) }),
      ballots: [{ userId, publicKey: "", scheme: "", signature: "" }],
    });
    const inTime = terms.issuedAt + IMPORT_KEY_LIFETIME_MS;
    const request = { ...importing, importKeys: [...importing.importKeys] };
    assert.ok("sealedSecret" in (await signer.ask(request, { occasion: stampedBy("ada", inTime) })));
    await refused(request, stampedBy("eve", inTime), /of somebody else/);
    await refused(request, activity({}), /of somebody else/);
    await refused(request, stampedBy("ada", inTime + 3_600_000), /has expired/);
    const renamed = { ...request, importKeys: [{ ...key, userId: "eve" }] };
    await refused(renamed, stampedBy("eve", inTime), /sealed for something else/);
    const younger = { ...request, importKeys: [{ ...key, issuedAt: inTime }] };
    await refused(younger, stampedBy("ada", inTime), /sealed for something else/);
    const wallet = { ...request, verb: "importWallet", walletId: "w", accounts: [] } as const;
    const named = { ...stampedBy("ada", inTime) };
    const body = JSON.stringify({ ...JSON.parse(named.body), parameters: { userId: "ada" } });
    await refused({ ...wallet, accounts: [] }, { ...named, body }, /sealed for something else/);
    // Of a key or a wallet, it is the user whom the body names, whoever approves.
    for (const parameters of [{ userId: "eve" }, {}, undefined]) {
      const other = JSON.stringify({ ...JSON.parse(named.body), parameters });
      await refused({ ...wallet, accounts: [] }, { ...named, body: other }, /of somebody else/);
    }
    const last = inTime + MAX_CLOCK_AHEAD_MS;
    await signer.ask(request, { occasion: stampedBy("ada", last) });
    await refused(request, stampedBy("ada", last + 1), /has expired/);
    const timeless = stampedBy("ada", inTime);
    const { timestampMs: _, ...untold } = JSON.parse(timeless.body);
    await refused(request, { ...timeless, body: JSON.stringify(untold) }, /has expired/);
  });

  it("signs with a sponsor's key transactions for an activity of the organization that it pays for, and nothing else", async () => {
    const { owner, signer } = test;
    const service = await newOwner(signer, INSTALLATION);
    const keys = (["CURVE_SECP256K1", "CURVE_ED25519"] as const).map((curve) => ({ keyId: curve, curve }));
    const sealed = async (isSponsor: object) => {
      const asked = keys.map((key) => ({ ...key, ...isSponsor }));
      return (await signer.ask({ verb: "generateKeys", ...service, keys: asked })).keys;
    };
    const made = await sealed({ isSponsor: true });
    const ordinary = await sealed({});
    const signing = (index: number, bytes: number[], of = made): SignSponsorTransactionRequest => ({
      verb: "signSponsorTransaction",
      organizationId: owner.organizationId,
      installationKey: service.organizationKey,
      key: { ...(keys[index] as (typeof keys)[0]), sealedKey: of[index]?.sealedKey as string },
      transaction: Buffer.from(bytes).toString("base64"),
      purpose: "test",
    });
    for (const bytes of [
      [2, 0xc0],
      [4, 0xc0],
    ]) {
      const { signature } = await signer.ask(signing(0, bytes), { occasion: activity({}) });
      assert.match(signature.r, /^[0-9a-f]{64}$/);
    }
    await refused(signing(0, [2, 0xc0]), undefined, /not for an activity/);
    const others = { body: JSON.stringify({ type: "T", organizationId: "other", parameters: {} }), ballots: [] };
    await refused(signing(0, [2, 0xc0]), others, /organization organization/);
    for (const first of [0, 1, 3, 0xc0])
      await refused(signing(0, [first, 0xc0]), activity({}), /only transactions of types 2 and 4/);
    for (const first of [0, 0x81, 0xff]) {
      const sends = activity({ sponsor: true, unsignedTransaction: "00" }, "ACTIVITY_TYPE_SOL_SEND_TRANSACTION_V2");
      await refused(signing(1, [first]), sends, /messages of Solana alone/);
    }
    await refused(signing(0, [2, 0xc0], ordinary), activity({}), /sealed/);
    const [key] = keys.map((one) => ({ ...one, sealedKey: made[0]?.sealedKey as string }));
    const raw = {
      verb: "sign",
      ...service,
      key: { kind: "privateKey", ...key },
      hash: "none",
      payloads,
    } as SignRequest;
    await refused(raw, activity({}), /only makes the installation's statements|organization service/);
    const verification = { id: "1", verification_type: "T", contact: "a@example.com", organization_id: "o", exp: "1" };
    const statements: Statement[] = [{ says: "verification", claims: verification }];
    const stating = { verb: "signStatements", ...service, key, statements } as SignStatementsRequest;
    await refused(stating, undefined, /sealed/);
  });

  it("signs as the sponsor on Solana what becomes of the activity's transaction, and no other message", async () => {
    const { owner, signer } = test;
    const service = await newOwner(signer, INSTALLATION);
    const curve = "CURVE_ED25519";
    const asked = ["sponsor", "another"].map((keyId) => ({ keyId, curve, isSponsor: true }) as const);
    const { keys } = await signer.ask({ verb: "generateKeys", ...service, keys: asked });
    const [payer, another] = keys.map(({ publicKey }) =>
      deriveAddress("ADDRESS_FORMAT_SOLANA", curve, Buffer.from(publicKey, "hex")),
    ) as [Address, Address];
    const [from, to] = [addressOf(1), addressOf(2)];
    const wire = compiled({
      version: 0,
      payer: from,
      blockhash: addressOf(3),
      instructions: [transfer(from, to, 5n)],
    });
    const given = parseTransaction(wire, "wire");
    const additions = { unitLimit: 1000, unitPrice: 1n, grants: [{ to: from, lamports: 10n }] };
    const blockhash = addressOf(4);
    const sponsored = (more: object = {}, by: string = payer) =>
      asSponsored(given, by, blockhash, { ...additions, ...more });
    const signing = (message: Uint8Array, keyId = "sponsor"): SignSponsorTransactionRequest => ({
      verb: "signSponsorTransaction",
      organizationId: owner.organizationId,
      installationKey: service.organizationKey,
      key: { keyId, curve, sealedKey: keys[keyId === "sponsor" ? 0 : 1]?.sealedKey as string },
      transaction: Buffer.from(message).toString("base64"),
      purpose: "sol_send_transaction",
    });
    const [v1, v2] = ["ACTIVITY_TYPE_SOL_SEND_TRANSACTION", "ACTIVITY_TYPE_SOL_SEND_TRANSACTION_V2"];
    const hex = wire.toString("hex");
    const sends = (parameters: object = {}, type = v2) =>
      activity({ sponsor: true, unsignedTransaction: hex, ...parameters }, type);
    const message = messageOf(sponsored());
    const terms = JSON.stringify({
      organizationId: owner.organizationId,
      signWith: from,
      message: Buffer.from(messageOf(given)).toString("hex"),
    });
    const swaps = (parameters: object = {}, planned = terms): Occasion => ({
      ...activity({ sponsor: true, quoteId: quoteIdOf(terms), ...parameters }, "ACTIVITY_TYPE_EXECUTE_SWAP_V2"),
      plan: { terms: planned },
    });
    const elsewhere = JSON.stringify({ ...JSON.parse(terms), organizationId: "other" });
    for (const occasion of [
      swaps(),
      swaps({ recentBlockhash: blockhash }),
      sends(),
      sends({ unsignedTransaction: `0x${hex.toUpperCase()}`, recentBlockhash: blockhash }),
      sends({ unsignedTransaction: wire.toString("base64") }, v1),
    ]) {
      const { signature } = await signer.ask(signing(message), { occasion });
      const { r, s } = signature;
      const x = Buffer.from(keys[0]?.publicKey as string, "hex").toString("base64url");
      const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
      assert.ok(await verifySignature(null, message, key, Buffer.from(r + s, "hex")));
    }

    const other = /another message than the activity's/;
    for (const [bytes, occasion, why] of [
      [message, sends({ sponsor: false }), /has no sponsored Solana transaction/],
      [message, sends({}, "ACTIVITY_TYPE_SIGN_TRANSACTION_V2"), /has no sponsored Solana transaction/],
      [message, activity({}), /has no sponsored Solana transaction/],
      [message, swaps({ sponsor: false }), /has no sponsored Solana transaction/],
      [message, swaps({}, `${terms} `), /has no sponsored Solana transaction/],
      [message, swaps({ quoteId: quoteIdOf(elsewhere) }, elsewhere), /has no sponsored Solana transaction/],
      [message, swaps({ recentBlockhash: addressOf(5) }), /another blockhash than the activity's/],
      [messageOf(given), swaps(), other],
      [messageOf(sponsored({ grants: [{ to: from, lamports: 10n ** 9n }] })), swaps(), /10{9} in rent/],
      [message, sends({ recentBlockhash: addressOf(5) }), /another blockhash than the activity's/],
      // What the server would have to have made of it.
      [messageOf(given), sends(), other],
      [messageOf(parseTransaction(compiled({ version: 0, payer, blockhash, instructions: [] }), "w")), sends(), other],
      [
        messageOf(
          asSponsored(
            parseTransaction(
              compiled({ version: 0, payer: from, blockhash, instructions: [transfer(from, to, 6n)] }),
              "wire",
            ),
            payer,
            blockhash,
            additions,
          ),
        ),
        sends(),
        other,
      ],
      [
        messageOf(
          parseTransaction(
            compiled({
              version: 0,
              payer,
              blockhash,
              instructions: [transfer(payer, to, 7n), transfer(from, to, 5n)],
            }),
            "wire",
          ),
        ),
        sends(),
        other,
      ],
      [messageOf(sponsored({ unitPrice: 10n ** 15n })), sends(), /asked to pay \d+ lamports in fees and 10 in rent/],
      [messageOf(sponsored({ grants: [{ to: from, lamports: 10n ** 9n }] })), sends(), /10{9} in rent/],
      [messageOf(sponsored({}, addressOf(9))), sends(), /is not the fee payer/],
      [messageOf(sponsored({}, another)), sends(), /is not the fee payer/],
    ] as const) {
      await refused(signing(bytes), occasion, why);
    }
    // A transaction that names the sponsor is not sponsored, whatever is made of it.
    const theft = compiled({ version: 0, payer: from, blockhash, instructions: [transfer(payer, from, 5n)] });
    const stolen = messageOf(
      parseTransaction(compiled({ version: 0, payer, blockhash, instructions: [transfer(payer, from, 5n)] }), "w"),
    );
    await refused(signing(stolen), sends({ unsignedTransaction: theft.toString("hex") }), other);
    // Nor one for which a third account pays, with the sponsor as one that signs what is done.
    const thirdPays = asSponsored(parseTransaction(theft, "wire"), addressOf(9), blockhash, {
      unitLimit: 1000,
      unitPrice: 1n,
      grants: [],
    });
    const named = sends({ unsignedTransaction: theft.toString("hex") });
    await refused(signing(messageOf(thirdPays)), named, /is not the fee payer/);
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
    await refused(importing(envelope), undefined, /not for an activity/);
    const opening = { verb: "openClientSecret", ...owner, credentialId: "credential", ...sealed } as const;
    const named = activity({ oauth2CredentialId: "credential" });
    const { clientSecret } = await signer.ask(opening, { occasion: named });
    assert.equal(Buffer.from(clientSecret, "base64").toString(), "client secret");
    await refused(opening, activity({ oauth2CredentialId: "other" }), /does not name/);
    const other = activity({ oauth2CredentialId: "other" });
    await refused({ ...opening, credentialId: "other" }, other, /sealed/);
  });

  it("signs with keys of an on-ramp provider what an activity or a query names, and nothing that it is handed", async () => {
    const { owner, signer } = test;
    const service = await newOwner(signer, INSTALLATION);
    const keys = [{ keyId: "on-ramp", curve: "CURVE_P256" as const }];
    const [made] = (await signer.ask({ verb: "generateKeys", ...service, keys })).keys;
    const { publicKey = "", sealedKey = "" } = made ?? {};
    const encrypted = (secret: string): HpkeMessage => {
      const message = parseCredentialBundle(encryptOnRampSecret(secret, publicKey));
      const hex = (bytes: Uint8Array | undefined) => Buffer.from(bytes ?? []).toString("hex");
      return { encappedPublic: hex(message?.encapped), ciphertext: hex(message?.ciphertext) };
    };
    const importing = {
      verb: "importOnRampKeys" as const,
      ...owner,
      credentialId: "credential",
      installationKey: service.organizationKey,
      keys: [{ kind: "privateKey" as const, keyId: "on-ramp", curve: "CURVE_P256" as const, sealedKey }],
    };
    const creating = activity({}, "ACTIVITY_TYPE_CREATE_FIAT_ON_RAMP_CREDENTIAL");
    const { keyId, privateKey } = (await onRampProviderOfTests()).coinbaseAccount();
    const ofMoonPay = await askFor({ ...importing, provider: "moonpay", secretApiKey: encrypted("sk") }, creating);
    const bundles = { secretApiKey: encrypted("secret"), privateApiKey: encrypted(privateKey) };
    const ofCoinbase = await askFor({ ...importing, provider: "coinbase", ...bundles }, creating);
    assert.ok("sealedKeys" in ofMoonPay && "sealedKeys" in ofCoinbase);
    const garbled = { ...encrypted("sk"), ciphertext: "00".repeat(20) };
    const answer = await askFor({ ...importing, provider: "moonpay", secretApiKey: garbled }, creating);
    assert.deepEqual(answer, { problem: "undecryptable", of: "secretApiKey" });

    const begin = (parameters: object, organizationId = owner.organizationId): Occasion => ({
      body: JSON.stringify({ type: "ACTIVITY_TYPE_INIT_FIAT_ON_RAMP", organizationId, parameters }),
      ballots: [],
    });
    const purchase = { apiKey: "pk", currencyCode: "eth", walletAddress: "0xab", externalTransactionId: "1" };
    const signing: SignMoonPayUrlRequest = {
      verb: "signMoonPayUrl",
      ...owner,
      credentialId: "credential",
      ...ofMoonPay,
      sandbox: false,
      of: { purchase },
    };
    const { url } = await signer.ask(signing, { occasion: begin({ walletAddress: "0xab" }) });
    assert.deepEqual(openMoonPayUrl(url, "sk"), purchase);
    // A sub-organization's activity may use what its parent lends.
    await askFor(signing, begin({ walletAddress: "0xab" }, "child"));
    await refused(signing, begin({ walletAddress: "0xcd" }), /does not name/);
    await refused(signing, activity({ walletAddress: "0xab" }), /does not begin a purchase/);
    await refused(signing, undefined, /not for an activity/);
    const given = "https://buy.moonpay.com?apiKey=pk";
    const named = { ...signing, of: { url: given } };
    const { signature } = await signer.ask(named, { occasion: begin({ urlForSignature: given }) });
    assert.equal(signature, moonPaySignature("?apiKey=pk", "sk"));
    await refused(named, begin({ walletAddress: "0xab" }), /does not name/);
    const elsewhere = "https://evil.example?apiKey=pk";
    await refused({ ...signing, of: { url: elsewhere } }, begin({ urlForSignature: elsewhere }), /buy\.moonpay\.com/);
    await refused({ ...signing, ...ofCoinbase }, begin({ walletAddress: "0xab" }), /sealed for something else/);
    await refused({ ...signing, credentialId: "other" }, begin({ walletAddress: "0xab" }), /sealed/);

    const authorizing = {
      verb: "authorizeCoinbase" as const,
      ...owner,
      credentialId: "credential",
      ...ofCoinbase,
      keyId,
    };
    const token: AuthorizeCoinbaseRequest = { ...authorizing, host: "api.example", request: { of: "token" } };
    const atCoinbase = { onrampProvider: "FIAT_ON_RAMP_PROVIDER_COINBASE" };
    await askFor(token, begin(atCoinbase));
    await refused(token, begin({ onrampProvider: "FIAT_ON_RAMP_PROVIDER_MOONPAY" }), /does not name/);
    await refused(token, activity(atCoinbase), /does not begin a purchase/);
    await refused({ ...token, host: "api.example/path" }, begin(atCoinbase), /not a host name/);
    const reading: AuthorizeCoinbaseRequest = { ...token, request: { of: "transactions", transactionId: "1234" } };
    const query = (body: object): Occasion => ({ body: JSON.stringify(body), ballots: [] });
    await askFor(reading, query({ organizationId: owner.organizationId, transactionId: "1234" }));
    await refused(reading, query({ organizationId: owner.organizationId, transactionId: "1235" }), /does not name/);
    await refused(reading, query({ transactionId: "1234" }), /names no organization/);
    await refused(token, query({ organizationId: owner.organizationId, ...atCoinbase }), /names no organization/);
  });

  it("refuses an address that is not the key's, whoever names it", async () => {
    const foreign = { format: "ADDRESS_FORMAT_ETHEREUM", address: `0x${"1".repeat(40)}` } as const;
    const named = activity({ signWith: foreign.address });
    await refused(sign({ ...account, address: foreign }), named, /does not belong to the key/);
    await refused(sign({ ...key, address: foreign }), named, /does not belong to the key/);
  });

  it("makes keys of another organization for its creation alone, and uses none", async () => {
    const child = await newOwner(test.signer, "child");
    const parents = activity({ subOrganizationName: "child" }, "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8");
    const keys = [{ keyId: "of the child", curve: "CURVE_P256" as const }];
    const made = await test.signer.ask({ verb: "generateKeys", ...child, keys }, { occasion: parents });
    await refused({ verb: "generateKeys", ...child, keys }, activity({}), /organization child/);
    const wallet = { verb: "createWallet", ...child, walletId: "w", mnemonicLength: 12, accounts: [] } as const;
    await test.signer.ask({ ...wallet, accounts: [] }, { occasion: parents });
    await refused({ ...wallet, accounts: [] }, activity({}), /organization child/);
    const importing = { verb: "createImportKeys", ...child, terms: { purpose: "key", ...IMPORT_TERMS } } as const;
    await refused({ ...importing, importIds: [] }, parents, /organization child/);
    const likeIt = ["XACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8", "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8_X"];
    for (const type of [...likeIt, "ACTIVITY_TYPE_DELETE_SUB_ORGANIZATION"]) {
      await refused({ verb: "generateKeys", ...child, keys }, activity({}, type), /organization child/);
    }
    const sealedKey = made.keys[0]?.sealedKey as string;
    const stolen: KeyReference = { kind: "privateKey", keyId: "of the child", curve: "CURVE_P256", sealedKey };
    const naming = activity({ signWith: "of the child" }, "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8");
    const request: SignRequest = { ...sign(stolen), ...child };
    await refused(request, naming, /organization child/);
  });

  it("stamps for an auth proxy what proxies may send, in the name of its own organization, and nothing else", async () => {
    const { owner, signer } = test;
    const creating = { verb: "createAuthProxyKey", ...owner, configId: "config" } as const;
    await refused(creating, undefined, /not for an activity/);
    const { sealedKey, publicKey } = await signer.ask(creating, { occasion: activity({}) });
    const stamp = (body: object, more: object = {}) =>
      signer.ask({
        verb: "stampAuthProxyBody",
        ...owner,
        configId: "config",
        sealedKey,
        body: JSON.stringify(body),
        ...more,
      });
    const { organizationId } = owner;
    const query = { organizationId, filterType: "EMAIL" };
    const { signature } = await stamp(query);
    const decoded = { publicKey, signature, scheme: "SIGNATURE_SCHEME_TK_API_P256" };
    const header = Buffer.from(JSON.stringify(decoded)).toString("base64url");
    assert.ok(await verifyApiKeyStamp(decodeApiKeyStamp(header), Buffer.from(JSON.stringify(query))));
    await stamp({ type: "ACTIVITY_TYPE_INIT_OTP_V3", organizationId, parameters: {} });
    await stamp({ type: "ACTIVITY_TYPE_OTP_LOGIN_V2", organizationId: "a sub-organization", parameters: {} });
    const refusals: [RegExp, object, object?][] = [
      [/an auth proxy may not do this/, { type: "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2", organizationId, parameters: {} }],
      [/an auth proxy may not do this/, { type: "ACTIVITY_TYPE_APPROVE_ACTIVITY", organizationId, parameters: {} }],
      [/an auth proxy may not do this/, { type: 1, organizationId }],
      [/the body does not name/, { type: "ACTIVITY_TYPE_INIT_OTP_V3", organizationId: "another", parameters: {} }],
      [/the body does not name/, { organizationId: "another" }],
      [/the body does not name/, []],
      [/sealed for something else/, query, { configId: "another" }],
    ];
    for (const [why, body, more] of refusals) {
      await assert.rejects(stamp(body, more), (error) => error instanceof SignerRefused && why.test(error.message));
    }
    await assert.rejects(stamp({}, { body: '{"organizationId":"a","organizationId":"b"}' }), /not JSON/);
    const asKey: KeyReference = { kind: "privateKey", keyId: "config", curve: "CURVE_P256", sealedKey };
    await refused(sign(asKey), activity({ signWith: "config" }), /sealed/);
  });
});
