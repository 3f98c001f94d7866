import type { ConsensusOutlook } from "./consensus.ts";
import type { Policy, PolicyFault } from "./policy.ts";
import type { Scope } from "./schema.ts";

/** The outcomes of the wire that policies give; the others come from votes and authenticators. */
export type Outcome =
  | "OUTCOME_ALLOW"
  | "OUTCOME_DENY_EXPLICIT"
  | "OUTCOME_DENY_IMPLICIT"
  | "OUTCOME_REQUIRES_CONSENSUS"
  | "OUTCOME_ERROR"
  | "OUTCOME_TIME_INACTIVE";

/**
 * What one policy came to. OUTCOME_DENY_IMPLICIT says that it has nothing to say here: its condition is false, or its
 * consensus is and more approvals would not help.
 */
export interface PolicyEvaluation {
  policyId: string;
  effect: Policy["effect"];
  outcome: Outcome;
  /** With OUTCOME_ERROR: in which expression, and what. */
  error?: PolicyFault;
  /** What the expressions came to, as far as they were evaluated. */
  values: { [S in Scope]?: boolean };
  /** Where an allowing policy's condition holds and its consensus does not. */
  outlook?: ConsensusOutlook;
}

/** What all of them came to. Decisions that came to the same may share it. */
export interface PolicyResult {
  readonly outcome: "OUTCOME_ALLOW" | "OUTCOME_DENY_EXPLICIT" | "OUTCOME_DENY_IMPLICIT" | "OUTCOME_REQUIRES_CONSENSUS";
  /** The policies that made it so; none for OUTCOME_DENY_IMPLICIT. */
  readonly decisive: readonly string[];
  /** Every policy, in the order given. */
  readonly evaluations: readonly Readonly<PolicyEvaluation>[];
}
