import { Type } from "typebox";
import { mfaStandingOf } from "../../authority/decisions/mfa.ts";
import { authenticationTypes } from "../../authority/state.ts";
import { findActivity, findVotes } from "../../engine/activities/rows.ts";
import { factsOfStored, proposalOf } from "../../engine/decisions/facts.ts";
import { onFacts } from "../../engine/decisions/loading-look-ups.ts";
import { query } from "../../engine/declare.ts";
import { Id, OneOf } from "../../engine/fields.ts";
import { RequiredMethods } from "../../engine/identity/user-schemas.ts";
import { fail } from "../../kernel/errors.ts";
import { requireUser } from "./store.ts";

const AuthenticationMethod = Type.Object(
  { type: OneOf(authenticationTypes), id: Type.Optional(Type.String()) },
  { $id: "AuthenticationMethod" },
);

export const getMfaStatus = query({
  path: "get_mfa_status",
  summary:
    "Get which further credentials an activity requires from the users who approve it, or from the one who is named, and which of them they have shown.",
  needs: ["registry"],
  request: Type.Object({ organizationId: Id, activityId: Id, userId: Type.Optional(Id) }),
  response: Type.Object({
    mfaStatuses: Type.Array(
      Type.Object({
        mfaPolicyId: Type.String(),
        userId: Type.String(),
        satisfied: Type.Boolean(),
        satisfiedMethods: Type.Array(AuthenticationMethod),
        requiredMethods: RequiredMethods,
      }),
    ),
  }),
  async run({ request: { activityId, userId }, read, organization, registry, now, budget }) {
    const activity = await findActivity(read, organization.id, activityId);
    if (!activity) fail("RESOURCE_NOT_FOUND", { kind: "activity", id: activityId, organizationId: organization.id });
    if (userId !== undefined) await requireUser(read, organization.id, userId);
    const proposal = proposalOf(registry, activity, organization, now);
    const facts = await factsOfStored(read, proposal, activity, await findVotes(read, activity));
    const users = userId === undefined ? facts.approvals.map(({ actor }) => actor.userId) : [userId];
    const mfaStatuses = [];
    for (const id of users) {
      const shown = facts.approvals.find(({ actor }) => actor.userId === id)?.credentials ?? [];
      const standing = await onFacts(read, facts, budget, (steps) => mfaStandingOf(facts, id, shown, steps));
      if (!standing) continue;
      mfaStatuses.push({
        ...standing,
        requiredMethods: standing.requiredMethods.map(({ any }) => ({ any: [...any] })),
      });
    }
    return { mfaStatuses };
  },
});
