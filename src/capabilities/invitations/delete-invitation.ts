import { Type } from "typebox";
import { revokeInvitation } from "../../authority/rules/invitations.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";

export const deleteInvitation = activity({
  path: "delete_invitation",
  summary: "Revoke an open invitation.",
  intent: Strict({ invitationId: Id }),
  result: Type.Object({ invitationId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "INVITATION", action: "DELETE" }),
  change: ({ view, intent: { invitationId }, now }) =>
    changesOn(view, (draft) => revokeInvitation(draft, invitationId, now)),
  answer: ({ intent: { invitationId } }) => ({ invitationId }),
});
