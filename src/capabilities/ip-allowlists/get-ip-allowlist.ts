import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { IpAllowlist, PublicKey } from "./model.ts";
import { findAllowlist, requireOwner } from "./store.ts";

export const getIpAllowlist = query({
  path: "get_ip_allowlist",
  summary: "The IP allowlist of the organization, or that of one API key.",
  only: "parents",
  request: Type.Object({ organizationId: Id, publicKey: Type.Optional(PublicKey) }),
  response: Type.Object({ allowlist: IpAllowlist }),
  async run({ request: { publicKey }, read, organization }) {
    return { allowlist: await findAllowlist(read, await requireOwner(read, organization, publicKey)) };
  },
});
