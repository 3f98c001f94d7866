const RFC_3339 = /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?([Zz]|[+-]\d{2}:\d{2})$/;
const ZERO_OFFSET = /^(?:[Zz]|[+-]00:00)$/;

/**
 * Parses an RFC 3339 date-time (section 5.6) with offset zero, to nanoseconds since 1970-01-01T00:00:00Z; otherwise returns the problem.
 * Leap seconds are rejected, because the server's clock never shows them.
 */
export function parseTimestamp(text: string): bigint | { reason: string } {
  const parts = RFC_3339.exec(text);
  if (parts === null) return { reason: "it is not an RFC 3339 date-time such as '2026-03-01T00:00:00Z'" };
  if (!ZERO_OFFSET.test(parts[8] as string)) return { reason: "its UTC offset is not zero; write it in UTC with a Z" };
  const [year, month, day, hour, minute, second] = parts.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const exists =
    date.getUTCMonth() === month - 1 && date.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
  if (!exists) return { reason: "there is no such date or time" };
  return nanosecondsFrom(date.getTime()) + BigInt((parts[7] ?? "").padEnd(9, "0"));
}

/** Timestamps are compared in nanoseconds, the precision in which RFC 3339 texts are parsed. */
export const nanosecondsFrom = (milliseconds: number): bigint => BigInt(milliseconds) * 1_000_000n;
