import type { ConsensusOutlook } from "./consensus.ts";
import type { Policy, PolicyFault } from "./policy.ts";
import type { Scope } from "./schema.ts";

/** The outcomes that policies can have; the API's other outcomes come from votes and authenticators. */
export type Outcome =
  | "OUTCOME_ALLOW"
  | "OUTCOME_DENY_EXPLICIT"
  | "OUTCOME_DENY_IMPLICIT"
  | "OUTCOME_REQUIRES_CONSENSUS"
  | "OUTCOME_ERROR"
  | "OUTCOME_TIME_INACTIVE";

/**
 * The evaluation of one policy. OUTCOME_DENY_IMPLICIT means that the policy does not apply: its condition is false, or its consensus is
 * false and more approvals would not help.
 */
export interface PolicyEvaluation {
  policyId: string;
  effect: Policy["effect"];
  outcome: Outcome;
  /** With OUTCOME_ERROR: the error and its expression. */
  error?: PolicyFault;
  /** The values of the expressions that were evaluated. */
  values: { [S in Scope]?: boolean };
  /** If an allowing policy's condition holds and its consensus does not. */
  outlook?: ConsensusOutlook;
}

/** The result of all policies. Decisions with the same result may share the object. */
export interface PolicyResult {
  readonly outcome: "OUTCOME_ALLOW" | "OUTCOME_DENY_EXPLICIT" | "OUTCOME_DENY_IMPLICIT" | "OUTCOME_REQUIRES_CONSENSUS";
  /** The policies that determined the outcome; none for OUTCOME_DENY_IMPLICIT. */
  readonly decisive: readonly string[];
  /** Every policy, in the order given. */
  readonly evaluations: readonly Readonly<PolicyEvaluation>[];
}
