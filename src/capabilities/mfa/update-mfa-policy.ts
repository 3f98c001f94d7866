import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Expression, Id, Label, Notes, Strict } from "../../engine/fields.ts";
import { validateExpression } from "../../policy/validate.ts";
import { refuseShortQuorum } from "../credentials/store.ts";
import { checkMethods, Order, RequiredMethodsParams } from "./model.ts";
import { recountMfaPolicies, requireMethods, requireMfaPolicy, requireUser } from "./store.ts";

export const updateMfaPolicy = activity({
  path: "update_mfa_policy",
  summary: "Change an MFA policy; what is not given stays.",
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
  async run({ intent, tx, organization, now, budget }) {
    const { userId, mfaPolicyId, mfaPolicyName, condition, requiredAuthenticationMethods, order, notes } = intent;
    await requireMfaPolicy(tx, organization.id, userId, mfaPolicyId);
    const user = await requireUser(tx, organization.id, userId);
    await requireMethods(tx, organization, user, requiredAuthenticationMethods ?? []);
    await tx
      .updateTable("mfa_policies")
      .set({
        ...(mfaPolicyName === undefined ? {} : { name: mfaPolicyName }),
        ...(condition === undefined ? {} : { condition }),
        ...(requiredAuthenticationMethods === undefined
          ? {}
          : { required_methods: JSON.stringify(requiredAuthenticationMethods) }),
        ...(order === undefined ? {} : { position: order }),
        ...(notes === undefined ? {} : { notes }),
        updated_at: now,
      })
      .where("organization_id", "=", organization.id)
      .where("id", "=", mfaPolicyId)
      .execute();
    await recountMfaPolicies(tx, organization.id, userId, now);
    await refuseShortQuorum(tx, organization.id, userId, budget);
    return { mfaPolicyId };
  },
});
