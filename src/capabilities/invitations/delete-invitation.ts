import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { revokeInvitation } from "./store.ts";

export const deleteInvitation = activity({
  path: "delete_invitation",
  summary: "Revoke an open invitation.",
  intent: Strict({ invitationId: Id }),
  result: Type.Object({ invitationId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "INVITATION", action: "DELETE" }),
  async run({ intent: { invitationId }, tx, organization, now }) {
    await revokeInvitation(tx, organization.id, invitationId, now);
    return { invitationId };
  },
});
