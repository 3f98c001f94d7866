import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, Pagination } from "../../engine/fields.ts";
import { pageOf } from "../../engine/paging.ts";
import { SecretMetadata } from "./model.ts";
import { bytesOfSecretMetadata, listSecretMetadata } from "./store.ts";

export const listSecrets = query({
  path: "list_secrets",
  summary:
    "List the organization's secrets with their names and static properties, newest first, but never their content.",
  request: Type.Object({ organizationId: Id, paginationOptions: Type.Optional(Pagination) }),
  response: Type.Object({ secrets: Type.Array(SecretMetadata) }),
  async run({ request, read, organization, takeRoom }) {
    const page = pageOf(request.paginationOptions);
    await takeRoom(await bytesOfSecretMetadata(read, organization.id, page));
    return { secrets: await listSecretMetadata(read, organization.id, page) };
  },
});
