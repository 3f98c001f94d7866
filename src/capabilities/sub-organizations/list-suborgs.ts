import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, OneOf, Pagination } from "../../engine/fields.ts";
import { pageOf } from "../../engine/paging.ts";
import { findSubOrganizationIds, subOrganizationFilters } from "./store.ts";

export const listSuborgs = query({
  path: "list_suborgs",
  summary:
    "The identifiers of the sub-organizations, newest first: all, or those with a certain user or credential. Of those that know a public key or passkey, the ones in which it was used come first, the oldest use before the others.",
  only: "parents",
  request: Type.Object({
    organizationId: Id,
    filterType: Type.Optional(OneOf(["", ...subOrganizationFilters])),
    filterValue: Type.Optional(Type.String({ maxLength: 65536 })),
    paginationOptions: Type.Optional(Pagination),
  }),
  response: Type.Object({ organizationIds: Type.Array(Type.String()) }),
  async run({ request: { filterType, filterValue, paginationOptions }, read, organization }) {
    const filter = { type: filterType || undefined, value: filterValue };
    return { organizationIds: await findSubOrganizationIds(read, organization.id, filter, pageOf(paginationOptions)) };
  },
});
