import type { JobResult } from "../../engine/jobs/jobs.ts";

/** When a message that could not be sent now is tried again. */

const FIRST_PAUSE_MS = 5000;
const LONGEST_PAUSE_MS = 5 * 60 * 1000;

/** Doubling pauses up to five minutes, each shortened by a random part, so that what failed together does not come back so. */
export function pauseMs(attempts: number, random: () => number = Math.random): number {
  const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(attempts, 30));
  return Math.round(pause * (1 - random() / 4));
}

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
  return { do: "retry", inMs: Math.max(1000, Math.min(pauseMs(attempts), expiresAt - now - 1000)) };
}

/** What others wrote, without what nobody may read: a server could repeat in its reply what it was sent. */
export const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  secrets.filter((secret) => secret !== "").reduce((kept, secret) => kept.replaceAll(secret, "…"), text);
