import { durationText, HOUR_MS } from "../../kernel/durations.ts";
import { fail } from "../../kernel/errors.ts";
import { IMPORT_KEY_LIFETIME_MS, MAX_IMPORT_KEYS } from "../../kernel/limits.ts";
import type { HpkeMessage, ImportProblem, SealedImportKey } from "../../signer/protocol.ts";
import { deleteSome } from "../../storage/deletion-in-turns.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { PrepareContext } from "../declare.ts";
import { loadUser } from "../identity/users.ts";
import { reconciler } from "../jobs/jobs.ts";
import { deleteInPortions } from "../jobs/portions.ts";
import { signEnvelopes } from "./bundle-envelopes.ts";
import { keyOwnerOf } from "./key-owner.ts";

/**
 * The keys to which clients encrypt what they import. Each is for one user and one import: the transaction that stores the imported key
 * deletes it. Only the signer can open them.
 */

/** `key` is for private keys and wallets, `secret` for secrets. */
export type ImportPurpose = "key" | "secret";

/** The user for whom an import key is made, and its purpose. */
export interface ImportOwner {
  organizationId: string;
  userId: string;
  purpose: ImportPurpose;
}

export interface NewImportKey {
  id: string;
  /** Milliseconds. */
  issuedAt: number;
  sealedKey: Uint8Array;
  targetPublicKey: string;
  /** The signed message for the client. */
  envelope: string;
}

type Asking = Pick<
  PrepareContext<unknown, "createImportKeys" | "signStatements">,
  "read" | "organization" | "signer" | "id" | "now"
>;

/**
 * Makes import keys in the signer, without storing them. `toldUserId` is the user id in the message to the client: '' for a secret, because
 * secrets belong to the organization.
 */
export async function makeImportKeys(
  { read, organization, signer, id, now }: Asking,
  { purpose, userId, toldUserId }: Pick<ImportOwner, "purpose" | "userId"> & { toldUserId: string },
  count: number,
): Promise<NewImportKey[]> {
  const ids = Array.from({ length: count }, (_, index) => id(`importKeys.${index}`));
  const { importKeys } = await signer.ask({
    verb: "createImportKeys",
    ...keyOwnerOf(organization),
    terms: { purpose, userId, issuedAt: now },
    importIds: ids,
  });
  const organizationId = organization.id;
  const targets = importKeys.map(({ targetPublicKey: targetPublic }) => ({
    says: "target" as const,
    targetPublic,
    organizationId,
    userId: toldUserId,
  }));
  const envelopes = await signEnvelopes({ read, signer }, targets);
  return importKeys.map(({ sealedImportKey, targetPublicKey }, index) => ({
    id: ids[index] as string,
    issuedAt: now,
    sealedKey: Buffer.from(sealedImportKey, "base64"),
    targetPublicKey,
    envelope: envelopes[index] as string,
  }));
}

/**
 * Stores import keys; the user's oldest ones are dropped if there are too many.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND if the user was deleted
 */
export async function addImportKeys(
  tx: Transactor,
  { organizationId, userId, purpose }: ImportOwner,
  keys: readonly NewImportKey[],
): Promise<void> {
  const user = await loadUser(tx, organizationId, userId);
  if (!user) fail("RESOURCE_NOT_FOUND", { kind: "user", id: userId, organizationId });
  const rows = keys.map(({ id, issuedAt, sealedKey, targetPublicKey }) => ({
    organization_id: organizationId,
    id,
    user_id: userId,
    purpose,
    sealed_key: sealedKey,
    target_public_key: targetPublicKey,
    created_at: issuedAt,
  }));
  await tx.insertInto("import_keys").values(rows).execute();
  const all = await importKeysOf(tx, { organizationId, userId, purpose }).select("id").execute();
  const surplus = all.slice(MAX_IMPORT_KEYS).map(({ id }) => id);
  if (surplus.length === 0) return;
  await tx.deleteFrom("import_keys").where("organization_id", "=", organizationId).where("id", "in", surplus).execute();
}

/** Newest first. */
const importKeysOf = (read: Reader, { organizationId, userId, purpose }: ImportOwner) =>
  read
    .selectFrom("import_keys")
    .where("organization_id", "=", organizationId)
    .where("user_id", "=", userId)
    .where("purpose", "=", purpose)
    .orderBy("created_at", "desc")
    .orderBy("id", "desc");

export interface ImportKey {
  targetPublicKey: string;
  /** In the form that the signer takes. */
  asked: SealedImportKey;
}

/** The user's import keys that have not expired. */
export async function findImportKeys(read: Reader, owner: ImportOwner, now: number): Promise<ImportKey[]> {
  const rows = await importKeysOf(read, owner)
    .select(["id", "user_id", "created_at", "sealed_key", "target_public_key"])
    .where("created_at", ">", now - IMPORT_KEY_LIFETIME_MS)
    .execute();
  return rows.map((row) => ({
    targetPublicKey: row.target_public_key,
    asked: {
      importId: row.id,
      userId: row.user_id,
      issuedAt: row.created_at,
      sealedImportKey: Buffer.from(row.sealed_key).toString("base64"),
    },
  }));
}

/** The common part of signer requests for imports of keys and wallets: the signer tries the user's import keys on the bundle. */
export async function importRequestOf(
  {
    read,
    organization,
    now,
    intent,
  }: Pick<PrepareContext<{ userId: string }>, "read" | "organization" | "now" | "intent">,
  bundle: HpkeMessage,
) {
  const owner: ImportOwner = { organizationId: organization.id, userId: intent.userId, purpose: "key" };
  const importKeys = await findImportKeys(read, owner, now);
  return { ...keyOwnerOf(organization), importKeys: importKeys.map(({ asked }) => asked), bundle };
}

const LOST = `was not encrypted to a valid import key of this user: each key can be used for one import within ${durationText(IMPORT_KEY_LIFETIME_MS)}. Initialize the import again and encrypt to the new key`;

/**
 * Deletes the import key that opened a bundle. If two imports used the same key, the second fails here and stores nothing.
 *
 * @throws KeysteadError FIELD_INVALID
 */
export async function useUpImportKey(
  tx: Transactor,
  organizationId: string,
  importId: string,
  field: string,
): Promise<void> {
  const used = await tx
    .deleteFrom("import_keys")
    .where("organization_id", "=", organizationId)
    .where("id", "=", importId)
    .returning("id")
    .execute();
  if (used.length === 0) fail("FIELD_INVALID", { field, reason: LOST });
}

/** The signer's result of an import, or an error; `what` names what the bundle should contain. */
export function takenImport<Taken extends object>(
  answer: Taken | { problem: ImportProblem },
  field: string,
  what: string,
): Taken {
  return "problem" in answer ? refuseImport(answer.problem, field, what) : answer;
}

export function refuseImport(problem: ImportProblem, field: string, what: string): never {
  switch (problem) {
    case "undecryptable":
      return fail("FIELD_INVALID", { field, reason: LOST });
    case "invalidMnemonic":
      return fail("MNEMONIC_INVALID", { reason: `\`${field}\` must contain ${what}` });
    case "invalidKey":
      return fail("FIELD_INVALID", { field, reason: `must contain ${what}` });
    case "tooLarge":
      return fail("FIELD_INVALID", { field, reason: `contains more than ${what} may have` });
  }
}

/** Deletes expired import keys. */
export const pruneImportKeys = reconciler({
  name: "prune_import_keys",
  everyMs: HOUR_MS,
  async run({ database, clock }) {
    const before = clock() - IMPORT_KEY_LIFETIME_MS;
    await deleteInPortions(database, (tx, limit) => {
      const lapsed = tx.selectFrom("import_keys").where("created_at", "<=", before);
      return deleteSome(tx.kind, tx.deleteFrom("import_keys"), lapsed, limit);
    });
  },
});
