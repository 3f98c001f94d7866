import { Type } from "typebox";
import { findEvaluations } from "../../engine/activities/evaluations.ts";
import { sizeOfActivity } from "../../engine/activities/size.ts";
import { query } from "../../engine/declare.ts";
import { Id, OneOf, Timestamp, timestampOf } from "../../engine/fields.ts";

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
  { $id: "RecordedEvaluation" },
);

export const getPolicyEvaluations = query({
  path: "get_policy_evaluations",
  summary:
    "Get the outcome of each policy for every vote on an activity that policies decided on; if there are many votes, for the newest 500.",
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
    await sizeOfActivity(read, organizationId, activityId);
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
