/**
 * The kinds of error. Those before `ABSENT_ROOT` are found when an expression is created, the others when it is evaluated. `ABSENT_ROOT`: a
 * fact that activities of this kind do not have at all. `MISSING_FACT`: the activity has less of a fact than the expression needs.
 */
export type PolicyErrorCode =
  | "TOO_LONG"
  | "TOO_DEEP"
  | "SYNTAX"
  | "LITERAL"
  | "UNKNOWN_NAME"
  | "UNKNOWN_FIELD"
  | "TYPE"
  | "ABSENT_ROOT"
  | "MISSING_FACT"
  | "WRONG_FACT"
  | "OUT_OF_RANGE"
  | "INCOMPARABLE"
  | "TOO_COSTLY";

/** A position in an expression: `offset` in UTF-16 code units from 0, `line` and `column` (in code points) from 1. */
export interface Position {
  offset: number;
  line: number;
  column: number;
}

/** The error class of the policy language. `expected` says what would have been valid, if known. */
export class PolicyError extends Error {
  readonly code: PolicyErrorCode;
  readonly offset: number;
  readonly expected: string | undefined;
  readonly #source: string;

  constructor(code: PolicyErrorCode, message: string, source: string, offset: number, expected?: string) {
    // A failed evaluation is an outcome, and one decision may have a hundred. Capturing each stack would cost more than everything else.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
    this.name = "PolicyError";
    this.code = code;
    this.offset = offset;
    this.expected = expected;
    this.#source = source;
  }

  /** Computed on demand, because most evaluation errors are never shown. */
  get position(): Position {
    const before = this.#source.slice(0, this.offset);
    const lineStart = before.lastIndexOf("\n") + 1;
    return {
      offset: this.offset,
      line: before.split("\n").length,
      column: [...before.slice(lineStart)].length + 1,
    };
  }

  /** The message with its position. The message for an unknown field has no position, because clients know its exact text. */
  get description(): string {
    if (this.code === "UNKNOWN_FIELD" || this.code === "TOO_LONG") return this.message;
    const { line, column } = this.position;
    return `${this.message} (line ${line}, column ${column})`;
  }
}

/**
 * Thrown by the getter of a lazy fact if the activity has the fact, but its value cannot be determined. The expression that uses it then
 * fails. Unlike for an absent fact, a denial that uses it denies.
 */
export class MissingFactError extends Error {
  override readonly name = "MissingFactError";
}
