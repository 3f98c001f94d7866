import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";
import { revoke } from "../../engine/identity/revocations.ts";
import { fail } from "../../kernel/errors.ts";
import { requireUsers } from "./store.ts";

export const deleteUsers = activity({
  path: "delete_users",
  summary:
    "Delete users with their credentials, and take back their votes in activities that are still open. Members of the root quorum must leave it first.",
  intent: Strict({ userIds: SomeIds }),
  result: Type.Object({ userIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "USER", action: "DELETE" }),
  async run({ intent: { userIds }, tx, organization, now }) {
    await requireUsers(tx, organization.id, userIds);
    const member = await tx
      .selectFrom("root_quorum_members")
      .select("user_id")
      .where("organization_id", "=", organization.id)
      .where("user_id", "in", userIds)
      .executeTakeFirst();
    if (member) {
      const reason = `holds ${member.user_id}, a member of the root quorum; change it with update_root_quorum first`;
      fail("FIELD_INVALID", { field: "parameters.userIds", reason });
    }
    await tx.deleteFrom("users").where("organization_id", "=", organization.id).where("id", "in", userIds).execute();
    await revoke(tx, organization.id, userIds, now);
    return { userIds };
  },
});
