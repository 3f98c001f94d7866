import { Type } from "typebox";
import { addInvitations } from "../../authority/rules/invitations.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { SomeOf, Strict } from "../../engine/fields.ts";
import { MAX_OPEN_INVITATIONS } from "../../kernel/limits.ts";
import { InvitationParams } from "./model.ts";

export const createInvitations = activity({
  path: "create_invitations",
  summary: "Invite people to become users. Invitations are stored and not mailed yet.",
  intent: Strict({ invitations: SomeOf(InvitationParams, MAX_OPEN_INVITATIONS) }),
  result: Type.Object({ invitationIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "INVITATION", action: "CREATE" }),
  change: ({ view, id, intent: { invitations }, now }) =>
    changesOn(view, (draft) =>
      addInvitations(
        draft,
        invitations.map((invitation, index) => ({
          id: id(`invitations.${index}`),
          receiverName: invitation.receiverUserName,
          receiverEmail: invitation.receiverUserEmail,
          receiverTagIds: [...new Set(invitation.receiverUserTags)],
          accessType: invitation.accessType,
          senderUserId: invitation.senderUserId,
        })),
        now,
      ),
    ),
  answer: ({ id, intent: { invitations } }) => ({
    invitationIds: invitations.map((_, index) => id(`invitations.${index}`)),
  }),
});
