import { sql } from "kysely";
import { newestFirst, type Page } from "../../engine/paging.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader } from "../../storage/engine.ts";
import type { SecretMetadata, StaticProperty } from "./model.ts";

/** A secret with the data that the signer needs and the properties that policies see. */
export interface StoredSecret {
  id: string;
  sealedSecret: Uint8Array;
  staticProperties: StaticProperty[];
}

/** The organization's secrets among these ids, in no particular order. */
export async function findSecrets(
  read: Reader,
  organizationId: string,
  ids: readonly string[],
): Promise<Map<string, StoredSecret>> {
  const rows = await read
    .selectFrom("secrets")
    .select(["id", "sealed_secret", "static_properties"])
    .where("organization_id", "=", organizationId)
    .where("id", "in", ids)
    .execute();
  return new Map(
    rows.map(({ id, sealed_secret, static_properties }) => [
      id,
      { id, sealedSecret: sealed_secret, staticProperties: JSON.parse(static_properties) as StaticProperty[] },
    ]),
  );
}

/** @throws KeysteadError RESOURCE_NOT_FOUND naming the first secret that the organization does not have */
export async function requireSecrets(
  read: Reader,
  organizationId: string,
  ids: readonly string[],
): Promise<StoredSecret[]> {
  const known = await findSecrets(read, organizationId, ids);
  return ids.map((id) => known.get(id) ?? fail("RESOURCE_NOT_FOUND", { kind: "secret", id, organizationId }));
}

/** One page, newest first; ids sort by creation time. */
export async function listSecretMetadata(read: Reader, organizationId: string, page: Page): Promise<SecretMetadata[]> {
  const rows = await pageOfSecrets(read, organizationId, page)
    .select(["id", "name", "static_properties", "created_at"])
    .execute();
  return newestFirst(rows, page).map(({ id, name, static_properties, created_at }) => ({
    secretId: id,
    ...(name === null ? {} : { name }),
    staticProperties: JSON.parse(static_properties) as StaticProperty[],
    createdAtUnixMs: String(created_at),
  }));
}

/** The stored size of the static properties on such a page, in bytes. */
export async function bytesOfSecretMetadata(read: Reader, organizationId: string, page: Page): Promise<number> {
  const rows = await pageOfSecrets(read, organizationId, page)
    .select(sql<number>`octet_length(static_properties)`.as("bytes"))
    .execute();
  return rows.reduce((sum, { bytes }) => sum + bytes, 0);
}

const pageOfSecrets = (read: Reader, organizationId: string, page: Page) =>
  read
    .selectFrom("secrets")
    .where("organization_id", "=", organizationId)
    .$if(page.before !== undefined, (some) => some.where("id", "<", page.before as string))
    .$if(page.after !== undefined, (some) => some.where("id", ">", page.after as string))
    .orderBy("id", page.after === undefined ? "desc" : "asc")
    .limit(page.limit);
