import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { refuseShortQuorum } from "../credentials/store.ts";
import { recountMfaPolicies, requireMfaPolicy } from "./store.ts";

export const deleteMfaPolicy = activity({
  path: "delete_mfa_policy",
  summary: "Delete an MFA policy of a user.",
  takesAppProofs: false,
  intent: Strict({ userId: Id, mfaPolicyId: Id }),
  result: Type.Object({ mfaPolicyId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "MFA_POLICY", action: "DELETE" }),
  async run({ intent: { userId, mfaPolicyId }, tx, organization, now, budget }) {
    await requireMfaPolicy(tx, organization.id, userId, mfaPolicyId);
    await tx
      .deleteFrom("mfa_policies")
      .where("organization_id", "=", organization.id)
      .where("id", "=", mfaPolicyId)
      .execute();
    await recountMfaPolicies(tx, organization.id, userId, now);
    // What is gone may have exempted from what another one asks for.
    await refuseShortQuorum(tx, organization.id, userId, budget);
    return { mfaPolicyId };
  },
});
