/** Of V8, which the policy language sets; elsewhere it is a property that nobody reads. */
interface ErrorConstructor {
  stackTraceLimit: number;
}
