import { sql } from "kysely";
import { fail } from "../../kernel/errors.ts";
import { lowestIdAt } from "../../kernel/ids.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import { archivedBefore } from "./archived.ts";

/** The stored bytes of an activity's own row. */
export const storedBytes = sql<number | string>`coalesce(octet_length(body), 0) + octet_length(intent)
  + coalesce(octet_length(result), 0)`;

/**
 * The bytes of an activity in a response, without the users who voted. Its body appears in it as the intent and as the message of each vote
 * with the same body. The database knows these lengths without reading the values.
 */
export const shownBytes = sql<number | string>`
  ${storedBytes}
  + coalesce(octet_length(failure), 0) + (
    select coalesce(sum(octet_length(case when v.message = '' then activities.body else v.message end)), 0) from votes v
    where v.organization_id = activities.organization_id and v.activity_id = activities.id
  ) + (
    select coalesce(sum(octet_length(p.payload)), 0) from app_proofs p
    where p.organization_id = activities.organization_id and p.activity_id = activities.id
  )`;

const sizeById = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db
    .selectFrom("activities")
    .select(shownBytes.as("bytes"))
    .where("organization_id", "=", organizationId)
    .where("id", "=", id),
);
const sizeByFingerprint = prepared<{ organizationId: string; fingerprint: string }>()(
  (db, { organizationId, fingerprint }) =>
    db
      .selectFrom("activities")
      .select(shownBytes.as("bytes"))
      .where("organization_id", "=", organizationId)
      .where("fingerprint", "=", fingerprint),
);

/** @throws KeysteadError RESOURCE_NOT_FOUND, ACTIVITY_ARCHIVED */
export async function sizeOfActivity(read: Reader, organizationId: string, id: string): Promise<number> {
  const [row] = await sizeById(read, { organizationId, id });
  if (row) return Number(row.bytes);
  const before = await archivedBefore(read);
  if (before === 0 || id >= lowestIdAt(before))
    return fail("RESOURCE_NOT_FOUND", { kind: "activity", id, organizationId });
  return fail("ACTIVITY_ARCHIVED", { id, organizationId, before: new Date(before).toISOString() });
}

/** 0 if there is no such activity. */
export async function sizeOfActivityByFingerprint(
  read: Reader,
  which: { organizationId: string; fingerprint: string },
): Promise<number> {
  const [row] = await sizeByFingerprint(read, which);
  return Number(row?.bytes ?? 0);
}
