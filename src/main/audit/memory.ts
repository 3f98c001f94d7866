import { MAX_REFUSALS_HELD } from "../../kernel/limits.ts";
import { type AuditEvent, type LeftOut, lineOfLeftOut } from "./lines.ts";

/**
 * Lines for a sink that are not in the database: rejected authentications, and the number of lines that were dropped. They are lost when the
 * process ends.
 */
export class Memory {
  #lines: string[] = [];
  readonly #leftOut = new Map<AuditEvent, LeftOut>();
  /** Counts that are being delivered. Their lines stay unchanged until then; further dropped lines are counted separately. */
  #told: { event: AuditEvent; count: number; line: string }[] = [];

  get isEmpty(): boolean {
    return this.#lines.length === 0 && this.#leftOut.size === 0 && this.#told.length === 0;
  }

  /** Returns whether there was room. */
  add(line: string): boolean {
    if (this.#lines.length >= MAX_REFUSALS_HELD) return false;
    this.#lines.push(line);
    return true;
  }

  /** Counts a dropped line. A single line reports all of them at the next delivery. `now` is in milliseconds. */
  leaveOut(event: AuditEvent, now: number): void {
    const known = this.#leftOut.get(event);
    this.#leftOut.set(event, { count: (known?.count ?? 0) + 1, from: known?.from ?? now, to: now });
  }

  countOf(event: AuditEvent): number {
    const told = this.#told.filter((each) => each.event === event);
    return told.reduce((sum, { count }) => sum + count, this.#leftOut.get(event)?.count ?? 0);
  }

  /** The lines to send now, including those that were not delivered last time. Call `delivered` once they are. */
  take(): { lines: string[]; delivered: () => void } {
    if (this.#told.length === 0) {
      this.#told = [...this.#leftOut].map(([event, known]) => {
        return { event, count: known.count, line: lineOfLeftOut(event, known) };
      });
      this.#leftOut.clear();
    }
    const lines = this.#lines.slice();
    return {
      lines: [...lines, ...this.#told.map(({ line }) => line)],
      delivered: () => {
        this.#lines = this.#lines.slice(lines.length);
        this.#told = [];
      },
    };
  }
}
