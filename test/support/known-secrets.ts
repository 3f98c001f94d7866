import assert from "node:assert/strict";
import { shownPublicKey } from "../../src/capabilities/private-keys/model.ts";
import { addPrivateKey } from "../../src/capabilities/private-keys/store.ts";
import type { AccountParams } from "../../src/capabilities/wallets/model.ts";
import { accountsOf, addWallet } from "../../src/capabilities/wallets/store.ts";
import { type AddressFormat, deriveAddress } from "../../src/crypto/addresses.ts";
import type { Curve } from "../../src/crypto/curves.ts";
import { newId } from "../../src/kernel/ids.ts";
import { importBundleTo } from "./bundles.ts";
import type { TestServer } from "./server.ts";

/**
 * Published private keys and mnemonics in a running service: the signer imports them as it does for a client, and the stores
 * of their capabilities keep them.
 */

/** An import key of an organization, and a bundle encrypted to it. */
async function importOf({ opened: { database, signer } }: TestServer, organizationId: string, secret: Uint8Array) {
  const { sealed_key } = await database.read
    .selectFrom("organizations")
    .select("sealed_key")
    .where("id", "=", organizationId)
    .executeTakeFirstOrThrow();
  const owner = { organizationId, organizationKey: Buffer.from(sealed_key).toString("base64") };
  const importId = newId();
  const { importKeys } = await signer.ask({ verb: "createImportKeys", ...owner, importIds: [importId] });
  const [key] = importKeys;
  assert.ok(key);
  const { sealedImportKey, targetPublicKey } = key;
  return { ...owner, importKeys: [{ importId, sealedImportKey }], bundle: importBundleTo(targetPublicKey, secret) };
}

/** Stores a private key; resolves to its address. */
export async function storeKnownKey(
  server: TestServer,
  organizationId: string,
  { curve, secret, format }: { curve: Curve; secret: Uint8Array; format: AddressFormat },
): Promise<string> {
  const { database, signer } = server.opened;
  const id = newId();
  const asked = await importOf(server, organizationId, secret);
  const taken = await signer.ask({ verb: "importPrivateKey", ...asked, keyId: id, curve });
  assert.ok("sealedKey" in taken);
  const publicKey = Buffer.from(taken.publicKey, "hex");
  const address = deriveAddress(format, curve, publicKey);
  const key = {
    id,
    name: `Key ${id}`,
    curve,
    publicKey: shownPublicKey(curve, publicKey),
    sealedKey: Buffer.from(taken.sealedKey, "base64"),
    addresses: [{ format, address }],
    tagIds: [],
  };
  await database.transact(organizationId, (tx) => addPrivateKey(tx, organizationId, key, Date.now()));
  return address;
}

/** Stores a wallet with accounts; `text` is its mnemonic and, after a line break, its passphrase. Resolves to its id. */
export async function storeKnownWallet(
  server: TestServer,
  organizationId: string,
  { text, accounts }: { text: string; accounts: readonly AccountParams[] },
): Promise<string> {
  const { database, signer } = server.opened;
  const walletId = newId();
  const asked = await importOf(server, organizationId, Buffer.from(text));
  const derived = accounts.map(({ curve, path }) => ({ curve, path }));
  const taken = await signer.ask({ verb: "importWallet", ...asked, walletId, accounts: derived });
  assert.ok("sealedWallet" in taken);
  const wallet = {
    id: walletId,
    name: `Wallet ${walletId}`,
    sealedWallet: Buffer.from(taken.sealedWallet, "base64"),
    imported: true,
    accounts: accountsOf(accounts, taken.publicKeys),
  };
  await database.transact(organizationId, (tx) => addWallet(tx, organizationId, wallet, Date.now()));
  return walletId;
}
