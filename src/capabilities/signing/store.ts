import { type AddressFormat, normalizeAddress } from "../../crypto/addresses.ts";
import type { Curve } from "../../crypto/curves.ts";
import { parsePath } from "../../crypto/hd-path.ts";
import type { PolicyFacts } from "../../engine/operations.ts";
import { oldestFirst } from "../../engine/paging.ts";
import { fail } from "../../kernel/errors.ts";
import { isId } from "../../kernel/ids.ts";
import { MissingFactError } from "../../policy/errors.ts";
import type { KeyReference, NamedAddress, Scheme } from "../../signer/protocol.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import { compressedFromShown } from "../private-keys/model.ts";

/** The key that signs: a private key or a wallet account, named by its id or an address. */
export interface SigningKey {
  /** The id of the private key or the wallet account. */
  id: string;
  /** The key in the form that the signer expects. */
  reference: KeyReference;
  curve: Curve;
  /** 33 bytes compressed, or the 32 bytes of Ed25519. */
  publicKey: Uint8Array;
  /** The address in `signWith`, if the key was named by one. Its format selects the signature scheme. */
  address?: NamedAddress;
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

const selectPrivateKeyById = prepared<{ organizationId: string; id: string }>()(
  (db, { organizationId, id }) =>
    db
      .selectFrom("private_keys")
      .select(["id", "curve", "public_key", "sealed_key", "name", "imported", "exported"])
      .where("organization_id", "=", organizationId)
      .where("id", "=", id),
  { isLasting: true, isTogether: true },
);
const selectPrivateKeyByAddress = prepared<{ organizationId: string; lookup: string }>()(
  (db, { organizationId, lookup }) =>
    db
      .selectFrom("private_key_addresses as a")
      .innerJoin("private_keys as k", (join) =>
        join.onRef("k.organization_id", "=", "a.organization_id").onRef("k.id", "=", "a.private_key_id"),
      )
      .select(["k.id", "k.curve", "k.public_key", "k.sealed_key", "k.name", "k.imported", "k.exported"])
      .select(["a.format", "a.address"])
      .where("a.organization_id", "=", organizationId)
      .where("a.lookup", "=", lookup),
  { isLasting: true, isTogether: true },
);
const selectAccountByAddress = prepared<{ organizationId: string; lookup: string }>()(
  (db, { organizationId, lookup }) =>
    db
      .selectFrom("wallet_accounts as a")
      .innerJoin("wallets as w", (join) =>
        join.onRef("w.organization_id", "=", "a.organization_id").onRef("w.id", "=", "a.wallet_id"),
      )
      .select([
        "a.id",
        "a.curve",
        "a.path",
        "a.public_key",
        "a.address_format as format",
        "a.address",
        "w.id as wallet_id",
        "w.sealed_wallet",
        "w.name as wallet_name",
        "w.imported",
        "w.exported",
      ])
      .where("a.organization_id", "=", organizationId)
      .where("a.lookup", "=", lookup),
  { isLasting: true, isTogether: true },
);

const selectPrivateKeyTags = prepared<{ organizationId: string; id: string }>()(
  (db, { organizationId, id }) =>
    db
      .selectFrom("private_key_tag_members")
      .select("tag_id")
      .where("organization_id", "=", organizationId)
      .where("member_id", "=", id),
  { isLasting: true, isTogether: true },
);

type PrivateKeyRow = Awaited<ReturnType<typeof selectPrivateKeyById>>[number];
type AccountRow = Awaited<ReturnType<typeof selectAccountByAddress>>[number];

/**
 * The key that `signWith` names: the id of a private key, or an address. If several keys have the address, wallet accounts take
 * precedence over private keys, and older keys over newer ones.
 *
 * @throws KeysteadError SIGNING_RESOURCE_NOT_FOUND
 */
export async function findSigningKey(read: Reader, organizationId: string, signWith: string): Promise<SigningKey> {
  return (await lookUpSigningKey(read, organizationId, signWith)) ?? fail("SIGNING_RESOURCE_NOT_FOUND", {});
}

/** As `findSigningKey`, but undefined if there is no such key. */
export async function lookUpSigningKey(
  read: Reader,
  organizationId: string,
  signWith: string,
): Promise<SigningKey | undefined> {
  const found = await lookUp(read, organizationId, signWith);
  if (!found) return undefined;
  if (found.kind === "walletAccount") return named(ofAccount(found.row), found.row);
  const key = ofPrivateKey(found.row);
  return found.at ? named(key, found.at) : key;
}

/** The stored row that `signWith` names; `at` is the address, if a private key was named by one. */
type Found =
  | { kind: "walletAccount"; row: AccountRow }
  | { kind: "privateKey"; row: PrivateKeyRow; at?: { format: string; address: string } };

async function lookUp(read: Reader, organizationId: string, signWith: string): Promise<Found | undefined> {
  if (isId(signWith)) {
    const [row] = await selectPrivateKeyById(read, { organizationId, id: signWith });
    return row && { kind: "privateKey", row };
  }
  const lookup = { organizationId, lookup: normalizeAddress(signWith) };
  const [account] = (await selectAccountByAddress(read, lookup)).sort(oldestFirst);
  if (account) return { kind: "walletAccount", row: account };
  const [row] = (await selectPrivateKeyByAddress(read, lookup)).sort(oldestFirst);
  return row && { kind: "privateKey", row, at: row };
}

function ofPrivateKey({ id, curve: curveName, public_key, sealed_key }: PrivateKeyRow): SigningKey {
  const curve = curveName as Curve;
  return {
    id,
    reference: { kind: "privateKey", keyId: id, curve, sealedKey: base64(sealed_key) },
    curve,
    publicKey: compressedFromShown(curve, public_key),
  };
}

function ofAccount(row: AccountRow): SigningKey {
  const curve = row.curve as Curve;
  return {
    id: row.id,
    reference: {
      kind: "walletAccount",
      walletId: row.wallet_id,
      sealedWallet: base64(row.sealed_wallet),
      curve,
      path: row.path,
    },
    curve,
    publicKey: Buffer.from(row.public_key, "hex"),
  };
}

/** The key together with the address that named it. */
function named(key: SigningKey, row: { format: string; address: string }): SigningKey {
  const address = { format: row.format as AddressFormat, address: row.address };
  return { ...key, address, reference: { ...key.reference, address } };
}

/**
 * Withholds a signature if `signWith` no longer names the key that made it, because that was deleted or replaced since.
 *
 * @throws KeysteadError SIGNING_RESOURCE_NOT_FOUND
 */
export async function requireSameKey(
  read: Reader,
  organizationId: string,
  signWith: string,
  { id }: SigningKey,
): Promise<void> {
  const now = await findSigningKey(read, organizationId, signWith);
  if (now.id !== id) fail("SIGNING_RESOURCE_NOT_FOUND", {});
}

/** The signature scheme that the address format requires; undefined for the curve's default scheme. */
export function schemeOf({ address }: SigningKey): Scheme | undefined {
  if (address?.format.endsWith("_P2TR")) return "bip340Taproot";
  return address?.format.startsWith("ADDRESS_FORMAT_SPARK_") ? "bip340" : undefined;
}

/** The facts that policies see about the key that `signWith` names; empty if it names none. */
export async function signingKeyFacts(read: Reader, organizationId: string, signWith: string): Promise<PolicyFacts> {
  const found = await lookUp(read, organizationId, signWith);
  if (!found) return {};
  if (found.kind === "walletAccount") return accountFacts(found.row);
  const { id, name: label, imported, exported } = found.row;
  const tags = await selectPrivateKeyTags(read, { organizationId, id });
  return {
    private_key: {
      id,
      label,
      tags: tags.map(({ tag_id }) => tag_id).sort(),
      imported: imported === 1,
      exported: exported === 1,
    },
  };
}

/** The facts that policies see about an account; `imported` and `exported` are its wallet's. */
export function accountFacts({
  wallet_id: id,
  wallet_name: label,
  imported,
  exported,
  path,
  address,
}: Pick<AccountRow, "wallet_id" | "wallet_name" | "imported" | "exported" | "path" | "address">): PolicyFacts {
  const levels = parsePath(path);
  return {
    wallet: { id, label, imported: imported === 1, exported: exported === 1 },
    wallet_account: {
      address,
      path_indexes: levels.map(({ index }) => index),
      path_hardened: levels.map(({ hardened }) => hardened),
    },
  };
}

/** As `signingKeyFacts`, for a request that several keys sign. */
export async function signingKeysFacts(
  read: Reader,
  organizationId: string,
  signWiths: readonly string[],
): Promise<PolicyFacts> {
  const each = await Promise.all(signWiths.map((signWith) => signingKeyFacts(read, organizationId, signWith)));
  return sharedKeyFacts(each, "is signed with");
}

const keyRoots = ["wallet", "wallet_account", "private_key"] as const;

/**
 * The facts of several keys of one request. A policy that reads facts that differ between the keys fails, so that a policy for one key
 * does not allow the use of another.
 */
export function sharedKeyFacts(each: readonly PolicyFacts[], relation: "is signed with" | "is about"): PolicyFacts {
  const facts: PolicyFacts = {};
  for (const root of keyRoots) {
    const [first, ...others] = each.map((one) => one[root]);
    const isSame = others.every((other) => JSON.stringify(other) === JSON.stringify(first));
    const get = () => {
      if (isSame) return first;
      throw new MissingFactError(`the request ${relation} several keys, which do not share one \`${root}\``);
    };
    Object.defineProperty(facts, root, { get, enumerable: true });
  }
  return facts;
}
