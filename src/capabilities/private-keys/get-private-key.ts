import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { PrivateKey } from "./model.ts";
import { findPrivateKeys } from "./store.ts";

export const getPrivateKey = query({
  path: "get_private_key",
  summary: "Get a private key with its addresses and tags, but never its secret.",
  request: Type.Object({ organizationId: Id, privateKeyId: Id }),
  response: Type.Object({ privateKey: PrivateKey }),
  async run({ request: { privateKeyId: id }, read, organization }) {
    const [privateKey] = await findPrivateKeys(read, organization.id, id);
    if (!privateKey) fail("RESOURCE_NOT_FOUND", { kind: "private key", id, organizationId: organization.id });
    return { privateKey };
  },
});
