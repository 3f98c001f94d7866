import { type Static, Type } from "typebox";
import { Email, Id, Ids, Label, OneOf, Strict, Timestamp } from "../../engine/fields.ts";

const AccessType = OneOf(["ACCESS_TYPE_WEB", "ACCESS_TYPE_API", "ACCESS_TYPE_ALL"]);

export const InvitationParams = Strict({
  receiverUserName: Label,
  receiverUserEmail: Email,
  receiverUserTags: Ids,
  accessType: AccessType,
  senderUserId: Id,
});
export type InvitationParams = Static<typeof InvitationParams>;

export const Invitation = Type.Object(
  {
    invitationId: Type.String(),
    receiverUserName: Type.String(),
    receiverUserEmail: Type.String(),
    receiverUserTags: Type.Array(Type.String()),
    accessType: AccessType,
    senderUserId: Type.String(),
    status: OneOf(["INVITATION_STATUS_CREATED", "INVITATION_STATUS_ACCEPTED", "INVITATION_STATUS_REVOKED"]),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    /** Absent for invitations from before invitations were mailed. */
    expiresAt: Type.Optional(Timestamp),
  },
  { $id: "Invitation" },
);
export type Invitation = Static<typeof Invitation>;
