import { setImmediate } from "node:timers/promises";
import { MAX_DECISION_STEPS, MAX_REQUEST_STEPS } from "../../kernel/limits.ts";
import { Budget } from "../../policy/budget.ts";

/** What may be evaluated to decide: one for each request, passed to everything that evaluates for it. */
export interface DecisionBudget {
  /** The steps of the next thing that is evaluated at a time. */
  turn(): Promise<Budget>;
}

/** After so many steps, about five milliseconds, other requests have their turn. */
const STEPS_BETWEEN_PAUSES = 200_000;

/** All that a request may spend. What is evaluated at a time is bounded, and in between others have their turn. */
export class RequestBudget implements DecisionBudget {
  readonly #steps: Budget;
  #leftAtPause: number;

  constructor(steps = MAX_REQUEST_STEPS) {
    this.#steps = new Budget(steps);
    this.#leftAtPause = steps;
  }

  async turn(): Promise<Budget> {
    if (this.#leftAtPause - this.#steps.left >= STEPS_BETWEEN_PAUSES) {
      await setImmediate();
      this.#leftAtPause = this.#steps.left;
    }
    return this.#steps.part(MAX_DECISION_STEPS);
  }

  /** For work that goes with deciding, such as reading what an activity is about. */
  spend(steps: number): void {
    this.#steps.spend(steps);
  }

  /** For one transaction: others wait until it ends, so it gets no more than one turn outside, and takes no pause. */
  inTransaction(): DecisionBudget {
    const steps = this.#steps.part(MAX_DECISION_STEPS);
    return { turn: async () => steps };
  }
}
