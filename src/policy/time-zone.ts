import { DAY_MS } from "../kernel/durations.ts";
import { MAX_TIME_ZONES } from "../kernel/limits.ts";
import { recentlyUsed } from "../kernel/recently-used.ts";

/**
 * How the local times of one day are converted to instants: local times (milliseconds as if they were UTC) before `changesAt` are ahead of
 * UTC by `before`, the others by `after`. On most days both are equal.
 *
 * As in RFC 5545 section 3.3.5, a local time that occurs twice is the first of the two, and a skipped one is read with the offset before
 * the gap.
 */
export interface DayClock {
  before: number;
  after: number;
  changesAt: number;
}

export interface TimeZone {
  /** The clock of a day; `day` is its local midnight as if it were UTC. */
  clockOn(day: number): DayClock;
}

const DAYS_KEPT = 32;
const zones = recentlyUsed<TimeZone>({ entries: MAX_TIME_ZONES });

/** The zone with an IANA name, or undefined. `Intl` is slow, so zones and their last days are cached. */
export function findTimeZone(name: string): TimeZone | undefined {
  const key = name.toLowerCase();
  const known = zones.get(key);
  if (known) return known;
  const zone = openTimeZone(name);
  if (zone) zones.set(key, zone);
  return zone;
}

/** The offset from UTC in milliseconds at an instant. */
type OffsetAt = (instantMs: number) => number;

const OFFSET = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/;

function openTimeZone(name: string): TimeZone | undefined {
  // Intl also accepts offsets such as +05:00, which are not names.
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/.test(name)) return undefined;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" });
  } catch {
    return undefined;
  }
  const offsetAt: OffsetAt = (instantMs) => {
    const [, sign, hours, minutes, seconds] = OFFSET.exec(format.format(instantMs)) ?? [];
    const size = Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
    return (sign === "-" ? -size : size) * 1000;
  };
  const days = recentlyUsed<DayClock>({ entries: DAYS_KEPT });
  return {
    clockOn(day) {
      const key = String(day);
      const known = days.get(key);
      if (known) return known;
      const clock = readClock(day, offsetAt);
      days.set(key, clock);
      return clock;
    },
  };
}

function readClock(day: number, offsetAt: OffsetAt): DayClock {
  // Offsets are within 14 hours of UTC, so these two instants surround the local day.
  let earlier = day - DAY_MS;
  let later = day + 2 * DAY_MS;
  const before = offsetAt(earlier);
  const after = offsetAt(later);
  if (before === after) return { before, after, changesAt: day };
  while (later - earlier > 1000) {
    const middle = Math.floor((earlier + later) / 2000) * 1000;
    if (offsetAt(middle) === before) earlier = middle;
    else later = middle;
  }
  // When clocks go forward, skipped times are read with the earlier offset. When they go back, repeated times are the first of the two.
  return { before, after, changesAt: later + Math.max(before, after) };
}
