import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { PrivateKey } from "./model.ts";
import { bytesOfPrivateKeys, findPrivateKeys } from "./store.ts";

export const listPrivateKeys = query({
  path: "list_private_keys",
  summary: "List all private keys of the organization with their addresses and tags.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ privateKeys: Type.Array(PrivateKey) }),
  async run({ read, organization, takeRoom }) {
    await takeRoom(await bytesOfPrivateKeys(read, organization.id));
    return { privateKeys: await findPrivateKeys(read, organization.id) };
  },
});
