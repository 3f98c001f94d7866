/**
 * What went wrong. Those before `ABSENT_ROOT` are found when an expression is created, the others when it is evaluated.
 * `ABSENT_ROOT`: a fact that activities of this kind do not have at all; `MISSING_FACT`: one of which they have less than is asked.
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

/** A place in an expression: `offset` in UTF-16 code units from 0, `line` and `column` (in code points) from 1. */
export interface Position {
  offset: number;
  line: number;
  column: number;
}

/** The one error of the policy language. `expected` says what would have been right, where that can be said. */
export class PolicyError extends Error {
  readonly code: PolicyErrorCode;
  readonly offset: number;
  readonly expected: string | undefined;
  readonly #source: string;

  constructor(code: PolicyErrorCode, message: string, source: string, offset: number, expected?: string) {
    // An evaluation that fails is an outcome, and one decision may have a hundred: taking each one's stack costs more than all else.
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

  /** Counted when asked for, because most evaluation errors are never shown. */
  get position(): Position {
    const before = this.#source.slice(0, this.offset);
    const lineStart = before.lastIndexOf("\n") + 1;
    return {
      offset: this.offset,
      line: before.split("\n").length,
      column: [...before.slice(lineStart)].length + 1,
    };
  }

  /**
   * The message with its place. A field that does not exist is told without the place, because clients know that text
   * word by word.
   */
  get description(): string {
    if (this.code === "UNKNOWN_FIELD" || this.code === "TOO_LONG") return this.message;
    const { line, column } = this.position;
    return `${this.message} (line ${line}, column ${column})`;
  }
}

/**
 * A fact that is supplied lazily, by a getter, throws this when the activity has it and it cannot be told. The expression that
 * touches it then ends in an error, which is not that of a fact that is absent: a denial that asks for it denies.
 */
export class MissingFactError extends Error {
  override readonly name = "MissingFactError";
}
