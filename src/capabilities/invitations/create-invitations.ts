import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { SomeOf, Strict } from "../../engine/fields.ts";
import { MAX_OPEN_INVITATIONS } from "../../kernel/limits.ts";
import { InvitationParams } from "./model.ts";
import { addInvitations } from "./store.ts";

export const createInvitations = activity({
  path: "create_invitations",
  summary: "Invite people to become users. Invitations are stored and not mailed yet.",
  intent: Strict({ invitations: SomeOf(InvitationParams, MAX_OPEN_INVITATIONS) }),
  result: Type.Object({ invitationIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "INVITATION", action: "CREATE" }),
  run: async ({ intent: { invitations }, tx, organization, now }) => ({
    invitationIds: await addInvitations(tx, organization.id, invitations, now),
  }),
});
