import { type Static, Type } from "typebox";
import { changePolicy } from "../../authority/rules/policies.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Expression, Id, Label, Notes, Strict } from "../../engine/fields.ts";
import { validatePolicy } from "../../policy/validate.ts";
import { Effect, Warnings } from "./model.ts";
import { findPolicies } from "./store.ts";
import { warningsAboutAll, warningsOfPolicies } from "./warnings.ts";

const fields = {
  policyId: Id,
  policyName: Type.Optional(Label),
  policyEffect: Type.Optional(Effect),
  policyCondition: Type.Optional(Expression),
  policyConsensus: Type.Optional(Expression),
  policyNotes: Type.Optional(Notes),
};
const IntentV1 = Strict(fields);
const Result = Type.Object({ policyId: Type.String(), warnings: Type.Optional(Warnings) });

export const updatePolicy = activity({
  path: "update_policy",
  summary: "Change a policy. What is not given stays as it was.",
  version: 2,
  intent: Strict({ ...fields, time: Type.Optional(Expression) }),
  result: Result,
  resultKey: "updatePolicyResultV2",
  versions: {
    1: {
      intent: IntentV1,
      upgrade: (intent: Static<typeof IntentV1>) => intent,
      result: { schema: Result, from: (result) => result },
    },
  },
  subject: () => ({ governedBy: "policies", resource: "POLICY", action: "UPDATE" }),
  check: ({ policyCondition, policyConsensus, time }) =>
    validatePolicy({ condition: policyCondition, consensus: policyConsensus, time }),
  async prepare({ intent, read, organization, budget }) {
    const [policy] = await findPolicies(read, organization.id, intent.policyId);
    if (!policy) return [];
    const { policyEffect: effect = policy.effect, policyCondition: condition = policy.condition } = intent;
    return warningsAboutAll([{ effect, condition, consensus: intent.policyConsensus ?? policy.consensus }], budget);
  },
  change({ view, intent, now }) {
    const { policyId, policyName, policyEffect, policyCondition, policyConsensus, policyNotes, time } = intent;
    const change = {
      ...(policyName === undefined ? {} : { name: policyName }),
      ...(policyEffect === undefined ? {} : { effect: policyEffect }),
      ...(policyCondition === undefined ? {} : { condition: policyCondition }),
      ...(policyConsensus === undefined ? {} : { consensus: policyConsensus }),
      ...(policyNotes === undefined ? {} : { notes: policyNotes }),
      ...(time === undefined ? {} : { time: time || null }),
    };
    return changesOn(view, (draft) => changePolicy(draft, policyId, change, now));
  },
  answer: ({ intent: { policyId }, prepared }) => ({ policyId, ...warningsOfPolicies([policyId], prepared) }),
});
