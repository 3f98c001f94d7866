import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, OneOf, Pagination } from "../../engine/fields.ts";
import { pageOf } from "../../engine/paging.ts";
import { findVerifiedSubOrganizationIds } from "./store.ts";

export const listVerifiedSuborgs = query({
  path: "list_verified_suborgs",
  summary:
    "List the IDs of the sub-organizations with a user whose email address or phone number is verified, newest first.",
  only: "parents",
  request: Type.Object({
    organizationId: Id,
    filterType: Type.Optional(OneOf(["", "EMAIL", "PHONE_NUMBER"])),
    filterValue: Type.Optional(Type.String({ maxLength: 1024 })),
    paginationOptions: Type.Optional(Pagination),
  }),
  response: Type.Object({ organizationIds: Type.Array(Type.String()) }),
  async run({ request: { filterType, filterValue, paginationOptions }, read, organization }) {
    const filter = { type: filterType || undefined, value: filterValue };
    const page = pageOf(paginationOptions);
    return { organizationIds: await findVerifiedSubOrganizationIds(read, organization.id, filter, page) };
  },
});
