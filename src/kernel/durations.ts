/** Durations in milliseconds, the unit used everywhere. */
export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;
export const WEEK_MS = 7 * DAY_MS;

/** A duration for texts, in hours if it is a whole number of them and in minutes otherwise: "24 hours", "5 minutes". */
export function durationText(ms: number): string {
  const isInHours = ms % HOUR_MS === 0;
  const count = ms / (isInHours ? HOUR_MS : MINUTE_MS);
  const unit = isInHours ? "hour" : "minute";
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
