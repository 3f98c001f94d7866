import type { NewPrivateKey as KeyOfAuthority } from "../../authority/rules/private-keys.ts";
import { normalizeAddress } from "../../crypto/addresses.ts";
import type { Curve } from "../../crypto/curves.ts";
import { bytesOfRows } from "../../engine/bytes-of-rows.ts";
import { timestampOf } from "../../engine/fields.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import type { AskedSigner } from "../../engine/services.ts";
import type { IdFor } from "../../kernel/ids.ts";
import type { AddressReference } from "../../signer/protocol.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { type Address, addressesOf, type PrivateKey, type PrivateKeyParams, shownPublicKey } from "./model.ts";

/** A key that the signer generated or imported, ready to be stored. */
export type NewPrivateKey = KeyOfAuthority & { curve: Curve; addresses: ReturnType<typeof addressesOf> };

/** Has the signer generate keys for an organization. Does not store them. */
export async function generatePrivateKeys(
  {
    signer,
    organization,
    id,
  }: { signer: AskedSigner<"generateKeys">; organization: { id: string; sealedKey: Uint8Array }; id: IdFor },
  params: readonly PrivateKeyParams[],
): Promise<NewPrivateKey[]> {
  if (params.length === 0) return [];
  const ids = params.map((_, index) => id(`privateKeys.${index}`));
  const { keys } = await signer.ask({
    verb: "generateKeys",
    ...keyOwnerOf(organization),
    keys: params.map(({ curve }, index) => ({ keyId: ids[index] as string, curve })),
  });
  return params.map((each, index) => newPrivateKey(ids[index] as string, each, keys[index] as (typeof keys)[number]));
}

/** The data to store for a key that the signer generated or imported. */
export function newPrivateKey(
  id: string,
  { privateKeyName, curve, addressFormats, privateKeyTags }: PrivateKeyParams,
  { sealedKey, publicKey }: { sealedKey: string; publicKey: string },
): NewPrivateKey {
  const publicKeyBytes = Buffer.from(publicKey, "hex");
  return {
    id,
    name: privateKeyName,
    curve,
    publicKey: shownPublicKey(curve, publicKeyBytes),
    sealedKey: Buffer.from(sealedKey, "base64"),
    addresses: addressesOf(curve, publicKeyBytes, addressFormats),
    tagIds: privateKeyTags,
    imported: false,
  };
}

/** The addresses of a new key, as references for the signer's app proofs. */
export const addressesToProve = ({ id, curve, sealedKey, addresses }: NewPrivateKey): AddressReference[] =>
  addresses.map(({ format }) => ({
    key: { kind: "privateKey", keyId: id, curve, sealedKey: Buffer.from(sealedKey).toString("base64") },
    format,
  }));

/** Stores the addresses of keys that are already stored. */
export async function addAddresses(
  tx: Transactor,
  organizationId: string,
  keys: readonly Pick<NewPrivateKey, "id" | "addresses">[],
): Promise<void> {
  const rows = keys.flatMap(({ id, addresses }) =>
    addresses.map(({ format, address }, position) => ({
      organization_id: organizationId,
      private_key_id: id,
      position,
      format,
      address,
      lookup: normalizeAddress(address),
    })),
  );
  if (rows.length > 0) await tx.insertInto("private_key_addresses").values(rows).execute();
}

/** The approximate size of all private keys of an organization with their addresses and tags, in bytes. */
export const bytesOfPrivateKeys = (read: Reader, organizationId: string): Promise<number> =>
  bytesOfRows(read, organizationId, { private_keys: 512, private_key_addresses: 128, private_key_tag_members: 64 });

/** All private keys, or only the one with this id, with their addresses and tags. */
export async function findPrivateKeys(read: Reader, organizationId: string, id?: string): Promise<PrivateKey[]> {
  const keys = await read
    .selectFrom("private_keys")
    .select(["id", "name", "curve", "public_key", "exported", "imported", "created_at", "updated_at"])
    .where("organization_id", "=", organizationId)
    .$if(id !== undefined, (rows) => rows.where("id", "=", id as string))
    .orderBy("id")
    .execute();
  const addresses = await read
    .selectFrom("private_key_addresses")
    .select(["private_key_id", "format", "address"])
    .where("organization_id", "=", organizationId)
    .$if(id !== undefined, (rows) => rows.where("private_key_id", "=", id as string))
    .orderBy("private_key_id")
    .orderBy("position")
    .execute();
  const tags = await read
    .selectFrom("private_key_tag_members")
    .select(["member_id", "tag_id"])
    .where("organization_id", "=", organizationId)
    .$if(id !== undefined, (rows) => rows.where("member_id", "=", id as string))
    .execute();
  const addressesByKey = Map.groupBy(addresses, ({ private_key_id }) => private_key_id);
  const tagsByKey = Map.groupBy(tags, ({ member_id }) => member_id);
  return keys.map((key) => ({
    privateKeyId: key.id,
    publicKey: key.public_key,
    privateKeyName: key.name,
    curve: key.curve as Curve,
    addresses: (addressesByKey.get(key.id) ?? []).map(({ format, address }) => ({ format, address }) as Address),
    privateKeyTags: (tagsByKey.get(key.id) ?? []).map(({ tag_id }) => tag_id).sort(),
    createdAt: timestampOf(key.created_at),
    updatedAt: timestampOf(key.updated_at),
    exported: key.exported === 1,
    imported: key.imported === 1,
  }));
}

/** Whether a private key of the organization has this address, in any spelling. */
export async function hasPrivateKeyAt(read: Reader, organizationId: string, address: string): Promise<boolean> {
  const rows = await read
    .selectFrom("private_key_addresses")
    .select("private_key_id")
    .where("organization_id", "=", organizationId)
    .where("lookup", "=", normalizeAddress(address))
    .limit(1)
    .execute();
  return rows.length > 0;
}
