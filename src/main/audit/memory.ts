import { MAX_REFUSALS_HELD } from "../../kernel/limits.ts";
import { type AuditEvent, type LeftOut, lineOfLeftOut } from "./lines.ts";

/**
 * What a sink is to be told that is not in the database: refused authentications, and how many lines there was no room for.
 * It goes with the process.
 */
export class Memory {
  #lines: string[] = [];
  readonly #leftOut = new Map<AuditEvent, LeftOut>();
  /** Counts that were taken: their lines are sent unchanged until they are delivered, and further ones are counted beside them. */
  #told: { event: AuditEvent; count: number; line: string }[] = [];

  get isEmpty(): boolean {
    return this.#lines.length === 0 && this.#leftOut.size === 0 && this.#told.length === 0;
  }

  /** Whether there was room. */
  add(line: string): boolean {
    if (this.#lines.length >= MAX_REFUSALS_HELD) return false;
    this.#lines.push(line);
    return true;
  }

  /** One line is told of all that are left out until it is taken. `now` is in milliseconds. */
  leaveOut(event: AuditEvent, now: number): void {
    const known = this.#leftOut.get(event);
    this.#leftOut.set(event, { count: (known?.count ?? 0) + 1, from: known?.from ?? now, to: now });
  }

  countOf(event: AuditEvent): number {
    const told = this.#told.filter((each) => each.event === event);
    return told.reduce((sum, { count }) => sum + count, this.#leftOut.get(event)?.count ?? 0);
  }

  /** What is to be sent now, the same lines again where they were not delivered, and what is called once they were. */
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
