/**
 * Thrown where the work that a request may cause is used up. It is no `PolicyError`: no outcome of a policy follows from it, so
 * that nobody is allowed or denied anything because others had much to do.
 */
export class OutOfBudget extends Error {
  override readonly name = "OutOfBudget";

  constructor() {
    // As with a `PolicyError`, the stack would cost more than it tells.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super("the work takes more steps than there are");
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/**
 * Steps of work that may still be done. A step is what a part of an expression takes, about 25 nanoseconds; whoever does more at
 * a time says how many steps that is worth. One budget goes with everything that is decided for a request.
 */
export class Budget {
  readonly #whole: Budget | undefined;
  /** Whether there were fewer steps to be had than were asked for. */
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

  /** @throws OutOfBudget where there are fewer steps left; then none are left */
  spend(steps: number): void {
    const isEnough = steps <= this.#left;
    this.#take(isEnough ? steps : this.#left);
    if (!isEnough) throw new OutOfBudget();
  }

  /** At most so many steps of this budget, for one thing that must not take them all; what it spends is spent here too. */
  part(steps: number): Budget {
    return new Budget(steps, this);
  }

  #take(steps: number): void {
    this.#left = Math.max(this.#left - steps, 0);
    if (this.#whole !== undefined) this.#whole.#take(steps);
  }
}
