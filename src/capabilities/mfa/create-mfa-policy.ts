import { Type } from "typebox";
import { addMfaPolicy } from "../../authority/rules/mfa.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Expression, Id, Label, Notes, Strict } from "../../engine/fields.ts";
import { validateExpression } from "../../policy/validate.ts";
import { checkMethods, Order, RequiredMethodsParams } from "./model.ts";

export const createMfaPolicy = activity({
  path: "create_mfa_policy",
  summary: "Require further credentials from a user before their approval of certain activities counts.",
  intent: Strict({
    userId: Id,
    mfaPolicyName: Label,
    condition: Expression,
    requiredAuthenticationMethods: RequiredMethodsParams,
    order: Order,
    notes: Type.Optional(Notes),
  }),
  result: Type.Object({ mfaPolicyId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "MFA_POLICY", action: "CREATE" }),
  check({ condition, requiredAuthenticationMethods }) {
    validateExpression(condition, "condition");
    checkMethods(requiredAuthenticationMethods);
  },
  change({ view, parentView, evaluate, id, intent, now }) {
    const { userId, mfaPolicyName: name, requiredAuthenticationMethods: requiredMethods } = intent;
    const { condition, order, notes = null } = intent;
    const policy = { id: id("mfaPolicy"), name, condition, requiredMethods, order, notes };
    return changesOn(view, (draft) => addMfaPolicy(draft, { userId, parentView, evaluate, now }, policy));
  },
  answer: ({ id }) => ({ mfaPolicyId: id("mfaPolicy") }),
});
