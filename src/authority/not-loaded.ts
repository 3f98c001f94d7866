/**
 * Thrown when a rule or a decision reads something that is not loaded. The caller loads the named parts and runs it again, so rules and
 * decisions must have no side effects.
 */
export abstract class NotLoaded<Ref> extends Error {
  override readonly name = "NotLoaded";
  readonly refs: readonly Ref[];

  constructor(refs: readonly Ref[]) {
    // It is thrown and caught for every activity, and nobody reads the stack trace, which would be expensive.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super("what was looked at is not loaded");
    Error.stackTraceLimit = stackTraceLimit;
    this.refs = refs;
  }
}
