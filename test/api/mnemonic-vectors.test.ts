import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { base58 } from "@scure/base";
import { HDKey } from "@scure/bip32";
import * as btc from "@scure/btc-signer";
import { encryptWalletToBundle } from "@turnkey/crypto";
import { computeAddress } from "ethers";
import { HDKey as Slip10Key } from "micro-key-producer/slip10.js";
import {
  ADDRESS_FORMATS,
  type AddressFormat,
  addressFormatProblem,
  deriveAddress,
} from "../../src/crypto/addresses.ts";
import type { Json } from "../support/client.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { createWorld, type Member } from "../support/world.ts";

const vectors = (path: string): Json =>
  JSON.parse(readFileSync(new URL(`../vectors/${path}.json`, import.meta.url), "utf8"));
const account = (curve: string, path: string, addressFormat: string): Json => ({
  curve,
  pathFormat: "PATH_FORMAT_BIP32",
  path,
  addressFormat,
});
const curveOf = (format: AddressFormat): "CURVE_SECP256K1" | "CURVE_ED25519" =>
  addressFormatProblem(format, "CURVE_SECP256K1") === undefined ? "CURVE_SECP256K1" : "CURVE_ED25519";

/** What other libraries make of a public key, for the formats that they know. */
const libraries: Partial<Record<AddressFormat, (key: Uint8Array) => string | undefined>> = {
  ADDRESS_FORMAT_ETHEREUM: (key) => computeAddress(`0x${Buffer.from(key).toString("hex")}`),
  ADDRESS_FORMAT_SOLANA: (key) => base58.encode(key),
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2PKH: (key) => btc.p2pkh(key).address,
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2WPKH: (key) => btc.p2wpkh(key).address,
  ADDRESS_FORMAT_BITCOIN_MAINNET_P2TR: (key) => btc.p2tr(key.subarray(1)).address,
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2WPKH: (key) => btc.p2wpkh(key, btc.TEST_NETWORK).address,
  ADDRESS_FORMAT_BITCOIN_TESTNET_P2TR: (key) => btc.p2tr(key.subarray(1), undefined, btc.TEST_NETWORK).address,
};

describe("published mnemonics, imported", () => {
  let server: TestServer;
  let root: Member;
  let trusted: string;
  before(async () => {
    server = await startTestServer("sqlite");
    root = (await createWorld(server)).root;
    const answer = await fetch(`${server.baseUrl}/.well-known/keystead.json`);
    trusted = ((await answer.json()) as Json).serviceKeys.bundle[0].publicKey;
  });
  after(() => server.close());

  async function addressesOf(mnemonic: string, accounts: Json[]): Promise<string[]> {
    const { client, userId } = root;
    const { organizationId } = client;
    const { importBundle } = await client.result("init_import_wallet", { userId });
    const sealing = { mnemonic, importBundle, organizationId, userId, dangerouslyOverrideSignerPublicKey: trusted };
    const encryptedBundle = await encryptWalletToBundle(sealing);
    const params = { userId, walletName: "Wallet", encryptedBundle, accounts };
    const { walletId, addresses } = await client.result("import_wallet", params);
    await client.result("delete_wallets", { walletIds: [walletId], deleteWithoutExport: true });
    return addresses;
  }

  it("have the addresses that were published for them", async () => {
    const { mnemonic, cases } = vectors("addresses/mnemonic");
    assert.ok(cases.length >= 22);
    const accounts = cases.map(({ curve, path, format }: Json) => account(curve, path, format));
    const published = cases.map(({ address }: Json) => address);
    assert.deepEqual(await addressesOf(mnemonic, accounts), published);
  });

  it("have, with a passphrase and in every language, the addresses that other libraries derive", async () => {
    const { passphrase, valid } = vectors("bip39/mnemonics");
    // One of each number of words in English, and one in each other language.
    const chosen = new Map<string, Json>();
    for (const vector of valid) {
      const words = vector.language.endsWith("_ENGLISH") ? vector.mnemonic.split(" ").length : "";
      chosen.set(`${vector.language} ${words}`, vector);
    }
    assert.ok(chosen.size >= 11, String(chosen.size));
    let compared = 0;
    for (const { mnemonic, seed } of chosen.values()) {
      const accounts = ADDRESS_FORMATS.map((format, index) => {
        const curve = curveOf(format);
        const path = curve === "CURVE_ED25519" ? `m/44'/501'/${index}'/0'` : `m/84'/${index}'/0'/0/${index}`;
        return account(curve, path, format);
      });
      assert.equal(accounts.length, 38);
      const seedBytes = Buffer.from(seed, "hex");
      const addresses = await addressesOf(`${mnemonic}\n${passphrase}`, accounts);
      for (const [index, { curve, path, addressFormat }] of accounts.entries()) {
        const about = `${mnemonic} ${path} ${addressFormat}`;
        const publicKey =
          curve === "CURVE_ED25519"
            ? Slip10Key.fromMasterSeed(seedBytes).derive(path).publicKeyRaw
            : (HDKey.fromMasterSeed(seedBytes).derive(path).publicKey as Uint8Array);
        assert.equal(addresses[index], deriveAddress(addressFormat, curve, publicKey), about);
        const known = libraries[addressFormat as AddressFormat]?.(publicKey);
        if (known === undefined) continue;
        assert.equal(addresses[index], known, about);
        compared++;
      }
    }
    assert.equal(compared, chosen.size * Object.keys(libraries).length);
  });
});
