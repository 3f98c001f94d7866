import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { FiatOnRampCredential } from "./model.ts";
import { findCredentials, renderCredential } from "./store.ts";

export const listFiatOnRampCredentials = query({
  path: "list_fiat_on_ramp_credentials",
  summary:
    "List the fiat on-ramp credentials of the organization, the oldest first, with their secrets encrypted as they were sent.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ fiatOnRampCredentials: Type.Array(FiatOnRampCredential) }),
  run: async ({ read, organization }) => ({
    fiatOnRampCredentials: (await findCredentials(read, organization.id)).map(renderCredential),
  }),
});
