import { timestampOf } from "../../engine/fields.ts";
import type { Organization } from "../../engine/operations.ts";
import type { Reader } from "../../storage/engine.ts";
import type { SessionProfile } from "./model.ts";

/** The profiles that sessions of an organization may be issued with, which are its parent's, or the one named. */
export async function findSessionProfiles(
  read: Reader,
  { id: organizationId, parentId }: Organization,
  id?: string,
): Promise<SessionProfile[]> {
  const rows = await read
    .selectFrom("session_profiles")
    .selectAll()
    .where("organization_id", "=", parentId ?? organizationId)
    .$if(id !== undefined, (profiles) => profiles.where("id", "=", id as string))
    .orderBy("id")
    .execute();
  return rows.map((row) => ({
    sessionProfileId: row.id,
    sessionProfileName: row.name,
    scope: row.scope,
    ...(row.expiration_seconds === null ? {} : { expirationSeconds: String(row.expiration_seconds) }),
    ...(row.notes === null ? {} : { notes: row.notes }),
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
  }));
}
