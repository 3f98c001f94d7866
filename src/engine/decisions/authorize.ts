import { type ErrorDetail, fail, KeysteadError } from "../../kernel/errors.ts";
import { OutOfBudget } from "../../policy/budget.ts";
import { denialMessage } from "../../policy/decision.ts";
import type { Reader } from "../../storage/engine.ts";
import { loadUser } from "../identity/users.ts";
import type { Actor } from "../operations.ts";
import type { DecisionBudget } from "./budget.ts";
import type { DecisionFacts, RecordedEvaluation } from "./facts.ts";
import { mfaStandingOf, unmetMfa } from "./mfa.ts";
import { askPolicies, couldHelp, explain, type PolicyDecision, type PolicyQuestion } from "./policies.ts";

/** The outcome of one look at an activity and its votes. */
export type Decision = { evaluations: RecordedEvaluation[] } & (
  | { outcome: "allow" }
  /** Further approvals can still make it happen. */
  | { outcome: "consensus" }
  /** Users who approve must still show further credentials. */
  | { outcome: "authenticators" }
  | { outcome: "deny"; details: ErrorDetail[] }
);

/**
 * Decides on the approvals that count: those of users who have shown every credential that their MFA policies ask for. The
 * submitter's come first: without them nothing happens. What would be denied anyway is denied at once.
 *
 * @throws OutOfBudget
 */
export async function decide(read: Reader, facts: DecisionFacts, budget: DecisionBudget): Promise<Decision> {
  if (facts.subject.governedBy === "nobody") return { outcome: "allow", evaluations: [] };
  const problem = await onlyUserProblem(read, facts);
  if (problem !== undefined) {
    const details = denialDetails(problem, NOT_ASKED, "Have that user send the request.");
    return { outcome: "deny", details, evaluations: [] };
  }
  // First, because policies may take all that there is, and a root quorum acts all the same.
  const unmet = await unmetMfa(read, facts, budget);
  const withAll = await weigh(read, facts, budget);
  if (withAll.outcome === "deny") return withAll;
  if (unmet.length === 0) return withAll;
  const missing = unmet.map(({ mfaPolicyId }) => ({
    policyId: mfaPolicyId,
    outcome: "OUTCOME_REQUIRES_AUTHENTICATORS" as const,
  }));
  const evaluations = [...withAll.evaluations, ...missing];
  const lacks = ({ userId }: Actor) => unmet.some((standing) => standing.userId === userId);
  if (lacks(facts.submitter)) return { outcome: "authenticators", evaluations };
  const approvals = facts.approvals.filter(({ actor }) => !lacks(actor));
  const withThose = await weigh(read, { ...facts, approvals }, budget);
  if (withThose.outcome === "allow") return { outcome: "allow", evaluations };
  return { outcome: withAll.outcome === "allow" ? "authenticators" : "consensus", evaluations };
}

/**
 * Decides, in the order that the specification gives: the root quorum, policies, a user's own credentials, and denial. The
 * root quorum stands above every policy; while it is short of members, what is allowed without it is allowed, and everything
 * else waits for it. So does what policies take too much work to tell: the quorum must be able to change them.
 */
async function weigh(read: Reader, facts: DecisionFacts, budget: DecisionBudget): Promise<Decision> {
  const quorum = quorumStanding(facts);
  if (quorum === "met") return { outcome: "allow", evaluations: [] };
  try {
    return await weighWithoutQuorum(read, facts, quorum, budget);
  } catch (error) {
    if (error instanceof OutOfBudget && quorum === "short") return { outcome: "consensus", evaluations: [] };
    throw error;
  }
}

async function weighWithoutQuorum(
  read: Reader,
  facts: DecisionFacts,
  quorum: QuorumStanding,
  budget: DecisionBudget,
): Promise<Decision> {
  const asked = await ask(read, facts, budget);
  const evaluations = evaluationsOf(asked);
  if (asked?.outcome === "OUTCOME_ALLOW") return { outcome: "allow", evaluations };
  if (asked?.outcome === "OUTCOME_REQUIRES_CONSENSUS") return { outcome: "consensus", evaluations };
  if (asked?.outcome !== "OUTCOME_DENY_EXPLICIT" && isOwnCredential(facts)) return { outcome: "allow", evaluations };
  if (quorum === "short") return { outcome: "consensus", evaluations };
  const message = asked ? denialMessage(asked) : NOTHING_ALLOWS;
  const details = denialDetails(message, await told(asked, budget), remedyFor(facts, asked));
  return { outcome: "deny", details, evaluations };
}

const ask = async (read: Reader, facts: DecisionFacts, budget: DecisionBudget): Promise<PolicyDecision | undefined> =>
  facts.subject.governedBy === "policies" ? askPolicies(read, questionOf(facts), budget) : undefined;

/** What a user may do about an open activity. */
export interface VoteRights {
  mayApprove: boolean;
  mayReject: boolean;
}

/**
 * Members of the root quorum, whoever asked, and those whose approval could help a policy to allow it vote either way. What
 * the approvals there are have come to suffice for, because a policy changed, is brought about by anybody's approval.
 *
 * @throws OutOfBudget
 */
export async function voteRights(
  read: Reader,
  facts: DecisionFacts,
  voter: Actor,
  budget: DecisionBudget,
): Promise<VoteRights> {
  if (voter.organizationId !== facts.organization.id) return { mayApprove: false, mayReject: false };
  const { subject, submitter } = facts;
  const counts =
    voter.isRootQuorumMember ||
    voter.userId === submitter.userId ||
    (subject.governedBy === "policies" && (await couldHelp(read, questionOf(facts), voter.userId, budget)));
  if (counts) return { mayApprove: true, mayReject: true };
  const decision = await decide(read, without(facts, voter), budget);
  return { mayApprove: decision.outcome === "allow", mayReject: false };
}

const without = (facts: DecisionFacts, { userId }: Actor): DecisionFacts => ({
  ...facts,
  approvals: facts.approvals.filter(({ actor }) => actor.userId !== userId),
});

/** The error for a vote that does not count, with what each policy says of an approval by this user. */
export async function voteDenial(
  read: Reader,
  facts: DecisionFacts,
  voter: Actor,
  budget: DecisionBudget,
): Promise<KeysteadError> {
  const asked = await ask(read, { ...without(facts, voter), submitter: voter }, budget);
  const message = "A vote of this user would not count on this activity.";
  return denialOf(denialDetails(message, await told(asked, budget), remedyFor(facts, asked)));
}

/** Whether a user who approves must still show further credentials. */
export async function owesAuthenticators(
  read: Reader,
  facts: DecisionFacts,
  voter: Actor,
  budget: DecisionBudget,
): Promise<boolean> {
  if (!voter.hasMfaPolicies) return false;
  const approval = facts.approvals.find(({ actor }) => actor.userId === voter.userId);
  const standing = approval && (await mfaStandingOf(read, facts, voter.userId, approval.credentials, budget));
  return standing?.satisfied === false;
}

/** The submitter's own, and they still approve. */
const isOwnCredential = ({ subject, submitter: { userId }, approvals }: DecisionFacts): boolean =>
  subject.governedBy === "policies" &&
  (subject.isOwn === true || subject.ownerId === userId) &&
  approvals.some(({ actor }) => actor.userId === userId);

/** Why nobody but another user may ask for this, if that is so. */
async function onlyUserProblem(read: Reader, facts: DecisionFacts): Promise<string | undefined> {
  const { subject, submitter, organization } = facts;
  const onlyUserId = subject.governedBy === "policies" ? subject.onlyUserId : undefined;
  if (onlyUserId === undefined || onlyUserId === submitter.userId) return undefined;
  const user = await loadUser(read, organization.id, onlyUserId);
  if (!user) fail("RESOURCE_NOT_FOUND", { kind: "user", id: onlyUserId, organizationId: organization.id });
  return `Only user ${onlyUserId} may ask for this: users do it for themselves alone.`;
}

/**
 * What each part of a decision comes to, for those who want to know beforehand: the first approval asks, the others follow in
 * their order as far as they count.
 *
 * @throws OutOfBudget
 */
export async function simulate(
  read: Reader,
  facts: DecisionFacts,
  budget: DecisionBudget,
): Promise<{ decision: Decision; rootQuorum: QuorumStanding; explanations: { policyId: string; text: string }[] }> {
  const [first, ...others] = facts.approvals;
  let cast: DecisionFacts = { ...facts, approvals: first ? [first] : [] };
  let decision = await decide(read, cast, budget);
  let isOpen = decision.outcome !== "allow" && decision.outcome !== "deny";
  for (const approval of others) {
    if (!isOpen) break;
    if (!(await voteRights(read, cast, approval.actor, budget)).mayApprove) continue;
    cast = { ...cast, approvals: [...cast.approvals, approval] };
    const next = await decide(read, cast, budget);
    // A vote that does not suffice leaves the activity open for the next.
    decision = next.outcome === "deny" ? { outcome: "consensus", evaluations: next.evaluations } : next;
    isOpen = decision.outcome !== "allow";
  }
  const asked = await ask(read, cast, budget);
  const unmet = decision.evaluations.filter(({ outcome }) => outcome === "OUTCOME_REQUIRES_AUTHENTICATORS");
  const { evaluations, explanations } = await told(asked, budget);
  return {
    decision: { ...decision, evaluations: [...evaluations, ...unmet] },
    rootQuorum: quorumStanding(cast),
    explanations,
  };
}

/** How far the approvals reach as those of the root quorum. */
type QuorumStanding = "met" | "short" | "apart";

/** `short` while members approve but too few: the others may still join. It takes a member to start. */
function quorumStanding({ organization, submitter, approvals }: DecisionFacts): QuorumStanding {
  const members = approvals.filter(({ actor }) => actor.isRootQuorumMember).length;
  if (members >= organization.quorumThreshold) return "met";
  return submitter.isRootQuorumMember ? "short" : "apart";
}

/** What policies are asked about these facts. */
function questionOf(facts: DecisionFacts): PolicyQuestion {
  const { organization, conditionFacts, electorate, submitter, approvals, policies, now } = facts;
  return {
    organization,
    conditionFacts,
    electorate,
    ...(policies ? { policies } : {}),
    submitterId: submitter.userId,
    approvals: approvals.flatMap(({ actor: { userId }, credentials }) =>
      credentials.map((credential) => ({ userId, credential })),
    ),
    now,
  };
}

const evaluationsOf = (asked: PolicyDecision | undefined): RecordedEvaluation[] =>
  asked?.evaluations.map(({ policyId, outcome }) => ({ policyId, outcome })) ?? [];

const NOTHING_ALLOWS = "No policies evaluated to outcome: Allow";

/** What a person can do about a denial. */
function remedyFor({ subject, organization }: DecisionFacts, asked: PolicyDecision | undefined): string {
  if (subject.governedBy === "rootQuorum") {
    return `Only the root quorum decides on this: it takes approvals by ${organization.quorumThreshold} of its members, whom get_organization_configs names, and no policy can allow it.`;
  }
  if (!asked)
    return "The organization has no policies that could allow it; its root quorum can add one with create_policy.";
  return asked.outcome === "OUTCOME_DENY_EXPLICIT"
    ? "The details say why each policy came to its outcome; only the root quorum stands above a policy that denies."
    : "The details say why each policy came to its outcome; the root quorum can change them, and simulate_policy tries what would do.";
}

/** What policies came to, and why. */
interface Told {
  evaluations: RecordedEvaluation[];
  explanations: { policyId: string; text: string }[];
}

/** Where no policy was asked. */
export const NOT_ASKED: Told = { evaluations: [], explanations: [] };

const told = async (asked: PolicyDecision | undefined, budget: DecisionBudget): Promise<Told> =>
  asked ? { evaluations: evaluationsOf(asked), explanations: explain(asked, await budget.turn()) } : NOT_ASKED;

/** How a denial is told in the details of an error, for clients that look there. */
export function denialDetails(
  message: string,
  { evaluations: policyEvaluations, explanations }: Told,
  remedy: string,
): ErrorDetail[] {
  return [
    { "@type": "type.googleapis.com/errors.v1.PolicyEnginePermissionError", message, policyEvaluations },
    { "@type": "type.googleapis.com/keystead.v1.PolicyExplanation", remedy, explanations },
  ];
}

/** The error with these details, also when it is told again later. */
export function denialOf(details: ErrorDetail[]): KeysteadError {
  const [{ message = "It was rejected." } = {}, { remedy = "" } = {}] = details as {
    message?: string;
    remedy?: string;
  }[];
  const sentence = message.endsWith(".") ? message : `${message}.`;
  return new KeysteadError("PERMISSION_DENIED", { reason: `${sentence} ${remedy}`.trim() }, details);
}
