import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { credentialFields } from "./model.ts";
import { checkCredential, columnsOf, requireCredential, sealKeys } from "./store.ts";

export const updateFiatOnRampCredential = activity({
  path: "update_fiat_on_ramp_credential",
  summary:
    "Replace the provider and all keys of a fiat on-ramp credential. Whether it is for the sandbox does not change.",
  asks: ["importOnRampKeys"],
  intent: Strict({ fiatOnrampCredentialId: Id, ...credentialFields }),
  result: Type.Object({ fiatOnRampCredentialId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "ON_RAMP_CREDENTIALS", action: "UPDATE" }),
  check: checkCredential,
  async prepare(context) {
    const { fiatOnrampCredentialId: id } = context.intent;
    await requireCredential(context.read, context.organization.id, id);
    return sealKeys(context, id, context.intent);
  },
  async run({ intent, tx, organization, now, prepared: sealedKeys }) {
    const { fiatOnrampCredentialId: id } = intent;
    await requireCredential(tx, organization.id, id);
    await tx
      .updateTable("on_ramp_credentials")
      .set({ ...columnsOf(intent, sealedKeys), updated_at: now })
      .where("organization_id", "=", organization.id)
      .where("id", "=", id)
      .execute();
    return { fiatOnRampCredentialId: id };
  },
});
