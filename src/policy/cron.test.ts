import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { DAY_MS, MINUTE_MS } from "../kernel/durations.ts";
import { type CronSpan, parseCronSpan } from "./cron.ts";

interface Vector {
  span: [string, string, string];
  /** [instant, whether it is within a window] */
  instants?: [string, boolean][];
  invalid?: string;
}

const vectors: Vector[] = JSON.parse(
  readFileSync(new URL("../../test/vectors/policy-language/cron.json", import.meta.url), "utf8"),
);

function span(...[cron, duration, timeZone]: [string, string, string]): CronSpan {
  const parsed = parseCronSpan(cron, duration, timeZone);
  assert.ok("isActiveAt" in parsed, JSON.stringify(parsed));
  return parsed;
}

test("vectors", () => {
  assert.ok(vectors.filter(({ invalid }) => invalid === undefined).length >= 10);
  assert.ok(vectors.filter(({ invalid }) => invalid !== undefined).length >= 20);
  for (const { span: texts, instants = [], invalid } of vectors) {
    if (invalid !== undefined) {
      const parsed = parseCronSpan(...texts);
      assert.ok("reason" in parsed, texts.join(" "));
      assert.match(parsed.reason, new RegExp(invalid), texts.join(" "));
    }
    for (const [instant, active] of instants) {
      // Both with and without the cached result of an earlier question.
      assert.equal(span(...texts).isActiveAt(Date.parse(instant)), active, `${texts.join(" ")} at ${instant}`);
    }
    const kept = invalid === undefined ? span(...texts) : undefined;
    for (const [instant, active] of instants) assert.equal(kept?.isActiveAt(Date.parse(instant)), active, instant);
    for (const [instant, active] of instants.toReversed()) {
      assert.equal(kept?.isActiveAt(Date.parse(instant)), active, instant);
    }
  }
});

/** Walks back minute by minute and reads the local time: slow, and correct unless the clock changes. */
function isActiveByWalking(cron: [Set<number>, Set<number>], durationMs: number, timeZone: string, nowMs: number) {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const start = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  for (let minute = start; minute > nowMs - durationMs; minute -= MINUTE_MS) {
    const [hours, minutes] = format.format(minute).split(":").map(Number) as [number, number];
    if (cron[0].has(minutes) && cron[1].has(hours)) return true;
  }
  return false;
}

test("agrees with walking the wall clock, away from clock changes", () => {
  const zones = ["UTC", "Asia/Kolkata", "Pacific/Kiritimati", "Pacific/Marquesas", "America/Phoenix", "Asia/Kathmandu"];
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat(59), { minLength: 1, maxLength: 3 }),
      fc.uniqueArray(fc.nat(23), { minLength: 1, maxLength: 3 }),
      fc.integer({ min: 1, max: 1500 }),
      fc.constantFrom(...zones),
      fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2026, 11, 31) }),
      (minutes, hours, durationMinutes, timeZone, nowMs) => {
        const cron = `${minutes.join(",")} ${hours.join(",")} * * *`;
        const sets: [Set<number>, Set<number>] = [new Set(minutes), new Set(hours)];
        const expected = isActiveByWalking(sets, durationMinutes * MINUTE_MS, timeZone, nowMs);
        assert.equal(span(cron, `${durationMinutes}m`, timeZone).isActiveAt(nowMs), expected);
      },
    ),
    { numRuns: 60 },
  );
});

test("what is remembered never changes an answer", () => {
  const zones = ["America/New_York", "Australia/Lord_Howe", "Europe/London"];
  fc.assert(
    fc.property(
      fc.constantFrom("0 9 * * 1-5", "30 1,2 * * *", "* * * * *", "0 0 1 * 1", "59 23 31 12 *"),
      fc.constantFrom("1m", "8h", "1d12h", "7d"),
      fc.constantFrom(...zones),
      fc.array(fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2026, 11, 31) }), { minLength: 1, maxLength: 8 }),
      fc.integer({ min: 1, max: 4 * 60 }),
      (cron, duration, timeZone, instants, stepMinutes) => {
        const kept = span(cron, duration, timeZone);
        for (const instant of instants.flatMap((at) => [at, at + stepMinutes * MINUTE_MS])) {
          assert.equal(kept.isActiveAt(instant), span(cron, duration, timeZone).isActiveAt(instant));
        }
      },
    ),
    { numRuns: 60 },
  );
});

/**
 * Tries every minute of every local day, and finds its instant by the rules of RFC 5545 section 3.3.5: the first at which the clock shows
 * it, and for a skipped time the one with the offset before the gap. Slow, but independent of the implementation.
 */
function isActiveByTrying([minutes, hours, weekdays]: Set<number>[], durationMs: number, zone: string, nowMs: number) {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
  const offsetAt = (instant: number): number => {
    const [, sign = "+", hour = 0, minute = 0] = /GMT([+-])(\d+):(\d+)$/.exec(format.format(instant)) ?? [];
    return (sign === "-" ? -1 : 1) * (Number(hour) * 60 + Number(minute)) * MINUTE_MS;
  };
  const firstDay = Math.floor((nowMs - durationMs) / DAY_MS) - 1;
  for (let day = firstDay; day * DAY_MS <= nowMs + DAY_MS; day++) {
    for (let local = day * DAY_MS; local < (day + 1) * DAY_MS; local += MINUTE_MS) {
      const clock = new Date(local);
      if (!minutes?.has(clock.getUTCMinutes()) || !hours?.has(clock.getUTCHours())) continue;
      if (!weekdays?.has(clock.getUTCDay())) continue;
      const offsets = [offsetAt(local - DAY_MS), offsetAt(local + DAY_MS)];
      const shown = offsets.map((offset) => local - offset).filter((instant) => offsetAt(instant) === local - instant);
      const fire = shown.length > 0 ? Math.min(...shown) : local - (offsets[0] as number);
      if (fire <= nowMs && nowMs < fire + durationMs) return true;
    }
  }
  return false;
}

test("agrees with trying every minute, around clock changes", () => {
  const changes: [zone: string, at: number][] = [
    ["America/New_York", Date.UTC(2026, 2, 8, 7)],
    ["America/New_York", Date.UTC(2026, 10, 1, 6)],
    ["Australia/Lord_Howe", Date.UTC(2026, 3, 4, 15)],
    ["Australia/Lord_Howe", Date.UTC(2026, 9, 3, 15, 30)],
    ["Africa/Cairo", Date.UTC(2026, 3, 23, 22)],
    ["Asia/Beirut", Date.UTC(2025, 2, 29, 22)],
    // The day on which Samoa crossed the date line does not exist in local time.
    ["Pacific/Apia", Date.UTC(2011, 11, 30, 10)],
  ];
  let active = 0;
  const numRuns = 150;
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat(59), { minLength: 1, maxLength: 3 }),
      fc.uniqueArray(fc.nat(23), { minLength: 1, maxLength: 24 }),
      fc.uniqueArray(fc.nat(6), { minLength: 1, maxLength: 7 }),
      fc.oneof(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 3000 })),
      fc.constantFrom(...changes),
      fc.integer({ min: -DAY_MS, max: DAY_MS }),
      (minutes, hours, weekdays, durationMinutes, [timeZone, at], distance) => {
        const cron = `${minutes.join(",")} ${hours.join(",")} * * ${weekdays.join(",")}`;
        const fields = [minutes, hours, weekdays].map((each) => new Set(each));
        const expected = isActiveByTrying(fields, durationMinutes * MINUTE_MS, timeZone, at + distance);
        if (expected) active++;
        const found = span(cron, `${durationMinutes}m`, timeZone).isActiveAt(at + distance);
        assert.equal(
          found,
          expected,
          `${cron} ${durationMinutes}m ${timeZone} ${new Date(at + distance).toISOString()}`,
        );
      },
    ),
    { numRuns },
  );
  assert.ok(active > numRuns / 10 && active < (numRuns * 9) / 10, String(active));
});

test("costs as many looks at the calendar as its duration has days, however often it fires", () => {
  for (const [cron, duration, most] of [
    ["* * * * *", "7d", 11],
    ["* * * * *", "1m", 5],
    ["0 9 * * 1-5", "8h", 5],
  ] as const) {
    assert.ok(span(cron, duration, "Europe/London").days <= most);
  }
});
