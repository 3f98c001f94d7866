import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Expression, Id, Label, Notes, Strict } from "../../engine/fields.ts";
import { refuseExcess } from "../../engine/quotas.ts";
import { newId } from "../../kernel/ids.ts";
import { MAX_MFA_POLICIES_PER_USER } from "../../kernel/limits.ts";
import { validateExpression } from "../../policy/validate.ts";
import { refuseShortQuorum } from "../credentials/store.ts";
import { checkMethods, Order, RequiredMethodsParams } from "./model.ts";
import { recountMfaPolicies, requireMethods, requireUser } from "./store.ts";

export const createMfaPolicy = activity({
  path: "create_mfa_policy",
  summary: "Ask a user for further credentials before their approval of certain activities counts.",
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
  async run({ intent, tx, organization, now, budget }) {
    const { userId, mfaPolicyName, condition, requiredAuthenticationMethods, order, notes } = intent;
    const user = await requireUser(tx, organization.id, userId);
    await requireMethods(tx, organization, user, requiredAuthenticationMethods);
    const mfaPolicyId = newId();
    await tx
      .insertInto("mfa_policies")
      .values({
        id: mfaPolicyId,
        organization_id: organization.id,
        user_id: userId,
        name: mfaPolicyName,
        condition,
        required_methods: JSON.stringify(requiredAuthenticationMethods),
        position: order,
        notes: notes ?? null,
        created_at: now,
        updated_at: now,
      })
      .execute();
    const count = await recountMfaPolicies(tx, organization.id, userId, now);
    refuseExcess(count, { kind: "MFA policies", limit: MAX_MFA_POLICIES_PER_USER, perUser: true });
    await refuseShortQuorum(tx, organization.id, userId, budget);
    return { mfaPolicyId };
  },
});
