import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { AuthProxyConfig } from "./model.ts";
import { requireConfig } from "./store.ts";

export const getAuthProxyConfig = query({
  path: "get_auth_proxy_config",
  summary: "Get the auth proxy of the organization: its configuration ID, whether it is enabled, and its settings.",
  only: "parents",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ config: AuthProxyConfig }),
  run: async ({ read, organization }) => ({ config: await requireConfig(read, organization.id) }),
});
