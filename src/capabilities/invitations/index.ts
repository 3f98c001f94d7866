import { createInvitations } from "./create-invitations.ts";
import { deleteInvitation } from "./delete-invitation.ts";
import { listInvitations } from "./list-invitations.ts";

export const invitations = [createInvitations, deleteInvitation, listInvitations];
