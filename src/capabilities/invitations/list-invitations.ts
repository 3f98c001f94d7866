import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { Invitation } from "./model.ts";
import { findInvitations } from "./store.ts";

export const listInvitations = query({
  path: "list_invitations",
  summary: "Invitations that are neither accepted nor revoked. An extension of this server.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ invitations: Type.Array(Invitation) }),
  run: async ({ read, organization }) => ({ invitations: await findInvitations(read, organization.id) }),
});
