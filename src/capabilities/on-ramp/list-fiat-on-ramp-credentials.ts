import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { FiatOnRampCredential } from "./model.ts";
import { findCredentials, renderCredential } from "./store.ts";

export const listFiatOnRampCredentials = query({
  path: "list_fiat_on_ramp_credentials",
  summary:
    "The fiat on-ramp credentials of the organization, the oldest first, their secrets encrypted as they were given.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ fiatOnRampCredentials: Type.Array(FiatOnRampCredential) }),
  run: async ({ read, organization }) => ({
    fiatOnRampCredentials: (await findCredentials(read, organization.id)).map(renderCredential),
  }),
});
