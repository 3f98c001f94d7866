import type { Voter } from "../../policy/approvals.ts";
import type { Budget } from "../../policy/budget.ts";
import type { Outcome } from "../../policy/evaluation.ts";
import type { ConditionFacts } from "../../policy/facts.ts";
import type { Policy } from "../../policy/policy.ts";
import { NotLoaded } from "../not-loaded.ts";
import type { Actor, ShownCredential, Subject } from "../parties.ts";
import type { MfaPolicy, SessionProfile } from "../state.ts";

/** The facts on which a decision is made. */
export interface DecisionFacts {
  readonly organization: { readonly id: string; readonly quorumThreshold: number };
  readonly subject: Subject;
  /** The user who submitted the activity. */
  readonly submitter: Actor;
  /** The users who approve, including the submitter; one entry per user. */
  readonly approvals: readonly ApprovalFacts[];
  readonly lookUps: LookUps;
  /** Milliseconds. */
  readonly now: number;
}

/** A user's approval, with every credential that they stamped it with, as of then; the vote's own comes first. */
export interface ApprovalFacts {
  actor: Actor;
  credentials: readonly ShownCredential[];
}

/** The outcome of a policy, stored with the vote at which it was evaluated. */
export interface RecordedEvaluation {
  policyId: string;
  /** OUTCOME_REQUIRES_AUTHENTICATORS for an MFA policy that is not met. */
  outcome: Outcome | "OUTCOME_REQUIRES_AUTHENTICATORS";
}

/** A user as decisions see them. */
export interface Elector {
  /** The same object as long as the user does not change, because remembered outcomes of policies are keyed by it. */
  voter: Voter;
  mfaPolicies: readonly Pick<MfaPolicy, "id" | "condition" | "requiredMethods">[];
}

/** A fact that a decision looks up. */
export type FactRef =
  | { fact: "policies" }
  /** The facts of the activity, which its operation provides. */
  | { fact: "activity" }
  | { fact: "user"; userId: string }
  /** All users of the organization. */
  | { fact: "voters" }
  /** A profile of the parent, or of the organization itself if it has no parent. */
  | { fact: "sessionProfile"; id: string };

/** Looks up loaded facts. Every look-up may throw `FactsNotLoaded`, so decisions have no side effects and may run again. */
export interface LookUps {
  /** Requests several facts at once, so that they are loaded together. */
  need(refs: readonly FactRef[]): void;
  policies(): readonly Policy[];
  /** The facts for conditions. Computing them from a long activity takes steps. */
  conditionFacts(steps: Budget): ConditionFacts;
  user(userId: string): Elector | undefined;
  voters(): readonly Voter[];
  sessionProfile(id: string): Pick<SessionProfile, "name" | "scope"> | undefined;
}

/** Thrown when a decision looks up facts that are not loaded. */
export class FactsNotLoaded extends NotLoaded<FactRef> {}
