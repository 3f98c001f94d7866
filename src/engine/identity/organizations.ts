import { type Expression, type RawBuilder, type Selectable, sql } from "kysely";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";
import type { Organization } from "../operations.ts";

/** The id of the parent, or of the organization itself: sub-organizations share the limits of their parent. */
export const rootIdOf = ({ id, parentId }: Pick<Organization, "id" | "parentId">): string => parentId ?? id;

/** The same in SQL. */
export const rootIdIn = (organizationId: string | Expression<string>): RawBuilder<string> =>
  sql<string>`(select coalesce(o.parent_id, o.id) from organizations o where o.id = ${organizationId})`;

const selectOrganization = prepared<{ id: string }>()((db, { id }) =>
  db.selectFrom("organizations").selectAll().where("id", "=", id),
);

/** The current state of an organization, including one that was deleted and is being erased. */
export async function findOrganization(read: Reader, id: string): Promise<Organization | undefined> {
  const [row] = await selectOrganization(read, { id });
  return row && organizationOf(row.id, row.name, row);
}

type OrganizationRow = Pick<
  Selectable<Schema["organizations"]>,
  "parent_id" | "sealed_key" | "quorum_threshold" | "policies_version" | "erasing"
>;

/** `row` has the columns whose names are the same in every query. Copying it to rename the others would take longer than all the rest. */
export const organizationOf = (id: string, name: string, row: OrganizationRow): Organization => ({
  id,
  parentId: row.parent_id,
  name,
  sealedKey: row.sealed_key,
  quorumThreshold: row.quorum_threshold,
  policiesVersion: row.policies_version,
  isErasing: row.erasing !== 0,
});
