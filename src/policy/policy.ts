import type { PolicyError } from "./errors.ts";
import type { Scope } from "./schema.ts";

/** A policy as it is stored. An expression that is absent or empty holds always. */
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
   * Of a denial: the roots that it asks for and the activity does not have (`bitcoin.tx`, `private_key`), where they are all
   * that is wrong. It is not about such an activity, and denies nothing.
   */
  absentRoots?: readonly string[];
}
