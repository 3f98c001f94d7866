import { capability } from "../../engine/capability.ts";
import { acceptInvitation } from "./accept-invitation.ts";
import { createInvitations } from "./create-invitations.ts";
import { deleteInvitation } from "./delete-invitation.ts";
import { listInvitations } from "./list-invitations.ts";

export const invitations = capability({
  title: "Invitations",
  operations: [createInvitations, deleteInvitation, acceptInvitation, listInvitations],
  erases: ["invitations"],
});
