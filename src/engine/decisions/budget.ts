import { MAX_DECISION_STEPS, MAX_REQUEST_STEPS } from "../../kernel/limits.ts";
import { isRoundLong, isWholePiece, turn } from "../../kernel/turns.ts";
import { Budget } from "../../policy/budget.ts";

/** The budget of work of a request, passed to everything that evaluates conditions for it. */
export interface DecisionBudget {
  /** Yields to other requests if needed, and resolves to the steps that may be evaluated next. */
  turn(): Promise<Budget>;
}

/** After this many steps, about five milliseconds, of all requests together, evaluation yields to the event loop. */
const STEPS_IN_A_ROUND = 200_000;

/** Counts the steps of all requests. Larger than what a process can ever spend. */
const everybody = new Budget(Number.MAX_SAFE_INTEGER);
let leftAtLastTurn = everybody.left;

/**
 * The whole budget of a request. Between bounded slices of evaluation other requests get their turn: those of the same organization share one
 * queue, other organizations have queues of their own.
 */
export class RequestBudget implements DecisionBudget {
  readonly #organizationId: string;
  readonly #steps: Budget;
  #lastTurnMs = performance.now();

  constructor(organizationId: string, steps = MAX_REQUEST_STEPS, whole = everybody) {
    this.#organizationId = organizationId;
    this.#steps = whole.part(steps);
    // Starts the timing of this round of the event loop, so that work before the first evaluation counts.
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

  /** Half of the remaining budget, for optional work that must not use all of it. */
  half(): RequestBudget {
    return new RequestBudget(this.#organizationId, Math.floor(this.#steps.left / 2), this.#steps);
  }

  /** The budget inside a transaction: one slice in all, without yielding, because others wait for the transaction to end. */
  inTransaction(): DecisionBudget {
    const steps = this.#steps.part(MAX_DECISION_STEPS);
    return { turn: async () => steps };
  }
}
