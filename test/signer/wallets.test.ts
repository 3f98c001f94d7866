import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { schnorr, secp256k1 } from "@noble/curves/secp256k1.js";
import { HDKey } from "@scure/bip32";
import { entropyToMnemonic, mnemonicToEntropy, mnemonicToSeedSync } from "@scure/bip39";
import { wordlist as english } from "@scure/bip39/wordlists/english.js";
import { wordlist as spanish } from "@scure/bip39/wordlists/spanish.js";
import { HDKey as Slip10Key } from "micro-key-producer/slip10.js";
import { SignerRefused } from "../../src/signer/client.ts";
import type { AccountReference, Curve, KeyReference, Scheme } from "../../src/signer/protocol.ts";
import { exportTarget, importBundleTo } from "../support/bundles.ts";
import { IMPORT_TERMS, newOwner, startTestSigner, type TestSigner } from "../support/signer.ts";

const WORDS = `${"abandon ".repeat(11)}about`;
const ETHEREUM = { curve: "CURVE_SECP256K1", path: "m/44'/60'/0'/0/0" } as const;
const SOLANA = { curve: "CURVE_ED25519", path: "m/44'/501'/0'/0'" } as const;
const OPERATOR = { curve: "CURVE_P256", path: "m/5527107'/0'/0'/1" } as const;
const ACCOUNTS: AccountReference[] = [ETHEREUM, SOLANA, OPERATOR];

const bytes = (text: string) => Buffer.from(text, "hex");
const hex = (some: Uint8Array | null) => Buffer.from(some as Uint8Array).toString("hex");
const sha256 = (some: Uint8Array) => createHash("sha256").update(some).digest();

let test: TestSigner;
before(async () => {
  test = await startTestSigner();
});
after(() => test.close());

const wallet = (walletId: string, accounts = ACCOUNTS, mnemonicLength: 12 | 15 | 18 | 21 | 24 = 12) =>
  test.signer.ask({ verb: "createWallet", ...test.owner, walletId, mnemonicLength, accounts });

async function exportedWords(walletId: string, sealedWallet: string): Promise<string> {
  const target = exportTarget();
  const { targetPublicKey } = target;
  return target
    .open(await test.signer.ask({ verb: "exportWallet", ...test.owner, walletId, sealedWallet, targetPublicKey }))
    .toString();
}

async function importKey(importId: string, purpose: "key" | "secret" = "key") {
  const terms = { purpose, ...IMPORT_TERMS };
  const { importKeys } = await test.signer.ask({
    verb: "createImportKeys",
    ...test.owner,
    terms,
    importIds: [importId],
  });
  const [key] = importKeys;
  assert.ok(key);
  return { importId, ...key };
}

async function importedWallet(walletId: string, text: string | Uint8Array, accounts = ACCOUNTS) {
  const { importId, sealedImportKey, targetPublicKey } = await importKey(`import of ${walletId}`);
  const bundle = importBundleTo(targetPublicKey, text);
  const importKeys = [{ importId, sealedImportKey, ...IMPORT_TERMS }];
  return test.signer.ask({ verb: "importWallet", ...test.owner, importKeys, bundle, walletId, accounts });
}

async function knownWallet(walletId: string, text: string = WORDS) {
  const imported = await importedWallet(walletId, text);
  assert.ok("sealedWallet" in imported);
  return imported;
}

const refusals: string[] = [];
const refused = (work: Promise<unknown>) =>
  assert.rejects(work, (error: unknown) => {
    if (!(error instanceof SignerRefused)) return false;
    refusals.push(error.message);
    return true;
  });

describe("a new wallet", () => {
  it("has as many words as asked, and the keys that other implementations derive from them", async () => {
    for (const mnemonicLength of [12, 15, 18, 21, 24] as const) {
      const walletId = `wallet of ${mnemonicLength}`;
      const { sealedWallet, publicKeys } = await wallet(walletId, ACCOUNTS, mnemonicLength);
      const words = await exportedWords(walletId, sealedWallet);
      assert.equal(words.split(" ").length, mnemonicLength);
      mnemonicToEntropy(words, english);
      const seed = mnemonicToSeedSync(words);
      assert.equal(publicKeys[0], hex(HDKey.fromMasterSeed(seed).derive(ETHEREUM.path).publicKey));
      assert.equal(publicKeys[1], hex(Slip10Key.fromMasterSeed(seed).derive(SOLANA.path).publicKeyRaw));
      assert.match(publicKeys[2] as string, /^0[23][0-9a-f]{64}$/);
    }
  });

  it("is another each time, and none needs an account", async () => {
    const made = await Promise.all([1, 2, 3].map((count) => wallet(`empty ${count}`, [])));
    assert.deepEqual(
      made.map(({ publicKeys }) => publicKeys),
      [[], [], []],
    );
    const words = await Promise.all(
      made.map(({ sealedWallet }, index) => exportedWords(`empty ${index + 1}`, sealedWallet)),
    );
    assert.equal(new Set(words).size, 3);
  });

  it("gives the same keys when they are derived later", async () => {
    const { sealedWallet, publicKeys } = await wallet("derived later");
    const asked = { verb: "deriveAccounts", ...test.owner, walletId: "derived later", sealedWallet } as const;
    assert.deepEqual(await test.signer.ask({ ...asked, accounts: ACCOUNTS }), { publicKeys });
    const backwards = await test.signer.ask({ ...asked, accounts: ACCOUNTS.toReversed() });
    assert.deepEqual(backwards, { publicKeys: publicKeys.toReversed() });
  });

  it("has no account at what is no path", async () => {
    await refused(wallet("no path", [{ curve: "CURVE_P256", path: "m/4294967296" }]));
    await refused(wallet("no path", [{ curve: "CURVE_P256", path: "44'/60'" }]));
  });
});

describe("an imported wallet", () => {
  it("has the keys of its words", async () => {
    const { importId, publicKeys, sealedWallet } = await knownWallet("known");
    assert.equal(importId, "import of known");
    // The address of this key is 0x9858EfFD232B4033E47d90003D41EC34EcaEda94.
    assert.equal(publicKeys[0], "0237b0bb7a8288d38ed49a524b5dc98cff3eb5ca824c9f9dc0dfdb3d9cd600f299");
    assert.equal(publicKeys[1], "f036276246a75b9de3349ed42b15e232f6518fc20f5fcd4f1d64e81f9bd258f7");
    assert.equal(await exportedWords("known", sealedWallet), WORDS);
  });

  it("has other keys under a passphrase, which is exported with it", async () => {
    const text = `${WORDS}\nTREZOR pässphrase\nof two lines`;
    const { publicKeys, sealedWallet } = await knownWallet("with passphrase", text);
    const seed = mnemonicToSeedSync(WORDS, "TREZOR pässphrase\nof two lines");
    assert.equal(publicKeys[0], hex(HDKey.fromMasterSeed(seed).derive(ETHEREUM.path).publicKey));
    assert.equal(await exportedWords("with passphrase", sealedWallet), text);
  });

  it("in another language keeps its words, byte for byte", async () => {
    const words = entropyToMnemonic(randomBytes(32), spanish).normalize("NFC");
    const { publicKeys, sealedWallet } = await knownWallet("in Spanish", words);
    const expected = HDKey.fromMasterSeed(mnemonicToSeedSync(words)).derive(ETHEREUM.path).publicKey;
    assert.equal(publicKeys[0], hex(expected));
    assert.equal(await exportedWords("in Spanish", sealedWallet), words);
  });

  const invalid: Record<string, string | Uint8Array> = {
    "a wrong checksum": "abandon ".repeat(12).trim(),
    "eleven words": "abandon ".repeat(11).trim(),
    "a space after": `${WORDS} `,
    "a carriage return": `${WORDS}\r\npassphrase`,
    "a byte order mark": `\ufeff${WORDS}`,
    "a line break before": `\n${WORDS}`,
    "no UTF-8": Buffer.concat([Buffer.from(WORDS), Buffer.of(0xff)]),
    "a passphrase that is no UTF-8": Buffer.concat([Buffer.from(`${WORDS}\n`), Buffer.of(0xff)]),
    nothing: "",
  };
  for (const [name, text] of Object.entries(invalid)) {
    it(`is not taken with ${name}`, async () => {
      assert.deepEqual(await importedWallet("not taken", text), { problem: "invalidMnemonic" });
    });
  }

  it("is not taken beyond its limit", async () => {
    const long = (length: number) => `${WORDS}\n${"p".repeat(length - WORDS.length - 1)}`;
    assert.ok("sealedWallet" in (await importedWallet("longest", long(4096))));
    assert.deepEqual(await importedWallet("too long", long(4097)), { problem: "tooLarge" });
  });
});

describe("a bundle", () => {
  const asked = (
    importKeys: { importId: string; sealedImportKey: string }[],
    bundle: ReturnType<typeof importBundleTo>,
  ) =>
    test.signer.ask({
      verb: "importWallet",
      ...test.owner,
      importKeys: importKeys.map(({ importId, sealedImportKey }) => ({ importId, sealedImportKey, ...IMPORT_TERMS })),
      bundle,
      walletId: "of a bundle",
      accounts: [],
    });

  it("is opened with the one of several keys that it was made for", async () => {
    const keys = await Promise.all(["one", "two", "three"].map((id) => importKey(id)));
    const bundle = importBundleTo(keys[1]?.targetPublicKey as string, WORDS);
    const imported = await asked(keys, bundle);
    assert.ok("importId" in imported);
    assert.equal(imported.importId, "two");
  });

  it("that was made for none of them is not opened", async () => {
    const keys = await Promise.all(["one", "two"].map((id) => importKey(id)));
    const foreign = importBundleTo((await importKey("other")).targetPublicKey, WORDS);
    const good = importBundleTo(keys[0]?.targetPublicKey as string, WORDS);
    const undecryptable = { problem: "undecryptable" };
    assert.deepEqual(await asked(keys, foreign), undecryptable);
    assert.deepEqual(await asked([], good), undecryptable);
    for (const bad of [
      { ...good, ciphertext: good.ciphertext.replace(/..$/, (last) => (last === "00" ? "01" : "00")) },
      { ...good, ciphertext: good.ciphertext.slice(2) },
      { ...good, ciphertext: good.ciphertext.slice(1) },
      { ...good, ciphertext: "" },
      { ...good, ciphertext: "no hex" },
      { ...good, encappedPublic: `04${"00".repeat(64)}` },
      { ...good, encappedPublic: "" },
      { ...good, encappedPublic: foreign.encappedPublic },
    ]) {
      assert.deepEqual(await asked(keys, bad), undecryptable, JSON.stringify(bad));
    }
  });

  it("is not opened with a key that was sealed for another import or another organization", async () => {
    const key = await importKey("one");
    const bundle = importBundleTo(key.targetPublicKey, WORDS);
    await refused(asked([{ ...key, importId: "two" }], bundle));
    const other = await newOwner(test.signer, "another organization");
    const { importKeys } = await test.signer.ask({
      verb: "createImportKeys",
      ...other,
      terms: { purpose: "key", ...IMPORT_TERMS },
      importIds: ["one"],
    });
    await refused(
      asked([{ importId: "one", ...IMPORT_TERMS, sealedImportKey: importKeys[0]?.sealedImportKey as string }], bundle),
    );
  });
});

describe("an imported private key", () => {
  async function imported(keyId: string, curve: Curve, secret: Uint8Array) {
    const { importId, sealedImportKey, targetPublicKey } = await importKey(`import of ${keyId}`);
    const bundle = importBundleTo(targetPublicKey, secret);
    const importKeys = [{ importId, sealedImportKey, ...IMPORT_TERMS }];
    return test.signer.ask({ verb: "importPrivateKey", ...test.owner, importKeys, bundle, keyId, curve });
  }
  const publicKeys: Record<Curve, (secret: Uint8Array) => Uint8Array> = {
    CURVE_SECP256K1: (secret) => secp256k1.getPublicKey(secret, true),
    CURVE_P256: (secret) => p256.getPublicKey(secret, true),
    CURVE_ED25519: (secret) => ed25519.getPublicKey(secret),
  };

  for (const [curve, publicKey] of Object.entries(publicKeys) as [Curve, (secret: Uint8Array) => Uint8Array][]) {
    it(`on ${curve} has its public key, and comes out as it went in`, async () => {
      const secret = Buffer.alloc(32, 0x5a);
      const taken = await imported(`key on ${curve}`, curve, secret);
      assert.ok("sealedKey" in taken);
      assert.equal(taken.publicKey, hex(publicKey(secret)));
      const target = exportTarget();
      const { targetPublicKey } = target;
      const key: KeyReference = { kind: "privateKey", keyId: `key on ${curve}`, curve, sealedKey: taken.sealedKey };
      const message = await test.signer.ask({ verb: "exportKey", ...test.owner, key, targetPublicKey });
      assert.deepEqual(target.open(message), secret);
    });
  }

  const order = (curve: "CURVE_SECP256K1" | "CURVE_P256") => {
    const { Fn } = (curve === "CURVE_P256" ? p256 : secp256k1).Point;
    return bytes(Fn.ORDER.toString(16).padStart(64, "0"));
  };
  it("is not taken out of range or of another length", async () => {
    const invalid: [Curve, Uint8Array][] = [
      ["CURVE_SECP256K1", Buffer.alloc(32)],
      ["CURVE_SECP256K1", order("CURVE_SECP256K1")],
      ["CURVE_P256", Buffer.alloc(32)],
      ["CURVE_P256", order("CURVE_P256")],
      ["CURVE_SECP256K1", Buffer.alloc(31, 1)],
      ["CURVE_SECP256K1", Buffer.alloc(33, 1)],
      ["CURVE_ED25519", Buffer.alloc(64, 1)],
      ["CURVE_ED25519", Buffer.alloc(0)],
      ["CURVE_P256", Buffer.from("5a".repeat(32))],
    ];
    for (const [curve, secret] of invalid) {
      assert.deepEqual(await imported("invalid", curve, secret), { problem: "invalidKey" });
    }
    assert.deepEqual(await imported("large", "CURVE_P256", Buffer.alloc(5000)), { problem: "tooLarge" });
  });
});

describe("an imported secret", () => {
  async function imported(secret: Uint8Array) {
    const { importId, sealedImportKey, targetPublicKey } = await importKey("import of a secret", "secret");
    const bundle = importBundleTo(targetPublicKey, secret);
    const importKeys = [{ importId, sealedImportKey, ...IMPORT_TERMS }];
    return test.signer.ask({ verb: "importSecret", ...test.owner, importKeys, bundle, secretId: "secret" });
  }
  const exported = (secretId: string, sealedSecret: string, targetPublicKey: string) =>
    test.signer.ask({ verb: "exportSecret", ...test.owner, secretId, sealedSecret, targetPublicKey });

  it("of any bytes up to the limit comes out as it went in", async () => {
    for (const length of [0, 1, 1000, 64 * 1024]) {
      const secret = randomBytes(length);
      const taken = await imported(secret);
      assert.ok("sealedSecret" in taken);
      const target = exportTarget();
      assert.deepEqual(target.open(await exported("secret", taken.sealedSecret, target.targetPublicKey)), secret);
      await refused(exported("another secret", taken.sealedSecret, target.targetPublicKey));
    }
    assert.deepEqual(await imported(Buffer.alloc(64 * 1024 + 1)), { problem: "tooLarge" });
  });
});

describe("an export", () => {
  it("goes to a compressed target as well, and to no other text", async () => {
    const { sealedWallet } = await wallet("exported");
    const target = exportTarget();
    const compressed = hex(p256.Point.fromHex(target.targetPublicKey).toBytes(true));
    const asked = { verb: "exportWallet", ...test.owner, walletId: "exported", sealedWallet } as const;
    const words = target.open(await test.signer.ask({ ...asked, targetPublicKey: compressed })).toString();
    assert.equal(words, await exportedWords("exported", sealedWallet));
    for (const targetPublicKey of ["", "04", `04${"11".repeat(64)}`, compressed.slice(2), `${compressed}00`]) {
      await refused(test.signer.ask({ ...asked, targetPublicKey }));
    }
  });

  it("in another language has the same entropy and the passphrase, and leads to other keys", async () => {
    const { publicKeys, sealedWallet } = await knownWallet("translated", `${WORDS}\npassphrase`);
    const target = exportTarget();
    const { targetPublicKey } = target;
    const language = "MNEMONIC_LANGUAGE_SPANISH";
    const asked = {
      verb: "exportWallet",
      ...test.owner,
      walletId: "translated",
      sealedWallet,
      targetPublicKey,
    } as const;
    const text = target.open(await test.signer.ask({ ...asked, language })).toString();
    const [words, passphrase] = text.split("\n");
    assert.equal(passphrase, "passphrase");
    assert.deepEqual(mnemonicToEntropy(words as string, spanish), mnemonicToEntropy(WORDS, english));
    const translated = await knownWallet("translated again", text);
    assert.notDeepEqual(translated.publicKeys, publicKeys);
    const own = await test.signer.ask({ ...asked, language: "MNEMONIC_LANGUAGE_ENGLISH" });
    assert.equal(target.open(own).toString(), `${WORDS}\npassphrase`);
  });

  it("of an account is the secret at its path", async () => {
    const { sealedWallet } = await knownWallet("accounts");
    const seed = mnemonicToSeedSync(WORDS);
    const expected: [AccountReference, Uint8Array | null][] = [
      [ETHEREUM, HDKey.fromMasterSeed(seed).derive(ETHEREUM.path).privateKey],
      [SOLANA, Slip10Key.fromMasterSeed(seed).derive(SOLANA.path).privateKey],
      [{ ...SOLANA, path: "m/44'/501'/0'/0" }, Slip10Key.fromMasterSeed(seed).derive(SOLANA.path).privateKey],
    ];
    for (const [account, secret] of expected) {
      const target = exportTarget();
      const { targetPublicKey } = target;
      const key = await accountKey("accounts", sealedWallet, account);
      const message = await test.signer.ask({ verb: "exportKey", ...test.owner, key, targetPublicKey });
      assert.equal(hex(target.open(message)), hex(secret));
    }
  });
});

/** An account as a request names it, by an address that its curve has. */
async function accountKey(walletId: string, sealedWallet: string, account: AccountReference): Promise<KeyReference> {
  const asked = { verb: "deriveAccounts", ...test.owner, walletId, sealedWallet } as const;
  const { publicKeys } = await test.signer.ask({ ...asked, accounts: [account] });
  const address = { format: "ADDRESS_FORMAT_COMPRESSED", address: publicKeys[0] as string } as const;
  return { kind: "walletAccount", walletId, sealedWallet, ...account, address };
}

describe("a wallet's account signs", () => {
  const digest = sha256(Buffer.from("payload"));
  const account = async (reference: AccountReference, walletId = "signing") => {
    const { sealedWallet } = await knownWallet(walletId);
    return accountKey(walletId, sealedWallet, reference);
  };
  async function sign(key: KeyReference, scheme?: Scheme, payload: Buffer = digest) {
    const payloads = [payload.toString("base64"), payload.toString("base64")];
    const asked = { verb: "sign", ...test.owner, key, hash: "none", payloads } as const;
    const { signatures } = await test.signer.ask(scheme ? { ...asked, scheme } : asked);
    assert.equal(signatures.length, 2);
    assert.deepEqual(signatures[0], signatures[1]);
    return signatures[0] as { r: string; s: string; v: string };
  }

  it("with ECDSA and EdDSA", async () => {
    const seed = mnemonicToSeedSync(WORDS);
    const ethereum = await sign(await account(ETHEREUM));
    const publicKey = HDKey.fromMasterSeed(seed).derive(ETHEREUM.path).publicKey as Uint8Array;
    assert.ok(secp256k1.verify(bytes(ethereum.r + ethereum.s), digest, publicKey, { prehash: false }));
    const solana = await sign(await account(SOLANA));
    const solanaKey = Slip10Key.fromMasterSeed(seed).derive(SOLANA.path).publicKeyRaw;
    assert.ok(ed25519.verify(bytes(solana.r + solana.s), digest, solanaKey));
    const operator = await sign(await account(OPERATOR));
    const { publicKeys } = await knownWallet("signing");
    assert.ok(p256.verify(bytes(operator.r + operator.s), digest, bytes(publicKeys[2] as string), { prehash: false }));
  });

  it("with Schnorr, plain and for Taproot outputs", async () => {
    const path = "m/86'/0'/0'/0/0";
    const key = await account({ curve: "CURVE_SECP256K1", path });
    const inner = HDKey.fromMasterSeed(mnemonicToSeedSync(WORDS)).derive(path).publicKey?.subarray(1) as Uint8Array;
    const plain = await sign(key, "bip340");
    assert.equal(plain.v, "00");
    assert.ok(schnorr.verify(bytes(plain.r + plain.s), digest, inner));
    const taproot = await sign(key, "bip340Taproot");
    assert.equal(taproot.v, "00");
    // BIP-86, first test vector: the output key of this path
    const output = bytes("a60869f0dbcf1dc659c9cecbaf8050135ea9e8cdc487053f1dc6880949dc684c");
    assert.ok(schnorr.verify(bytes(taproot.r + taproot.s), digest, output));
    assert.ok(!schnorr.verify(bytes(taproot.r + taproot.s), digest, inner));
  });

  it("with Schnorr on secp256k1 alone, and 32 bytes alone", async () => {
    await refused(sign(await account(SOLANA), "bip340"));
    await refused(sign(await account(OPERATOR), "bip340Taproot"));
    await refused(sign(await account(ETHEREUM), "bip340", Buffer.alloc(31)));
    await refused(sign(await account(ETHEREUM), "bip341" as Scheme));
  });

  it("also with a stored key", async () => {
    const keys = [{ keyId: "stored", curve: "CURVE_SECP256K1" as const }];
    const generated = await test.signer.ask({ verb: "generateKeys", ...test.owner, keys });
    const { sealedKey, publicKey } = generated.keys[0] as (typeof generated.keys)[number];
    const key: KeyReference = { kind: "privateKey", keyId: "stored", curve: "CURVE_SECP256K1", sealedKey };
    const { r, s } = await sign(key, "bip340");
    assert.ok(schnorr.verify(bytes(r + s), digest, bytes(publicKey.slice(2))));
  });
});

describe("a sealed wallet", () => {
  it("opens for its own id and organization alone, also when its seed was used just before", async () => {
    const { sealedWallet } = await wallet("mine");
    const asked = {
      verb: "deriveAccounts",
      ...test.owner,
      walletId: "mine",
      sealedWallet,
      accounts: ACCOUNTS,
    } as const;
    await test.signer.ask(asked);
    const other = await newOwner(test.signer, "a third organization");
    await refused(test.signer.ask({ ...asked, walletId: "yours" }));
    await refused(test.signer.ask({ ...asked, ...other }));
    await refused(test.signer.ask({ ...asked, organizationId: other.organizationId }));
    await refused(test.signer.ask({ ...asked, organizationKey: other.organizationKey }));
    const tampered = Buffer.from(sealedWallet, "base64");
    tampered[40] = (tampered[40] as number) ^ 1;
    await refused(test.signer.ask({ ...asked, sealedWallet: tampered.toString("base64") }));
    const key = await accountKey("mine", sealedWallet, ETHEREUM);
    const payloads = [Buffer.alloc(32).toString("base64")];
    const signing = { verb: "sign", ...test.owner, key, hash: "none", payloads } as const;
    await test.signer.ask(signing);
    await refused(test.signer.ask({ ...signing, ...other }));
    await refused(test.signer.ask({ ...signing, key: { ...key, walletId: "yours" } as KeyReference }));
  });

  it("is no key and no secret", async () => {
    const { sealedWallet } = await wallet("confused");
    const { targetPublicKey } = exportTarget();
    const asSecret = { verb: "exportSecret", secretId: "confused", sealedSecret: sealedWallet } as const;
    await refused(test.signer.ask({ ...asSecret, ...test.owner, targetPublicKey }));
    const curve = "CURVE_P256";
    const key: KeyReference = { kind: "privateKey", keyId: "confused", curve, sealedKey: sealedWallet };
    await refused(test.signer.ask({ verb: "exportKey", ...test.owner, key, targetPublicKey }));
  });
});

describe("a stored key", () => {
  it("opens for its own id, curve and organization alone, also when it was used just before", async () => {
    const curve = "CURVE_SECP256K1";
    const made = await test.signer.ask({ verb: "generateKeys", ...test.owner, keys: [{ keyId: "mine", curve }] });
    const [{ sealedKey, publicKey }] = made.keys as [{ sealedKey: string; publicKey: string }];
    const key: KeyReference = { kind: "privateKey", keyId: "mine", curve, sealedKey };
    const digest = sha256(bytes("00"));
    const payloads = [digest.toString("base64")];
    const signing = { verb: "sign", ...test.owner, key, hash: "none", payloads } as const;
    for (let count = 0; count < 2; count++) {
      const { signatures } = await test.signer.ask(signing);
      assert.equal(signatures.length, 1);
      for (const { r, s } of signatures) {
        assert.ok(secp256k1.verify(bytes(r + s), digest, bytes(publicKey), { prehash: false }));
      }
    }
    const other = await newOwner(test.signer, "another of keys");
    const tampered = Buffer.from(sealedKey, "base64");
    tampered[40] = (tampered[40] as number) ^ 1;
    await refused(test.signer.ask({ ...signing, ...other }));
    await refused(test.signer.ask({ ...signing, organizationKey: other.organizationKey }));
    await refused(test.signer.ask({ ...signing, key: { ...key, keyId: "yours" } }));
    await refused(test.signer.ask({ ...signing, key: { ...key, curve: "CURVE_P256" } }));
    await refused(test.signer.ask({ ...signing, key: { ...key, sealedKey: tampered.toString("base64") } }));
  });
});

describe("without a seed cache", () => {
  it("the answers are the same", async () => {
    const without = await startTestSigner({ entries: 0, lifetimeMs: 0 });
    try {
      const made = await without.signer.ask({
        verb: "createWallet",
        ...without.owner,
        walletId: "wallet",
        mnemonicLength: 24,
        accounts: ACCOUNTS,
      });
      const { sealedWallet, publicKeys } = made;
      const asked = { verb: "deriveAccounts", ...without.owner, walletId: "wallet", sealedWallet } as const;
      for (let count = 0; count < 2; count++) {
        assert.deepEqual(await without.signer.ask({ ...asked, accounts: ACCOUNTS }), { publicKeys });
      }
    } finally {
      await without.close();
    }
  });
});

describe("what the signer tells of its refusals", () => {
  it("is why, without a word of a wallet", () => {
    const told = refusals.join("\n");
    assert.ok(refusals.length > 20);
    assert.match(told, /^wallet yours cannot be opened: it was sealed for something else$/m);
    assert.match(told, /^a derivation path has an index over 2147483647 at level 1$/m);
    assert.match(told, /^the target public key is not a point of P-256$/m);
    assert.doesNotMatch(told + test.log(), /abandon|passphrase/);
  });
});
