import type { PolicyError } from "./errors.ts";
import type { Scope } from "./schema.ts";

/** A stored policy. An absent or empty expression is always true. */
export interface Policy {
  policyId: string;
  effect: "EFFECT_ALLOW" | "EFFECT_DENY";
  consensus?: string | undefined;
  condition?: string | undefined;
  time?: string | undefined;
}

/** Why a policy cannot be evaluated. */
export interface PolicyFault {
  scope: Scope;
  cause: PolicyError;
  /**
   * For a denial: the roots that it needs and the activity does not have (`bitcoin.tx`, `private_key`), if their absence is the only
   * problem. The policy is not about such an activity and denies nothing.
   */
  absentRoots?: readonly string[];
}
