import { Type } from "typebox";
import { removeMfaPolicy } from "../../authority/rules/mfa.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";

export const deleteMfaPolicy = activity({
  path: "delete_mfa_policy",
  summary: "Delete an MFA policy of a user.",
  takesAppProofs: false,
  intent: Strict({ userId: Id, mfaPolicyId: Id }),
  result: Type.Object({ mfaPolicyId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "MFA_POLICY", action: "DELETE" }),
  change: ({ view, evaluate, intent: { userId, mfaPolicyId }, now }) =>
    changesOn(view, (draft) => removeMfaPolicy(draft, { userId, evaluate, now }, mfaPolicyId)),
  answer: ({ intent: { mfaPolicyId } }) => ({ mfaPolicyId }),
});
