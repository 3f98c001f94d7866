import { Type } from "typebox";
import { removeAllowlist } from "../../authority/rules/ip-allowlists.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { PublicKey } from "./model.ts";

export const removeIpAllowlist = activity({
  path: "remove_ip_allowlist",
  summary: "Remove the IP allowlist of the organization or of one API key, to which the organization's then applies.",
  only: "parents",
  intent: Strict({ publicKey: Type.Optional(PublicKey) }),
  result: Type.Object({}),
  subject: () => ({ governedBy: "policies", resource: "CONFIG", action: "UPDATE" }),
  change: ({ view, intent: { publicKey } }) => changesOn(view, (draft) => removeAllowlist(draft, publicKey)),
  answer: () => ({}),
});
