import { Type } from "typebox";
import { factsOf, type LoadableFacts, type Proposal } from "../../engine/decisions/facts.ts";
import { simulate } from "../../engine/decisions/simulate.ts";
import { type QueryContext, query } from "../../engine/declare.ts";
import { Id, OneOf } from "../../engine/fields.ts";
import { loadUser } from "../../engine/identity/users.ts";
import { findVoter } from "../../engine/identity/voters.ts";
import { validate } from "../../engine/validate.ts";
import { fail } from "../../kernel/errors.ts";
import type { Policy } from "../../policy/policy.ts";
import { DraftPolicy, policiesWith } from "./draft.ts";
import { Warnings } from "./model.ts";
import { findPolicies } from "./store.ts";
import { warningsAboutAll, warningsOfPolicies } from "./warnings.ts";

const Request = Type.Object({
  organizationId: Id,
  activity: Type.Object({ type: Type.String(), parameters: Type.Object({}) }),
  userIds: Type.Array(Id, { minItems: 1, maxItems: 100 }),
  draftPolicy: Type.Optional(DraftPolicy),
});

const UNMET =
  "This MFA policy of a user who approves takes credentials that the approval does not show; get_mfa_policies says which.";

export const simulatePolicy = query({
  path: "simulate_policy",
  isExtension: true,
  summary:
    "Predict the outcome of an activity if the first of these users submitted it and the others approved it in turn, each with the first of their credentials. Nothing is created. With `draftPolicy`, the prediction assumes that this policy is stored: in place of the policy with its `policyId`, or in addition to all others as a new one, which the answer calls `draft`. An extension of this server.",
  needs: ["registry", "planner"],
  request: Request,
  response: Type.Object({
    outcome: OneOf(["ALLOW", "CONSENSUS_NEEDED", "AUTHENTICATORS_NEEDED", "DENY"]),
    rootQuorum: OneOf(["MET", "SHORT", "NOT_INVOLVED"]),
    policyEvaluations: Type.Array(
      Type.Object({ policyId: Type.String(), outcome: Type.String(), explanation: Type.String() }),
    ),
    warnings: Warnings,
  }),
  async run(context) {
    const { read, request, organization, budget } = context;
    const stored = await findPolicies(read, organization.id);
    const policies = request.draftPolicy ? policiesWith(stored, request.draftPolicy, organization.id) : stored;
    const facts = await factsOfRequest(context, request.draftPolicy ? { policies } : {});
    const { decision, rootQuorum, explanations } = await simulate(read, facts, budget);
    const outcomes = {
      allow: "ALLOW",
      consensus: "CONSENSUS_NEEDED",
      authenticators: "AUTHENTICATORS_NEEDED",
      deny: "DENY",
    } as const;
    const quorums = { met: "MET", short: "SHORT", apart: "NOT_INVOLVED" } as const;
    return {
      outcome: outcomes[decision.outcome],
      rootQuorum: quorums[rootQuorum],
      policyEvaluations: decision.evaluations.map(({ policyId, outcome }, index) => ({
        policyId,
        outcome,
        explanation: explanations[index]?.text ?? UNMET,
      })),
      warnings: await warningsAboutEach(policies, budget),
    };
  },
});

async function warningsAboutEach(policies: readonly Policy[], budget: Context["budget"]): Promise<Warnings> {
  const found = await warningsAboutAll(policies, budget);
  const ids = policies.map(({ policyId }) => policyId);
  return warningsOfPolicies(ids, found).warnings ?? [];
}

type Context = QueryContext<
  { activity: { type: string; parameters: object }; userIds: string[]; draftPolicy?: DraftPolicy },
  "registry" | "planner"
>;

async function factsOfRequest(context: Context, tried: Pick<Proposal, "policies">): Promise<LoadableFacts> {
  const { request, read, organization, registry, planner, now } = context;
  const { type, parameters } = request.activity;
  const found = registry.findActivityOfType(type);
  if (!found) return fail("FIELD_INVALID", { field: "activity.type", reason: "is not an activity type" });
  const { operation, version } = found;
  validate(version.intent, parameters, "activity.parameters");
  const approvals = await Promise.all([...new Set(request.userIds)].map((id) => approvalOf(read, organization.id, id)));
  const { actor: submitter } = approvals[0] as (typeof approvals)[number];
  const intent = version.upgrade(parameters);
  const plan = await planner.makePlan(operation, { intent, organization, submitterId: submitter.userId, now });
  return factsOf({ operation, version, intent, plan, organization, now, ...tried }, submitter, approvals);
}

/** An approval by a user, made with their first credential. */
async function approvalOf(read: Context["read"], organizationId: string, id: string) {
  const user = await loadUser(read, organizationId, id);
  const actor = await findVoter(read, organizationId, id);
  if (!user || !actor) return fail("RESOURCE_NOT_FOUND", { kind: "user", id, organizationId });
  const [first] = [
    ...user.apiKeys.map(({ apiKeyId: id, credential }) => ({ id, ...credential })),
    ...user.authenticators.map(({ authenticatorId: id, credential }) => ({ id, ...credential })),
  ];
  return { actor, credentials: first ? [first] : [] };
}
