import { Type } from "typebox";
import { allowlistOf } from "../../authority/rules/ip-allowlists.ts";
import { onAuthority } from "../../engine/authority/load.ts";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { IpAllowlist, PublicKey } from "./model.ts";
import { viewAllowlist } from "./store.ts";

export const getIpAllowlist = query({
  path: "get_ip_allowlist",
  summary: "Get the IP allowlist of the organization or of one API key.",
  only: "parents",
  request: Type.Object({ organizationId: Id, publicKey: Type.Optional(PublicKey) }),
  response: Type.Object({ allowlist: IpAllowlist }),
  async run({ request: { publicKey }, read, organization: { id } }) {
    const allowlist = await onAuthority(read, id, (view) => allowlistOf(view, publicKey));
    return { allowlist: viewAllowlist({ organizationId: id, publicKey: publicKey?.toLowerCase() }, allowlist) };
  },
});
