import type { JobResult } from "../../engine/jobs/jobs.ts";
import { backOffMs } from "../../kernel/back-off.ts";
import { MINUTE_MS } from "../../kernel/durations.ts";

/** When a message that could not be sent now is tried again. */

const MESSAGE_BACK_OFF = { firstMs: 5000, longestMs: 5 * MINUTE_MS, spread: 1 / 4 };

/** Another attempt while the message is of use, and one just before that ends rather than none. */
export function nextAttempt({
  attempts,
  expiresAt,
  now,
}: {
  attempts: number;
  expiresAt: number;
  now: number;
}): JobResult["next"] {
  return { do: "retry", inMs: Math.max(1000, Math.min(backOffMs(MESSAGE_BACK_OFF, attempts), expiresAt - now - 1000)) };
}
