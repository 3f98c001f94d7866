/**
 * Thrown when a request has used up its allowed work. It is not a `PolicyError`, because it determines no outcome of a policy: nobody is
 * allowed or denied anything because the server was busy.
 */
export class OutOfBudget extends Error {
  override readonly name = "OutOfBudget";

  constructor() {
    // As for a `PolicyError`, the stack would cost more than it is worth.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super("the work takes more steps than there are");
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * The remaining steps of work. A step is the evaluation of one part of an expression, about 25 nanoseconds; larger pieces of work spend
 * several steps. One budget covers everything that is decided for a request.
 */
export class Budget {
  readonly #whole: Budget | undefined;
  /** Whether fewer steps were available than requested. */
  readonly isCut: boolean;
  #left: number;

  constructor(steps: number, whole?: Budget) {
    this.#whole = whole;
    this.isCut = whole !== undefined && whole.left < steps;
    this.#left = whole === undefined ? steps : Math.min(steps, whole.left);
  }

  get left(): number {
    return this.#left;
  }

  /** @throws OutOfBudget if fewer steps are left; then none remain */
  spend(steps: number): void {
    const isEnough = steps <= this.#left;
    this.#take(isEnough ? steps : this.#left);
    if (!isEnough) throw new OutOfBudget();
  }

  /** A part of this budget, of at most this many steps, for work that must not use all of it. Steps spent there are spent here too. */
  part(steps: number): Budget {
    return new Budget(steps, this);
  }

  #take(steps: number): void {
    this.#left = Math.max(this.#left - steps, 0);
    if (this.#whole !== undefined) this.#whole.#take(steps);
  }
}
