const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const MAX_DURATION_MS = 7 * DAY_MS;

/** Why a text is not a cron expression, a duration or a time zone. */
export interface Invalid {
  reason: string;
}

/** When windows open (numbers each field allows, sorted) and whether day of month and day of week are both restricted. */
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
  /** Whether an instant (milliseconds since 1970) lies in any window. */
  isActiveAt(nowMs: number): boolean;
}

/** Reads the three arguments of `CronSpan`; `Invalid` says which is wrong and how. */
export function parseCronSpan(cron: string, duration: string, timeZone: string): CronSpan | Invalid {
  const schedule = parseCron(cron);
  if ("reason" in schedule) return schedule;
  const durationMs = parseDuration(duration);
  if (typeof durationMs !== "number") return durationMs;
  const offsetAt = zoneOffset(timeZone);
  if ("reason" in offsetAt) return offsetAt;
  return cronSpan(schedule, durationMs, offsetAt);
}

const FIELDS: [name: string, least: number, most: number][] = [
  ["minute", 0, 59],
  ["hour", 0, 23],
  ["day of month", 1, 31],
  ["month", 1, 12],
  ["day of week", 0, 6],
];

/** Five fields of numbers, ranges, lists or `*`. Days of month and week are alternatives when both are restricted. */
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

/** Whole days, hours and minutes in this order, each at most once: `8h`, `90m`, `1d12h`. In milliseconds. */
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

/** The offset of a zone from UTC in milliseconds at an instant. */
type OffsetAt = (instantMs: number) => number;

const OFFSET = /^GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/;

function zoneOffset(timeZone: string): OffsetAt | Invalid {
  const unknown = { reason: "the time zone is not an IANA name such as 'America/New_York'" };
  // Intl also takes offsets such as +05:00, which are not names.
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]{0,63}$/.test(timeZone)) return unknown;
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
  } catch {
    return unknown;
  }
  return (instantMs) => {
    const name = format.formatToParts(instantMs).find((part) => part.type === "timeZoneName")?.value ?? "";
    const [, sign, hours, minutes, seconds] = OFFSET.exec(name) ?? [];
    const size = Number(hours ?? 0) * 3600 + Number(minutes ?? 0) * 60 + Number(seconds ?? 0);
    return (sign === "-" ? -size : size) * 1000;
  };
}

/**
 * The last answer is kept with the time it is good for: an open window until it closes, a closed one until the next fire
 * or the end of what was looked at. So a request costs one comparison, and the calendar is walked a few times a day.
 */
function cronSpan(schedule: Schedule, durationMs: number, offsetAt: OffsetAt): CronSpan {
  let known = { from: 0, until: 0, active: false };
  return {
    isActiveAt(nowMs) {
      if (nowMs < known.from || nowMs >= known.until) known = answerAt(nowMs);
      return known.active;
    },
  };

  function answerAt(nowMs: number): typeof known {
    let latest = Number.NEGATIVE_INFINITY;
    let next = nowMs + DAY_MS / 2;
    const firstDay = startOfDay(nowMs - durationMs - DAY_MS);
    for (let day = firstDay; day <= startOfDay(nowMs + 2 * DAY_MS); day += DAY_MS) {
      for (const fire of firesOn(day)) {
        if (fire <= nowMs) latest = Math.max(latest, fire);
        else next = Math.min(next, fire);
      }
    }
    const active = nowMs < latest + durationMs;
    return { from: nowMs, until: active ? latest + durationMs : next, active };
  }

  /** The instants at which windows open on a day; `day` is its local midnight written as if it were UTC. */
  function* firesOn(day: number): Generator<number> {
    if (!fallsOn(schedule, new Date(day))) return;
    const toInstant = localClock(day, offsetAt);
    for (const hour of schedule.hours) {
      for (const minute of schedule.minutes) yield toInstant(day + (hour * 60 + minute) * MINUTE_MS);
    }
  }
}

const startOfDay = (ms: number): number => Math.floor(ms / DAY_MS) * DAY_MS;

function fallsOn(schedule: Schedule, day: Date): boolean {
  if (!schedule.months.has(day.getUTCMonth() + 1)) return false;
  const dayOfMonth = schedule.daysOfMonth.has(day.getUTCDate());
  const dayOfWeek = schedule.daysOfWeek.has(day.getUTCDay());
  return schedule.eitherDay ? dayOfMonth || dayOfWeek : dayOfMonth && dayOfWeek;
}

/**
 * From local time (milliseconds as if it were UTC) to the instant, for one day. As RFC 5545 section 3.3.5 has it: a local
 * time that the clock shows twice is the first of the two, and one that it skips is read with the offset before the gap.
 */
function localClock(day: number, offsetAt: OffsetAt): (local: number) => number {
  // Offsets are within 14 hours of UTC, so these two instants enclose the local day.
  let before = day - DAY_MS;
  let after = day + 2 * DAY_MS;
  const offsetBefore = offsetAt(before);
  const offsetAfter = offsetAt(after);
  if (offsetBefore === offsetAfter) return (local) => local - offsetBefore;
  while (after - before > 1000) {
    const middle = Math.floor((before + after) / 2000) * 1000;
    if (offsetAt(middle) === offsetBefore) before = middle;
    else after = middle;
  }
  const transition = after;
  return (local) => {
    if (local - offsetBefore < transition) return local - offsetBefore;
    return local - offsetAfter >= transition ? local - offsetAfter : local - offsetBefore;
  };
}
