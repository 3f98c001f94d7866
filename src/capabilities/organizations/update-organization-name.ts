import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Label, Strict } from "../../engine/fields.ts";

export const updateOrganizationName = activity({
  path: "update_organization_name",
  summary: "Rename the organization. Requires the root quorum.",
  intent: Strict({ organizationName: Label }),
  result: Type.Object({ organizationId: Type.String(), organizationName: Type.String() }),
  subject: () => ({ governedBy: "rootQuorum" }),
  async run({ intent: { organizationName }, tx, organization, now }) {
    await tx
      .updateTable("organizations")
      .set({ name: organizationName, updated_at: now })
      .where("id", "=", organization.id)
      .execute();
    return { organizationId: organization.id, organizationName };
  },
});
