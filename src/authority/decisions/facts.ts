import type { Voter } from "../../policy/approvals.ts";
import type { Budget } from "../../policy/budget.ts";
import type { Outcome } from "../../policy/evaluation.ts";
import type { ConditionFacts } from "../../policy/facts.ts";
import type { Policy } from "../../policy/policy.ts";
import { NotLoaded } from "../not-loaded.ts";
import type { Actor, ShownCredential, Subject } from "../parties.ts";
import type { MfaPolicy, SessionProfile } from "../state.ts";

/** What a decision is made on. */
export interface DecisionFacts {
  readonly organization: { readonly id: string; readonly quorumThreshold: number };
  readonly subject: Subject;
  /** Who asked first. */
  readonly submitter: Actor;
  /** The users who approve, the submitter among them; one entry a user. */
  readonly approvals: readonly ApprovalFacts[];
  readonly lookUps: LookUps;
  /** Milliseconds. */
  readonly now: number;
}

/** A user's approval, with every credential that they stamped it with, as it was then; the vote's own comes first. */
export interface ApprovalFacts {
  actor: Actor;
  credentials: readonly ShownCredential[];
}

/** What each policy came to; stored with the vote that made it be asked. */
export interface RecordedEvaluation {
  policyId: string;
  /** The last of an MFA policy that is not met. */
  outcome: Outcome | "OUTCOME_REQUIRES_AUTHENTICATORS";
}

/** A user as decisions see them. */
export interface Elector {
  /** The same object for as long as the user stays the same: what is remembered of policies is so by it. */
  voter: Voter;
  mfaPolicies: readonly Pick<MfaPolicy, "id" | "condition" | "requiredMethods">[];
}

/** A fact that a decision looks up. */
export type FactRef =
  | { fact: "policies" }
  /** What the activity is about, which the operation tells. */
  | { fact: "activity" }
  | { fact: "user"; userId: string }
  /** All users of the organization. */
  | { fact: "voters" }
  /** Of the organization, or of its parent where it has one: profiles belong to parents. */
  | { fact: "sessionProfile"; id: string };

/** Looks facts up among those that are loaded. Each of these may throw `FactsNotLoaded`, so a decision changes nothing: it may run again. */
export interface LookUps {
  /** Asks for several at once, so that they are loaded together. */
  need(refs: readonly FactRef[]): void;
  policies(): readonly Policy[];
  /** What conditions see; of a long activity it takes steps to make. */
  conditionFacts(steps: Budget): ConditionFacts;
  user(userId: string): Elector | undefined;
  voters(): readonly Voter[];
  sessionProfile(id: string): Pick<SessionProfile, "name" | "scope"> | undefined;
}

/** Facts that a decision has asked for and that are not loaded. */
export class FactsNotLoaded extends NotLoaded<FactRef> {}
