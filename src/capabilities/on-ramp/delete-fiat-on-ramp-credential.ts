import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { requireCredential } from "./store.ts";

export const deleteFiatOnRampCredential = activity({
  path: "delete_fiat_on_ramp_credential",
  summary: "Delete a fiat on-ramp credential. Purchases that were begun with it continue at the provider.",
  intent: Strict({ fiatOnrampCredentialId: Id }),
  result: Type.Object({ fiatOnRampCredentialId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "ON_RAMP_CREDENTIALS", action: "DELETE" }),
  async run({ intent: { fiatOnrampCredentialId: id }, tx, organization }) {
    await requireCredential(tx, organization.id, id);
    await tx
      .deleteFrom("on_ramp_credentials")
      .where("organization_id", "=", organization.id)
      .where("id", "=", id)
      .execute();
    return { fiatOnRampCredentialId: id };
  },
});
