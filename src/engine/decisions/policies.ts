import {
  MAX_EXPLANATION_STEPS,
  MAX_REMEMBERED_POLICIES_BYTES,
  MAX_REMEMBERED_POLICY_LISTS,
} from "../../kernel/limits.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import { pause } from "../../kernel/turns.ts";
import type { Approval } from "../../policy/approvals.ts";
import { Budget, OutOfBudget } from "../../policy/budget.ts";
import { createExpressionCache } from "../../policy/cache.ts";
import type { EvaluateCondition, Program } from "../../policy/compile.ts";
import { type DecisionRequest, evaluatePolicies, type Policy, type PolicyResult } from "../../policy/decision.ts";
import { PolicyError } from "../../policy/errors.ts";
import { explainPolicy } from "../../policy/explain.ts";
import type { ConditionFacts, CredentialFacts } from "../../policy/facts.ts";
import { createValueMemory } from "../../policy/remembered-values.ts";
import { type PolicyWarning, warningsOf } from "../../policy/warnings.ts";
import { isTransactor, type Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import { isAttested } from "../identity/shown-credentials.ts";
import type { ShownCredential } from "../operations.ts";
import type { DecisionBudget } from "./budget.ts";
import type { DecisionFacts } from "./facts.ts";

/** From rows to the facts that the policy language decides on, and back to something a person can read. */

/** Compiled once, for every organization that writes the same. */
const expressions = createExpressionCache();
const memory = createValueMemory();
/** Policies under their version, which is read afresh with every stamp. */
const policiesOf = recentlyUsed<{ version: number; policies: readonly Policy[] }>({
  entries: MAX_REMEMBERED_POLICY_LISTS,
  bytes: MAX_REMEMBERED_POLICIES_BYTES,
  sizeOf: ({ policies }) => policies.reduce((bytes, policy) => bytes + bytesOf(policy), 0),
});

/** What policies are asked about. */
export interface PolicyQuestion
  extends Pick<DecisionFacts, "organization" | "conditionFacts" | "electorate" | "policies" | "now"> {
  submitterId: string;
  /** The approvals that count: who, and with which credential. */
  approvals: readonly { userId: string; credential: ShownCredential }[];
}

/** A decision together with what it was made on, to explain it. */
export interface PolicyDecision extends PolicyResult {
  request: DecisionRequest;
}

/**
 * What a condition outside the policies comes to, such as an MFA policy's; the error where it cannot be told.
 *
 * @throws OutOfBudget
 */
export async function evaluateCondition(
  read: Reader,
  { conditionFacts }: Pick<DecisionFacts, "conditionFacts">,
  condition: string,
  budget: DecisionBudget,
): Promise<boolean | PolicyError> {
  const program = expressions.program(condition, "condition", await budget.turn());
  if (program instanceof PolicyError) return program;
  const facts = await conditionFacts(read, await budget.turn());
  return evaluated(program, facts, await budget.turn());
}

/** Evaluates conditions within these steps, all of them together. */
export const conditionsWithin =
  (steps: Budget): EvaluateCondition =>
  (condition, facts) => {
    const program = expressions.program(condition, "condition", steps);
    return program instanceof PolicyError ? program : evaluated(program, facts, steps);
  };

function evaluated(program: Program<"condition">, facts: ConditionFacts, steps: Budget): boolean | PolicyError {
  try {
    return program.evaluate(facts, steps);
  } catch (error) {
    if (error instanceof PolicyError) return error;
    throw error;
  }
}

/**
 * Reads policies of this version into memory, with a reader that sees only what is committed. A decision inside a transaction
 * cannot keep what it reads, so without this every one of them would read all policies again.
 */
export async function rememberPolicies(read: Reader, organizationId: string, version: number): Promise<void> {
  await loadPolicies(read, organizationId, version);
}

/**
 * The organization's policies on this question, or undefined if it has none.
 *
 * @throws OutOfBudget
 */
export async function askPolicies(
  read: Reader,
  question: PolicyQuestion,
  budget: DecisionBudget,
): Promise<PolicyDecision | undefined> {
  const { organization, conditionFacts, electorate, now, submitterId } = question;
  const { policies = await loadPolicies(read, organization.id, organization.policiesVersion) } = question;
  if (policies.length === 0) return undefined;
  const approvals = await approvalsOf(read, question);
  const facts = await conditionFacts(read, await budget.turn());
  const base = { policies, facts, nowMs: now, submitterId, approvals };
  // The other users matter only where approvals are missing; most decisions never look at them.
  let askedForVoters = false;
  const request: DecisionRequest = {
    ...base,
    get voters() {
      askedForVoters = true;
      return [];
    },
  };
  const steps = await budget.turn();
  const decision = evaluatePolicies(request, expressions, steps, memory);
  if (!askedForVoters) return { ...decision, request: { ...base, voters: [] } };
  const complete = { ...base, voters: await electorate.all(read) };
  return { ...evaluatePolicies(complete, expressions, steps, memory), request: complete };
}

/**
 * What is known to be a trap in a policy, stored or not.
 *
 * @throws OutOfBudget
 */
export const warningsAbout = (policy: Omit<Policy, "policyId">, budget: Budget): PolicyWarning[] =>
  warningsOf(policy, expressions, budget);

const UNEXPLAINED = "Why it came to this is not told: the organization's policies take too much work.";

/** Why each policy did not allow it, in sentences. */
export function explain(
  { evaluations, request }: PolicyDecision,
  budget: Budget,
): { policyId: string; text: string }[] {
  const steps = budget.part(MAX_EXPLANATION_STEPS);
  return evaluations.map((evaluation, index) => {
    const { policyId } = evaluation;
    try {
      const text = explainPolicy(request.policies[index] as Policy, evaluation, request, expressions, steps);
      return { policyId, text };
    } catch (error) {
      if (error instanceof OutOfBudget) return { policyId, text: UNEXPLAINED };
      throw error;
    }
  });
}

/**
 * Whether an approval of this user could help one of the policies to allow it: beside the approvals there are, or in place
 * of some of them, which may lapse.
 *
 * @throws OutOfBudget
 */
export async function couldHelp(
  read: Reader,
  question: PolicyQuestion,
  userId: string,
  budget: DecisionBudget,
): Promise<boolean> {
  const approvals = question.approvals.filter((approval) => approval.userId !== userId);
  const beside = await askPolicies(read, { ...question, approvals, submitterId: userId }, budget);
  if (beside?.outcome === "OUTCOME_REQUIRES_CONSENSUS") return true;
  if (beside === undefined || beside.outcome === "OUTCOME_DENY_EXPLICIT") return false;
  const inPlace = await askPolicies(read, { ...question, approvals: [], submitterId: userId }, budget);
  return inPlace?.outcome === "OUTCOME_REQUIRES_CONSENSUS" || inPlace?.outcome === "OUTCOME_ALLOW";
}

async function approvalsOf(read: Reader, { approvals, electorate }: PolicyQuestion): Promise<Approval[]> {
  const found = await Promise.all(
    approvals.map(async ({ userId, credential: shown }): Promise<Approval | undefined> => {
      const user = await electorate.find(read, userId);
      if (!user) return undefined;
      // A key that a token is bound to may be registered as well: it is the token that was shown.
      const credential = isAttested(shown.type)
        ? undefined
        : user.credentials.find(({ public_key }) => public_key === shown.publicKey);
      return { user, credential: credential ?? formerCredential(userId, shown) };
    }),
  );
  return found.filter((approval) => approval !== undefined);
}

/** A credential that made room for a newer one since: what was approved with it stays approved with it. */
const formerCredential = (userId: string, { id, type, publicKey }: ShownCredential): CredentialFacts | undefined =>
  id === "" ? undefined : { id, user_id: userId, type, public_key: publicKey };

async function loadPolicies(read: Reader, organizationId: string, version: number): Promise<readonly Policy[]> {
  const known = policiesOf.get(organizationId);
  if (known?.version === version) return known.policies;
  const rows = await selectPolicies(read, { organizationId });
  const policies = rows.map(({ id, effect, consensus, condition, time }) => ({
    policyId: id,
    effect,
    consensus,
    condition,
    time: time ?? undefined,
  }));
  // What a transaction sees may never be committed, and its version then means something else.
  if (!isTransactor(read)) {
    await compileAll(organizationId, policies);
    policiesOf.set(organizationId, { version, policies });
  }
  return policies;
}

/** Compiles what will be asked for, outside of any transaction; no request pays for what all of them use. */
async function compileAll(organizationId: string, policies: readonly Policy[]): Promise<void> {
  const unbounded = new Budget(Number.POSITIVE_INFINITY);
  for (const policy of policies) {
    for (const scope of ["consensus", "condition", "time"] as const) {
      const { [scope]: source = "" } = policy;
      if (source === "") continue;
      await pause(organizationId);
      expressions.program(source, scope, unbounded);
    }
  }
}

/** About what a policy takes in memory, with the values that are remembered of it. */
const bytesOf = ({ consensus = "", condition = "", time = "" }: Policy): number =>
  1024 + 2 * (consensus.length + condition.length + time.length);

/** What policies come to, as the API shows them; their names and notes decide nothing. */
export async function policiesForProof(read: Reader, organizationId: string): Promise<unknown[]> {
  const rows = await selectPolicies(read, { organizationId });
  return rows.map(({ id, effect, consensus, condition, time }) => ({
    policyId: id,
    effect,
    consensus,
    condition,
    ...(time === null ? {} : { time }),
  }));
}

const selectPolicies = prepared<{ organizationId: string }>()((db, { organizationId }) =>
  db
    .selectFrom("policies")
    .select(["id", "effect", "consensus", "condition", "time"])
    .where("organization_id", "=", organizationId)
    .orderBy("id"),
);
