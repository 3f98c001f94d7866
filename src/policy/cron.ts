import { DAY_MS, MINUTE_MS } from "../kernel/durations.ts";
import { type DayClock, findTimeZone, type TimeZone } from "./time-zone.ts";

const MINUTES_OF_DAY = 24 * 60;
const MAX_DURATION_MS = 7 * DAY_MS;

/** Why a text is not a valid cron expression, duration or time zone. */
export interface Invalid {
  reason: string;
}

/** When windows open: the allowed values of each field, sorted, and whether both day of month and day of week are restricted. */
interface Schedule {
  minutes: number[];
  hours: number[];
  daysOfMonth: Set<number>;
  months: Set<number>;
  daysOfWeek: Set<number>;
  eitherDay: boolean;
}

/** `CronSpan`: the windows [fire, fire + duration) of a schedule in a time zone. */
export interface CronSpan {
  /** Whether an instant (milliseconds since 1970) is within a window. */
  isActiveAt(nowMs: number): boolean;
  /** How many days must be examined for an answer, which determines its cost. */
  days: number;
}

/** Parses the three arguments of `CronSpan`; `Invalid` says which is wrong and why. */
export function parseCronSpan(cron: string, duration: string, timeZone: string): CronSpan | Invalid {
  const schedule = parseCron(cron);
  if ("reason" in schedule) return schedule;
  const durationMs = parseDuration(duration);
  if (typeof durationMs !== "number") return durationMs;
  const zone = findTimeZone(timeZone);
  if (!zone) return { reason: "the time zone is not an IANA name such as 'America/New_York'" };
  return cronSpan(schedule, durationMs, zone);
}

const FIELDS: [name: string, least: number, most: number][] = [
  ["minute", 0, 59],
  ["hour", 0, 23],
  ["day of month", 1, 31],
  ["month", 1, 12],
  ["day of week", 0, 6],
];

/** Five fields of numbers, ranges, lists or `*`. If both days of month and days of week are restricted, a day must match only one of them. */
function parseCron(text: string): Schedule | Invalid {
  const fields = text.split(" ").filter((field) => field !== "");
  if (fields.length !== FIELDS.length) {
    return { reason: "a cron expression has five fields: minute hour day-of-month month day-of-week" };
  }
  const sets: Set<number>[] = [];
  for (const [index, field] of fields.entries()) {
    const set = parseField(field, index);
    if ("reason" in set) return set;
    sets.push(set);
  }
  const [minutes, hours, daysOfMonth, months, daysOfWeek] = sets as [
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
  ];
  return {
    minutes: [...minutes].sort((a, b) => a - b),
    hours: [...hours].sort((a, b) => a - b),
    daysOfMonth,
    months,
    daysOfWeek,
    eitherDay: fields[2] !== "*" && fields[4] !== "*",
  };
}

function parseField(field: string, index: number): Set<number> | Invalid {
  const [name, least, most] = FIELDS[index] as [string, number, number];
  const allowed = new Set<number>();
  for (const item of field === "*" ? [`${least}-${most}`] : field.split(",")) {
    const range = /^(\d{1,2})(?:-(\d{1,2}))?$/.exec(item);
    if (range === null) {
      return {
        reason: `the ${name} field takes numbers, ranges (1-5), lists (1,3,5) and *; not steps, names or macros`,
      };
    }
    const first = Number(range[1]);
    const last = Number(range[2] ?? range[1]);
    if (first < least || last > most || first > last) {
      return { reason: `the ${name} field goes from ${least} to ${most}` };
    }
    for (let value = first; value <= last; value++) allowed.add(value);
  }
  return allowed;
}

/** Whole days, hours and minutes in this order, each at most once: `8h`, `90m`, `1d12h`. Returns milliseconds. */
function parseDuration(text: string): number | Invalid {
  const parts = /^(?:(\d{1,5})d)?(?:(\d{1,5})h)?(?:(\d{1,5})m)?$/.exec(text);
  if (parts === null || text === "")
    return { reason: "a duration is whole days, hours and minutes such as '8h' or '1d12h'" };
  const [days, hours, minutes] = parts.slice(1).map((part) => Number(part ?? 0)) as [number, number, number];
  const durationMs = days * DAY_MS + (hours * 60 + minutes) * MINUTE_MS;
  if (durationMs === 0 || durationMs > MAX_DURATION_MS) {
    return { reason: "a duration is longer than nothing and at most 7 days" };
  }
  return durationMs;
}

/**
 * Caches the last answer with the period in which it is valid: an open window until it closes, a closed one until the next fire or the end
 * of the examined days. So a request costs one comparison, and the calendar is examined only a few times a day.
 */
function cronSpan(schedule: Schedule, durationMs: number, zone: TimeZone): CronSpan {
  // From the day on which a window that is still open may have begun, in any time zone, to the day of the next fire.
  const days = Math.ceil(durationMs / DAY_MS) + 4;
  let known = { from: 0, until: 0, active: false };
  return {
    days,
    isActiveAt(nowMs) {
      if (nowMs < known.from || nowMs >= known.until) known = answerAt(nowMs);
      return known.active;
    },
  };

  function answerAt(nowMs: number): typeof known {
    let latest = Number.NEGATIVE_INFINITY;
    let next = nowMs + DAY_MS / 2;
    const firstDay = startOfDay(nowMs - durationMs - DAY_MS);
    for (let day = firstDay; day < firstDay + days * DAY_MS; day += DAY_MS) {
      if (!fallsOn(schedule, new Date(day))) continue;
      const fires = firesAround(schedule, day, zone.clockOn(day), nowMs);
      latest = Math.max(latest, fires.latest);
      next = Math.min(next, fires.next);
    }
    const active = nowMs < latest + durationMs;
    return { from: nowMs, until: active ? latest + durationMs : next, active };
  }
}

const startOfDay = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS;

function fallsOn(schedule: Schedule, day: Date): boolean {
  if (!schedule.months.has(day.getUTCMonth() + 1)) return false;
  const dayOfMonth = schedule.daysOfMonth.has(day.getUTCDate());
  const dayOfWeek = schedule.daysOfWeek.has(day.getUTCDay());
  return schedule.eitherDay ? dayOfMonth || dayOfWeek : dayOfMonth && dayOfWeek;
}

/** On one day: the last instant not after `nowMs` at which a window opens, and the first one after it; infinite if there is none. */
function firesAround(
  schedule: Schedule,
  day: number,
  clock: DayClock,
  nowMs: number,
): { latest: number; next: number } {
  const change = Math.min(Math.max(Math.ceil((clock.changesAt - day) / MINUTE_MS), 0), MINUTES_OF_DAY);
  const parts = [
    { from: 0, to: change - 1, offset: clock.before },
    { from: change, to: MINUTES_OF_DAY - 1, offset: clock.after },
  ];
  let [latest, next] = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (const { from, to, offset } of parts) {
    const midnight = day - offset;
    const now = Math.floor((nowMs - midnight) / MINUTE_MS);
    const fired = latestMinute(schedule, Math.min(now, to));
    const coming = earliestMinute(schedule, Math.max(now + 1, from));
    if (fired >= from) latest = Math.max(latest, midnight + fired * MINUTE_MS);
    if (coming <= to) next = Math.min(next, midnight + coming * MINUTE_MS);
  }
  return { latest, next };
}

/** The last minute of a day, counted from its midnight, at which a window opens and that is not after `limit`; -1 if there is none. */
function latestMinute({ hours, minutes }: Schedule, limit: number): number {
  const hour = Math.floor(limit / 60);
  const minute = hours.includes(hour) ? minutes.findLast((each) => hour * 60 + each <= limit) : undefined;
  if (minute !== undefined) return hour * 60 + minute;
  const earlier = hours.findLast((each) => each < hour);
  return earlier === undefined ? -1 : earlier * 60 + (minutes.at(-1) as number);
}

/** The first such minute that is not before `limit`; Infinity if there is none. */
function earliestMinute({ hours, minutes }: Schedule, limit: number): number {
  const hour = Math.floor(limit / 60);
  const minute = hours.includes(hour) ? minutes.find((each) => hour * 60 + each >= limit) : undefined;
  if (minute !== undefined) return hour * 60 + minute;
  const later = hours.find((each) => each > hour);
  return later === undefined ? Number.POSITIVE_INFINITY : later * 60 + (minutes[0] as number);
}
