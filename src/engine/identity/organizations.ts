import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { Organization } from "../operations.ts";

const selectOrganization = prepared<{ id: string }>()((db, { id }) =>
  db.selectFrom("organizations").selectAll().where("id", "=", id),
);

/** The organization as it is now, also one that was deleted. */
export async function findOrganization(read: Reader, id: string): Promise<Organization | undefined> {
  const [row] = await selectOrganization(read, { id });
  return (
    row && {
      id: row.id,
      parentId: row.parent_id,
      name: row.name,
      sealedKey: row.sealed_key,
      quorumThreshold: row.quorum_threshold,
      policiesVersion: row.policies_version,
    }
  );
}
