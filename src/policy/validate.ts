import { type ErrorDetail, fail } from "../kernel/errors.ts";
import { compile } from "./compile.ts";
import { PolicyError } from "./errors.ts";
import type { Scope } from "./schema.ts";

const CODES = {
  consensus: "POLICY_CONSENSUS_INVALID",
  condition: "POLICY_CONDITION_INVALID",
  time: "POLICY_TIME_INVALID",
} as const satisfies Record<Scope, string>;

/**
 * Validates the expressions of a policy before it is stored; absent or empty ones are always true.
 *
 * @throws KeysteadError POLICY_CONSENSUS_INVALID, POLICY_CONDITION_INVALID or POLICY_TIME_INVALID; a detail of type `PolicyExpressionError`
 *   has the position and what was expected there
 */
export function validatePolicy(expressions: { [S in Scope]?: string | undefined }): void {
  for (const scope of ["consensus", "condition", "time"] as const) {
    const source = expressions[scope];
    if (source !== undefined && source !== "") validateExpression(source, scope);
  }
}

/** Validates one expression like `validatePolicy`; also used for the conditions of MFA policies and the scopes of session profiles. */
export function validateExpression(source: string, scope: Scope): void {
  try {
    compile(source, scope);
  } catch (error) {
    if (!(error instanceof PolicyError)) throw error;
    fail(CODES[scope], { reason: error.description }, [detailOf(error, scope)]);
  }
}

function detailOf(error: PolicyError, scope: Scope): ErrorDetail {
  return {
    "@type": "type.googleapis.com/keystead.v1.PolicyExpressionError",
    field: scope,
    code: error.code,
    message: error.message,
    ...error.position,
    ...(error.expected === undefined ? {} : { expected: error.expected }),
  };
}
