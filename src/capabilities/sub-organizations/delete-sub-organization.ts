import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { endOrganization, requireAllExported } from "./store.ts";

export const deleteSubOrganization = activity({
  path: "delete_sub_organization",
  summary:
    "Delete this sub-organization with all its keys and credentials. The parent can still read its activities. Requires the root quorum of the sub-organization.",
  only: "subOrganizations",
  needs: ["erasedTables", "largeTables"],
  intent: Strict({ deleteWithoutExport: Type.Optional(Type.Boolean()) }),
  result: Type.Object({ subOrganizationUuid: Type.String() }),
  subject: () => ({ governedBy: "rootQuorum", action: "DELETE" }),
  async run({ intent: { deleteWithoutExport = false }, tx, organization, now, ...tables }) {
    if (!deleteWithoutExport) await requireAllExported(tx, organization.id);
    await endOrganization(tx, organization.id, tables, now);
    return { subOrganizationUuid: organization.id };
  },
});
