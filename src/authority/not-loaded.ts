/**
 * What a rule or a decision has looked at is not loaded. Whoever runs it loads the parts that are named and runs it again, so neither
 * changes anything meanwhile.
 */
export abstract class NotLoaded<Ref> extends Error {
  override readonly name = "NotLoaded";
  readonly refs: readonly Ref[];

  constructor(refs: readonly Ref[]) {
    // It is caught at once, for each activity: nobody reads where it came from.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super("what was looked at is not loaded");
    Error.stackTraceLimit = stackTraceLimit;
    this.refs = refs;
  }
}
