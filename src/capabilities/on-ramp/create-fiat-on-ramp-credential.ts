import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { enforceQuota } from "../../engine/fixed-quotas.ts";
import { MAX_ON_RAMP_CREDENTIALS } from "../../kernel/limits.ts";
import { credentialFields } from "./model.ts";
import { checkCredential, columnsOf, sealKeys } from "./store.ts";

export const createFiatOnRampCredential = activity({
  path: "create_fiat_on_ramp_credential",
  summary:
    "Store the organization's keys at Coinbase or MoonPay, where its users buy crypto. Secret keys must be encrypted to the key `onRamp` that this server publishes.",
  asks: ["importOnRampKeys"],
  intent: Strict({ ...credentialFields, sandboxMode: Type.Optional(Type.Boolean()) }),
  result: Type.Object({ fiatOnRampCredentialId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "ON_RAMP_CREDENTIALS", action: "CREATE" }),
  check: checkCredential,
  async prepare(context) {
    const id = context.id("credential");
    return { id, sealedKeys: await sealKeys(context, id, context.intent) };
  },
  async run({ intent, tx, organization, now, prepared: { id, sealedKeys } }) {
    await tx
      .insertInto("on_ramp_credentials")
      .values({
        id,
        organization_id: organization.id,
        ...columnsOf(intent, sealedKeys),
        sandbox: Number(intent.sandboxMode ?? false),
        created_at: now,
        updated_at: now,
      })
      .execute();
    const quota = {
      table: "on_ramp_credentials",
      kind: "fiat on-ramp credentials",
      limit: MAX_ON_RAMP_CREDENTIALS,
    } as const;
    await enforceQuota(tx, quota, { organization_id: organization.id });
    return { fiatOnRampCredentialId: id };
  },
});
