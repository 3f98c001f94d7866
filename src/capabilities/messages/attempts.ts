import type { JobResult } from "../../engine/jobs/jobs.ts";
import { backOffMs } from "../../kernel/back-off.ts";
import { MINUTE_MS } from "../../kernel/durations.ts";

/** Schedules the next attempt to send a message. */

const MESSAGE_BACK_OFF = { firstMs: 5000, longestMs: 5 * MINUTE_MS, spread: 1 / 4 };

/** Retries with back-off until the message expires. The last attempt is made just before that. */
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
