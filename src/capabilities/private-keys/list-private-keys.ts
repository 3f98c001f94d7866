import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { PrivateKey } from "./model.ts";
import { findPrivateKeys } from "./store.ts";

export const listPrivateKeys = query({
  path: "list_private_keys",
  summary: "All private keys of the organization with their addresses and tags.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ privateKeys: Type.Array(PrivateKey) }),
  run: async ({ read, organization }) => ({ privateKeys: await findPrivateKeys(read, organization.id) }),
});
