import { Type } from "typebox";
import { findEvaluations } from "../../engine/activities/evaluations.ts";
import { findActivity } from "../../engine/activities/records.ts";
import { query } from "../../engine/declare.ts";
import { Id, OneOf, Timestamp, timestampOf } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";

const outcomes = [
  "OUTCOME_ALLOW",
  "OUTCOME_DENY_EXPLICIT",
  "OUTCOME_DENY_IMPLICIT",
  "OUTCOME_REQUIRES_CONSENSUS",
  "OUTCOME_REJECTED",
  "OUTCOME_ERROR",
  "OUTCOME_REQUIRES_AUTHENTICATORS",
  "OUTCOME_TIME_INACTIVE",
] as const;

const Evaluation = Type.Object(
  { policyId: Type.Optional(Type.String()), outcome: Type.Optional(OneOf(outcomes)) },
  { $id: "PolicyEvaluation" },
);

export const getPolicyEvaluations = query({
  path: "get_policy_evaluations",
  summary: "What each policy came to, for every vote on an activity that policies were asked about.",
  request: Type.Object({ organizationId: Id, activityId: Id }),
  response: Type.Object({
    policyEvaluations: Type.Array(
      Type.Object({
        id: Type.String(),
        activityId: Type.String(),
        organizationId: Type.String(),
        voteId: Type.String(),
        policyEvaluations: Type.Array(Evaluation),
        createdAt: Timestamp,
      }),
    ),
  }),
  async run({ request: { activityId }, read, organization: { id: organizationId } }) {
    const activity = await findActivity(read, organizationId, activityId);
    if (!activity) fail("RESOURCE_NOT_FOUND", { kind: "activity", id: activityId, organizationId });
    const votes = await findEvaluations(read, organizationId, activityId);
    return {
      policyEvaluations: votes.map(({ id, voteId, evaluations, createdAt }) => ({
        id,
        activityId,
        organizationId,
        voteId,
        policyEvaluations: evaluations,
        createdAt: timestampOf(createdAt),
      })),
    };
  },
});
