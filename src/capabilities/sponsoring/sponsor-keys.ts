import { deriveAddress } from "../../crypto/addresses.ts";
import {
  currentServiceKey,
  publishedServiceKeys,
  type ServiceKey,
  type ServiceKeyKind,
} from "../../engine/keys/service-keys.ts";
import { DAY_MS } from "../../kernel/durations.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";

/** The accounts that this installation pays from: one for all Ethereum chains, one for Solana's clusters. */

/** A replaced key stays published for this long, because its account may still have funds. */
const YEAR_MS = 365 * DAY_MS;

type Family = "eip155" | "solana";

const kinds = {
  eip155: kindOf("eip155", "sponsorEthereum", "CURVE_SECP256K1"),
  solana: kindOf("solana", "sponsorSolana", "CURVE_ED25519"),
} as const satisfies Record<Family, ServiceKeyKind>;

export const sponsorKeys: readonly ServiceKeyKind[] = Object.values(kinds);

function kindOf(family: Family, purpose: string, curve: ServiceKeyKind["curve"]): ServiceKeyKind {
  const kind: ServiceKeyKind = {
    purpose,
    curve,
    isSponsor: true,
    publishedAfterRetirementMs: YEAR_MS,
    publish: async (read, now) =>
      (await publishedServiceKeys(read, kind, now)).map((key) => ({ keyId: key.id, address: addressOf(family, key) })),
  };
  return kind;
}

/** The address in its chain's usual spelling; Ethereum's has the EIP-55 checksum. */
const addressOf = (family: Family, { curve, publicKey }: Pick<ServiceKey, "curve" | "publicKey">): string =>
  deriveAddress(
    family === "eip155" ? "ADDRESS_FORMAT_ETHEREUM" : "ADDRESS_FORMAT_SOLANA",
    curve,
    Buffer.from(publicKey, "hex"),
  );

/**
 * The address that currently pays on the chains of a family.
 *
 * @throws KeysteadError SIGNER_UNAVAILABLE before the first start with an open root key
 */
export const sponsorAddress = async (read: Reader, family: Family): Promise<string> =>
  addressOf(family, await currentServiceKey(read, kinds[family]));

/** The existing addresses by CAIP-2 namespace. */
export async function sponsorAddresses(read: Reader, now: number): Promise<Record<string, string>> {
  const families: readonly Family[] = ["eip155", "solana"];
  const found = await Promise.all(
    families.map(async (family) => {
      const [key] = await publishedServiceKeys(read, kinds[family], now);
      return key ? [[family, addressOf(family, key)] as const] : [];
    }),
  );
  return Object.fromEntries(found.flat());
}

/** The key of an address that pays now, or that paid before it was replaced. */
export async function findSponsorKey(
  read: Reader,
  family: Family,
  address: string,
): Promise<Pick<ServiceKey, "id" | "curve" | "sealedKey">> {
  const { purpose, curve } = kinds[family];
  const wanted = family === "eip155" ? address.toLowerCase() : address;
  for (const { id, public_key: publicKey, sealed_key: sealedKey } of await selectKeys(read, { purpose })) {
    const own = addressOf(family, { curve, publicKey });
    if ((family === "eip155" ? own.toLowerCase() : own) === wanted) return { id, curve, sealedKey };
  }
  return fail("SIGNER_UNAVAILABLE", { reason: `the sponsor has no key for ${address}` });
}

const selectKeys = prepared<{ purpose: string }>()((db, { purpose }) =>
  db.selectFrom("service_keys").select(["id", "public_key", "sealed_key"]).where("purpose", "=", purpose),
);
