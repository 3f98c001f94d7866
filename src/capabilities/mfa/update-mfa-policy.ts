import { Type } from "typebox";
import { changeMfaPolicy } from "../../authority/rules/mfa.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Expression, Id, Label, Notes, Strict } from "../../engine/fields.ts";
import { validateExpression } from "../../policy/validate.ts";
import { checkMethods, Order, RequiredMethodsParams } from "./model.ts";

export const updateMfaPolicy = activity({
  path: "update_mfa_policy",
  summary: "Change an MFA policy. What is not given stays as it was.",
  intent: Strict({
    userId: Id,
    mfaPolicyId: Id,
    mfaPolicyName: Type.Optional(Label),
    condition: Type.Optional(Expression),
    requiredAuthenticationMethods: Type.Optional(RequiredMethodsParams),
    order: Type.Optional(Order),
    notes: Type.Optional(Notes),
  }),
  result: Type.Object({ mfaPolicyId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "MFA_POLICY", action: "UPDATE" }),
  check({ condition, requiredAuthenticationMethods = [] }) {
    if (condition !== undefined) validateExpression(condition, "condition");
    checkMethods(requiredAuthenticationMethods);
  },
  change({ view, parentView, evaluate, intent, now }) {
    const { userId, mfaPolicyId, mfaPolicyName, condition, requiredAuthenticationMethods, order, notes } = intent;
    const change = {
      ...(mfaPolicyName === undefined ? {} : { name: mfaPolicyName }),
      ...(condition === undefined ? {} : { condition }),
      ...(requiredAuthenticationMethods === undefined ? {} : { requiredMethods: requiredAuthenticationMethods }),
      ...(order === undefined ? {} : { order }),
      ...(notes === undefined ? {} : { notes }),
    };
    const scope = { userId, parentView, evaluate, now };
    return changesOn(view, (draft) => changeMfaPolicy(draft, scope, mfaPolicyId, change));
  },
  answer: ({ intent: { mfaPolicyId } }) => ({ mfaPolicyId }),
});
