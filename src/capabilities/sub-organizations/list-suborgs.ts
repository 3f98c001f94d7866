import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, OneOf, Pagination } from "../../engine/fields.ts";
import { pageOf } from "../../engine/paging.ts";
import { findNames, findSubOrganizationIds, subOrganizationFilters } from "./store.ts";

export const listSuborgs = query({
  path: "list_suborgs",
  summary:
    "List the IDs of the sub-organizations, newest first: all, or those with a certain user or credential. Of those that know a public key or passkey, the ones in which it was used come first, starting with the earliest use. With `includeNames`, an extension of this server, the answer also contains their names.",
  only: "parents",
  request: Type.Object({
    organizationId: Id,
    filterType: Type.Optional(OneOf(["", ...subOrganizationFilters])),
    filterValue: Type.Optional(Type.String({ maxLength: 65536 })),
    includeNames: Type.Optional(Type.Boolean()),
    paginationOptions: Type.Optional(Pagination),
  }),
  response: Type.Object({
    organizationIds: Type.Array(Type.String()),
    organizationNames: Type.Optional(
      Type.Array(Type.String(), {
        description: "In the order of `organizationIds`, if they were requested. An extension of this server.",
      }),
    ),
  }),
  async run({ request: { filterType, filterValue, includeNames, paginationOptions }, read, organization }) {
    const filter = { type: filterType || undefined, value: filterValue };
    const organizationIds = await findSubOrganizationIds(read, organization.id, filter, pageOf(paginationOptions));
    if (!includeNames) return { organizationIds };
    return { organizationIds, organizationNames: await findNames(read, organizationIds) };
  },
});
