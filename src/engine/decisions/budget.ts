import { MAX_DECISION_STEPS, MAX_REQUEST_STEPS } from "../../kernel/limits.ts";
import { isRoundLong, isWholePiece, turn } from "../../kernel/turns.ts";
import { Budget } from "../../policy/budget.ts";

/** What may be evaluated to decide: one for each request, passed to everything that evaluates for it. */
export interface DecisionBudget {
  /** The steps of what is evaluated next; others may have their turn first. */
  turn(): Promise<Budget>;
}

/** After so many steps, about five milliseconds, of whichever requests, the event loop goes round. */
const STEPS_IN_A_ROUND = 200_000;

/** What all requests spend: more than can be spent in the life of a process. */
const everybody = new Budget(Number.MAX_SAFE_INTEGER);
let leftAtLastTurn = everybody.left;

/**
 * All that a request may spend. What is evaluated at a time is bounded, and in between others have their turn: those of the same
 * organization in one queue with it, those of others beside it.
 */
export class RequestBudget implements DecisionBudget {
  readonly #organizationId: string;
  readonly #steps: Budget;
  #lastTurnMs = performance.now();

  constructor(organizationId: string, steps = MAX_REQUEST_STEPS, whole = everybody) {
    this.#organizationId = organizationId;
    this.#steps = whole.part(steps);
    // The round of the event loop is timed from here, so that what comes before the first evaluation counts.
    isRoundLong();
  }

  async turn(): Promise<Budget> {
    const isLong = isWholePiece(performance.now() - this.#lastTurnMs) && isRoundLong();
    if (isLong || leftAtLastTurn - everybody.left >= STEPS_IN_A_ROUND) {
      await turn(this.#organizationId);
      leftAtLastTurn = everybody.left;
    }
    this.#lastTurnMs = performance.now();
    return this.#steps.part(MAX_DECISION_STEPS);
  }

  /** Half of what is left, for something that must not take all. */
  half(): RequestBudget {
    return new RequestBudget(this.#organizationId, Math.floor(this.#steps.left / 2), this.#steps);
  }

  /** For one transaction: others wait until it ends, so all of it gets what is a single turn outside, and takes no pause. */
  inTransaction(): DecisionBudget {
    const steps = this.#steps.part(MAX_DECISION_STEPS);
    return { turn: async () => steps };
  }
}
