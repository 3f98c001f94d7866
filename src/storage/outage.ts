import { OUTAGE_PATIENCE_MS } from "../kernel/limits.ts";
import { DatabaseFailure } from "./failure.ts";

const FIRST_PAUSE_MS = 25;
const LONGEST_PAUSE_MS = 500;

/**
 * Retries work that an outage interrupted, so that a failover or a restart of the database is a delay and not an error. If the outage
 * lasts, all waiting work fails at once, so that requests do not pile up.
 */
export class OutagePatience {
  #since: number | undefined;
  #ended = false;

  /** Runs `work` until it succeeds or fails for another reason; it must be safe to repeat. */
  async through<T>(work: () => Promise<T>): Promise<T> {
    const start = Date.now();
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        const value = await work();
        this.#since = undefined;
        return value;
      } catch (error) {
        if (!this.#isWorthAnotherTry(error, start)) throw error;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }

  /** Stops all retries from now on. */
  end(): void {
    this.#ended = true;
  }

  #isWorthAnotherTry(error: unknown, start: number): boolean {
    if (!(error instanceof DatabaseFailure) || error.kind !== "outage") return false;
    const now = Date.now();
    this.#since ??= now;
    const young = now - this.#since < OUTAGE_PATIENCE_MS && now - start < OUTAGE_PATIENCE_MS;
    return young && !this.#ended;
  }
}
