import { MAX_REQUEST_STEPS } from "../../kernel/limits.ts";
import type { Approval, Voter } from "../../policy/approvals.ts";
import { Budget } from "../../policy/budget.ts";
import { createExpressionCache } from "../../policy/cache.ts";
import { type Decision, type DecisionRequest, decide, type Policy } from "../../policy/decision.ts";
import { PolicyError } from "../../policy/errors.ts";
import { explainPolicy } from "../../policy/explain.ts";
import type { ActivityFacts, ConditionFacts, CredentialFacts } from "../../policy/facts.ts";
import { createValueMemory } from "../../policy/remembered-values.ts";
import { activityParams } from "../../policy/schema.ts";
import { isTransactor, type Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import { loadUser, loadUsers, type User } from "../identity/users.ts";
import type { PolicyFacts, ShownCredential, Subject } from "../operations.ts";
import type { DecisionFacts } from "./facts.ts";

/** From rows to the facts that the policy language decides on, and back to something a person can read. */

const MAX_CACHED_ORGANIZATIONS = 1000;

/** Compiled once, for every organization that writes the same. */
const expressions = createExpressionCache();
const memory = createValueMemory();
/** Policies under their version, which is read afresh with every stamp. */
const policiesOf = new Map<string, { version: number; policies: readonly Policy[] }>();

/** What policies are asked about. */
export interface PolicyQuestion {
  organizationId: string;
  policiesVersion: number;
  activity: ActivityFacts;
  /** The operation's own facts; loaded only when there are policies. */
  facts: (read: Reader) => Promise<PolicyFacts>;
  submitterId: string;
  /** The approvals that count: who, and with which credential. */
  approvals: readonly { userId: string; credential: ShownCredential }[];
  /** Milliseconds. */
  now: number;
}

/** A decision together with what it was made on, to explain it. */
export interface PolicyDecision extends Decision {
  request: DecisionRequest;
}

/** What a condition outside the policies comes to, such as an MFA policy's; the error where it cannot be told. */
export async function evaluateCondition(
  read: Reader,
  { type, subject, intent, policyFacts }: Pick<DecisionFacts, "type" | "subject" | "intent" | "policyFacts">,
  condition: string,
): Promise<boolean | PolicyError> {
  const program = expressions.program(condition, "condition", new Budget(MAX_REQUEST_STEPS));
  if (program instanceof PolicyError) return program;
  const facts = conditionFacts(activityFacts(type, subject, intent), await policyFacts(read));
  try {
    return program.evaluate(facts, new Budget(MAX_REQUEST_STEPS));
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

/** The organization's policies on this question, or undefined if it has none. */
export async function askPolicies(read: Reader, question: PolicyQuestion): Promise<PolicyDecision | undefined> {
  const { organizationId, policiesVersion } = question;
  const policies = await loadPolicies(read, organizationId, policiesVersion);
  if (policies.length === 0) return undefined;
  return decideOn(read, policies, question);
}

/** The same with other policies than the stored ones. */
export async function decideOn(
  read: Reader,
  policies: readonly Policy[],
  question: PolicyQuestion,
): Promise<PolicyDecision> {
  const approvals = await approvalsOf(read, question);
  const facts = conditionFacts(question.activity, await question.facts(read));
  const base = { policies, facts, nowMs: question.now, submitterId: question.submitterId, approvals };
  // The other users matter only where approvals are missing; most decisions never look at them.
  let askedForVoters = false;
  const request: DecisionRequest = {
    ...base,
    get voters() {
      askedForVoters = true;
      return [];
    },
  };
  const decision = decide(request, expressions, new Budget(MAX_REQUEST_STEPS), memory);
  if (!askedForVoters) return { ...decision, request: { ...base, voters: [] } };
  const complete = { ...base, voters: await loadVoters(read, question.organizationId) };
  return { ...decide(complete, expressions, new Budget(MAX_REQUEST_STEPS), memory), request: complete };
}

/** The facts of both, without looking at any: one that cannot be told throws when it is asked for. */
const conditionFacts = (activity: ActivityFacts, facts: PolicyFacts): ConditionFacts =>
  Object.defineProperties({ activity }, Object.getOwnPropertyDescriptors(facts)) as ConditionFacts;

/** Why each policy did not allow it, in sentences. */
export function explain({ evaluations, request }: PolicyDecision): { policyId: string; text: string }[] {
  return evaluations.map((evaluation, index) => {
    const budget = new Budget(MAX_REQUEST_STEPS);
    const text = explainPolicy(request.policies[index] as Policy, evaluation, request, expressions, budget);
    return { policyId: evaluation.policyId, text };
  });
}

/**
 * Whether an approval of this user could help one of the policies to allow it: beside the approvals there are, or in place
 * of some of them, which may lapse.
 */
export async function couldHelp(read: Reader, question: PolicyQuestion, userId: string): Promise<boolean> {
  const approvals = question.approvals.filter((approval) => approval.userId !== userId);
  const beside = await askPolicies(read, { ...question, approvals, submitterId: userId });
  if (beside?.outcome === "OUTCOME_REQUIRES_CONSENSUS") return true;
  if (beside === undefined || beside.outcome === "OUTCOME_DENY_EXPLICIT") return false;
  const inPlace = await askPolicies(read, { ...question, approvals: [], submitterId: userId });
  return inPlace?.outcome === "OUTCOME_REQUIRES_CONSENSUS" || inPlace?.outcome === "OUTCOME_ALLOW";
}

/** The activity's own facts; `params` under the names that the language has for its type. */
export function activityFacts(type: string, subject: Subject, intent: unknown): ActivityFacts {
  const kind = type.replace(/^ACTIVITY_TYPE_/, "").replace(/_V\d+$/, "");
  const { resource, action } =
    subject.governedBy === "policies" ? subject : { resource: "ORGANIZATION", action: subject.action ?? "UPDATE" };
  const fields = Object.keys(activityParams[type] ?? {});
  const params = Object.fromEntries(
    fields.map((field) => [field, (intent as Record<string, unknown>)[camelCase(field)] ?? ""]),
  );
  return { type, kind, resource, action, params };
}

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

async function approvalsOf(read: Reader, question: PolicyQuestion): Promise<Approval[]> {
  const approvals = await Promise.all(
    question.approvals.map(async ({ userId, credential: shown }): Promise<Approval | undefined> => {
      const user = await loadUser(read, question.organizationId, userId);
      if (!user) return undefined;
      const voter = voterOf(user);
      const credential = voter.credentials.find(({ public_key }) => public_key === shown.publicKey);
      return { user: voter, credential: credential ?? formerCredential(userId, shown) };
    }),
  );
  return approvals.filter((approval) => approval !== undefined);
}

/** A credential that made room for a newer one since: what was approved with it stays approved with it. */
const formerCredential = (userId: string, { id, type, publicKey }: ShownCredential): CredentialFacts | undefined =>
  id === "" ? undefined : { id, user_id: userId, type, public_key: publicKey };

async function loadVoters(read: Reader, organizationId: string): Promise<Voter[]> {
  return (await loadUsers(read, organizationId)).map(voterOf);
}

const voters = new WeakMap<User, Voter>();

/** One object for each version of a user, by which their approvals are known again. */
function voterOf(user: User): Voter {
  const known = voters.get(user);
  if (known) return known;
  const voter = {
    id: user.userId,
    tags: user.userTags,
    email: user.userEmail ?? "",
    alias: user.userName,
    credentials: credentialsOf(user),
  };
  voters.set(user, voter);
  return voter;
}

function credentialsOf({ userId, apiKeys, authenticators }: User): CredentialFacts[] {
  return [
    ...apiKeys.map(({ apiKeyId, credential }) => ({
      id: apiKeyId,
      user_id: userId,
      type: credential.type,
      public_key: credential.publicKey,
    })),
    ...authenticators.map(({ authenticatorId, credentialId, credential }) => ({
      id: authenticatorId,
      user_id: userId,
      type: credential.type,
      credential_id: credentialId,
      public_key: credential.publicKey,
    })),
  ];
}

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
    if (policiesOf.size >= MAX_CACHED_ORGANIZATIONS) policiesOf.clear();
    policiesOf.set(organizationId, { version, policies });
  }
  return policies;
}

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
