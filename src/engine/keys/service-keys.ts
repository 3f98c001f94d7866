import { decompressPublicKey } from "../../crypto/curves.ts";
import { toHex } from "../../kernel/bytes.ts";
import { fail } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import type { Signer } from "../../signer/client.ts";
import { type Curve, INSTALLATION, type KeyReference, type Sealed } from "../../signer/protocol.ts";
import type { Statement } from "../../signer/statements.ts";
import type { Database } from "../../storage/database.ts";
import type { Reader } from "../../storage/engine.ts";
import { SERVICE_OWNER_KEY } from "../../storage/installation-rows.ts";
import { prepared } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";
import type { AskedSigner } from "../services.ts";

/**
 * The installation's own keys: created once, sealed like all keys, and replaced by rotation. A retired key stays published for a while, so
 * that its signatures can still be verified.
 */
export interface ServiceKey {
  /** Published with its signatures. */
  id: string;
  curve: Curve;
  /** Lowercase hex: the compressed point, or the 32 bytes of an Ed25519 key. */
  publicKey: string;
  sealedKey: Uint8Array;
}

/** A purpose of the installation's keys, declared by a capability's manifest. */
export interface ServiceKeyKind {
  /** The name in the database, in `keystead rotate` and in the published document. */
  purpose: string;
  curve: Curve;
  /** True if it signs only transactions that the installation pays for. */
  isSponsor?: true;
  /** How long a retired key stays published. */
  publishedAfterRetirementMs: number;
  /** The current key first, then recently retired ones, in the form that clients take. */
  publish: (read: Reader, now: number) => Promise<unknown>;
}

type KeyStore = { database: Database; signer: Signer };
/** What signing with a service key needs. */
export type ServiceSigner = { read: Reader; signer: AskedSigner<"signStatements"> };

/** Creates the keys that are missing. */
export async function ensureServiceKeys(store: KeyStore, kinds: readonly ServiceKeyKind[], now: number): Promise<void> {
  for (const kind of kinds) {
    const [current] = await selectCurrent(store.database.read, { purpose: kind.purpose });
    if (!current) await addServiceKey(store, kind, now, { onlyIfNone: true });
  }
}

/** Replaces the current key by a new one; resolves to its id. */
export const rotateServiceKey = (store: KeyStore, kind: ServiceKeyKind, now: number): Promise<string> =>
  addServiceKey(store, kind, now, { onlyIfNone: false });

async function addServiceKey(
  { database, signer }: KeyStore,
  { purpose, curve, isSponsor }: ServiceKeyKind,
  now: number,
  { onlyIfNone }: { onlyIfNone: boolean },
): Promise<string> {
  const organizationKey = await ensureOwnerKey({ database, signer });
  const id = newId();
  const keys = [{ keyId: id, curve, ...(isSponsor ? { isSponsor } : {}) }];
  const generated = await signer.ask({ verb: "generateKeys", organizationId: INSTALLATION, organizationKey, keys });
  const { publicKey, sealedKey } = generated.keys[0] as (typeof generated.keys)[number];
  return database.transact("service keys", async (tx) => {
    const [current] = await selectCurrent(tx, { purpose });
    if (current && onlyIfNone) return current.id;
    await tx
      .updateTable("service_keys")
      .set({ retired_at: now })
      .where("purpose", "=", purpose)
      .where("retired_at", "is", null)
      .execute();
    const sealed_key = Buffer.from(sealedKey, "base64");
    const row = { id, purpose, curve, public_key: publicKey, sealed_key, created_at: now, retired_at: null };
    await tx.insertInto("service_keys").values(row).execute();
    return id;
  });
}

/** The current key, which signs. */
export async function currentServiceKey(
  read: Reader,
  { purpose }: Pick<ServiceKeyKind, "purpose">,
): Promise<ServiceKey> {
  const [row] = await selectCurrent(read, { purpose });
  if (!row) return fail("SIGNER_UNAVAILABLE", { reason: `there is no ${purpose} key yet` });
  return serviceKeyOf(row);
}

/** The keys that verify signatures: the current one first, then recently retired ones. */
export async function publishedServiceKeys(
  read: Reader,
  { purpose, publishedAfterRetirementMs }: ServiceKeyKind,
  now: number,
): Promise<ServiceKey[]> {
  const rows = await selectPublished(read, { purpose, since: Math.max(0, now - publishedAfterRetirementMs) });
  return rows.map(serviceKeyOf);
}

const serviceKeyOf = (row: Schema["service_keys"]): ServiceKey => ({
  id: row.id,
  curve: row.curve as Curve,
  publicKey: row.public_key,
  sealedKey: row.sealed_key,
});

/** The compressed keys of a kind, as in this server's own documents; the current one first. */
export async function publishedCompressed(
  read: Reader,
  kind: ServiceKeyKind,
  now: number,
): Promise<{ keyId: string; publicKey: string; algorithm: "p256" }[]> {
  const keys = await publishedServiceKeys(read, kind, now);
  return keys.map(({ id, publicKey }) => ({ keyId: id, publicKey, algorithm: "p256" }));
}

/** The keys of a kind in the form that the signer takes, to decrypt what was encrypted to them or to verify their signatures. */
export async function publishedKeyReferences(
  read: Reader,
  kind: ServiceKeyKind,
  now: number,
): Promise<{ installationKey: Sealed; keys: KeyReference[] }> {
  const { organizationKey: installationKey } = await serviceKeyOwner(read);
  const keys = (await publishedServiceKeys(read, kind, now)).map(
    ({ id, curve, sealedKey }): KeyReference => ({
      kind: "privateKey",
      keyId: id,
      curve,
      sealedKey: Buffer.from(sealedKey).toString("base64"),
    }),
  );
  return { installationKey, keys };
}

/** The uncompressed points of P-256 keys of a kind in hex, as published clients take keys; the current one first. */
export async function publishedPoints(
  read: Reader,
  kind: ServiceKeyKind,
  now: number,
): Promise<{ keyId: string; publicKey: string }[]> {
  const keys = await publishedServiceKeys(read, kind, now);
  return keys.map(({ id, publicKey }) => ({ keyId: id, publicKey: uncompressedPoint(publicKey) }));
}

/** Decompresses a P-256 key; both forms are lowercase hex. */
export const uncompressedPoint = (publicKey: string): string =>
  toHex(decompressPublicKey("CURVE_P256", Buffer.from(publicKey, "hex")));

/** The public keys of all service keys by purpose, in the forms that clients take. */
export async function publishServiceKeys(
  kinds: readonly ServiceKeyKind[],
  read: Reader,
  now: number,
): Promise<Record<string, unknown>> {
  const published = await Promise.all(kinds.map(async ({ purpose, publish }) => [purpose, await publish(read, now)]));
  return Object.fromEntries(published);
}

/** Signs statements with a service key. Signatures have 64 bytes, R || S or r || s, in the order of the statements. */
export async function signStatements(
  { read, signer }: ServiceSigner,
  { id: keyId, curve, sealedKey }: ServiceKey,
  statements: readonly Statement[],
): Promise<Buffer[]> {
  const { signatures } = await signer.ask({
    verb: "signStatements",
    ...(await serviceKeyOwner(read)),
    key: { keyId, curve, sealedKey: Buffer.from(sealedKey).toString("base64") },
    statements: [...statements],
  });
  return signatures.map((signature) => Buffer.from(signature, "hex"));
}

/** The owner of the installation's own keys and secrets, in the form that the signer takes. */
export const serviceKeyOwner = async (read: Reader): Promise<{ organizationId: string; organizationKey: string }> => ({
  organizationId: INSTALLATION,
  organizationKey: await ownerKey(read),
});

/** Cached: once it is stored, only a rotation of the root key changes it. */
let ownerKeys = new WeakMap<Reader, string>();

/** For the end of a rotation: what is cached is sealed with a root key that will be removed. */
export function forgetServiceKeyOwners(): void {
  ownerKeys = new WeakMap();
}

/** The sealed key under which the service keys are sealed. It exists if any service key does. */
async function ownerKey(read: Reader): Promise<string> {
  const known = ownerKeys.get(read);
  if (known !== undefined) return known;
  const [stored] = await selectOwnerKey(read, { name: SERVICE_OWNER_KEY });
  if (!stored) return fail("SIGNER_UNAVAILABLE", { reason: "there are no service keys yet" });
  ownerKeys.set(read, stored.value);
  return stored.value;
}

async function ensureOwnerKey({ database, signer }: KeyStore): Promise<string> {
  const [known] = await selectOwnerKey(database.read, { name: SERVICE_OWNER_KEY });
  if (known) return known.value;
  const { organizationKey } = await signer.ask({ verb: "createOrganizationKey", organizationId: INSTALLATION });
  return database.transact("service keys", async (tx) => {
    const [other] = await selectOwnerKey(tx, { name: SERVICE_OWNER_KEY });
    if (other) return other.value;
    await tx.insertInto("installation").values({ name: SERVICE_OWNER_KEY, value: organizationKey }).execute();
    return organizationKey;
  });
}

const selectOwnerKey = prepared<{ name: string }>()((db, { name }) =>
  db.selectFrom("installation").select("value").where("name", "=", name),
);

const selectCurrent = prepared<{ purpose: string }>()((db, { purpose }) =>
  db
    .selectFrom("service_keys")
    .selectAll()
    .where("purpose", "=", purpose)
    .where("retired_at", "is", null)
    .orderBy("id", "desc")
    .limit(1),
);

const selectPublished = prepared<{ purpose: string; since: number }>()((db, { purpose, since }) =>
  db
    .selectFrom("service_keys")
    .selectAll()
    .where("purpose", "=", purpose)
    .where((where) => where.or([where("retired_at", "is", null), where("retired_at", ">", since)]))
    .orderBy("id", "desc"),
);
