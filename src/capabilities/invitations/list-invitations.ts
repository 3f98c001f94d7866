import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, Pagination } from "../../engine/fields.ts";
import { pageOf } from "../../engine/paging.ts";
import { Invitation } from "./model.ts";
import { findInvitations } from "./store.ts";

export const listInvitations = query({
  path: "list_invitations",
  isExtension: true,
  summary: "List invitations and their status, newest first. An extension of this server.",
  request: Type.Object({ organizationId: Id, paginationOptions: Type.Optional(Pagination) }),
  response: Type.Object({ invitations: Type.Array(Invitation) }),
  run: async ({ request: { paginationOptions }, read, organization }) => ({
    invitations: await findInvitations(read, organization.id, pageOf(paginationOptions)),
  }),
});
