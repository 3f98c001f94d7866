import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, Pagination } from "../../engine/fields.ts";
import { pageOf } from "../../engine/paging.ts";
import { SecretMetadata } from "./model.ts";
import { listSecretMetadata } from "./store.ts";

export const listSecrets = query({
  path: "list_secrets",
  summary: "The organization's secrets by name and static properties, newest first; never what they hold.",
  request: Type.Object({ organizationId: Id, paginationOptions: Type.Optional(Pagination) }),
  response: Type.Object({ secrets: Type.Array(SecretMetadata) }),
  run: async ({ request, read, organization }) => ({
    secrets: await listSecretMetadata(read, organization.id, pageOf(request.paginationOptions)),
  }),
});
