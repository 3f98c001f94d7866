import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { type CronSpan, parseCronSpan } from "./cron.ts";

interface Vector {
  span: [string, string, string];
  /** [instant, whether a window is open then] */
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
      // Both with what an earlier question left behind and without.
      assert.equal(span(...texts).isActiveAt(Date.parse(instant)), active, `${texts.join(" ")} at ${instant}`);
    }
    const kept = invalid === undefined ? span(...texts) : undefined;
    for (const [instant, active] of instants) assert.equal(kept?.isActiveAt(Date.parse(instant)), active, instant);
    for (const [instant, active] of instants.toReversed()) {
      assert.equal(kept?.isActiveAt(Date.parse(instant)), active, instant);
    }
  }
});

/** Walks back minute by minute and asks the zone for its wall clock: slow, and right where no clock is moved. */
function isActiveByWalking(cron: [Set<number>, Set<number>], durationMs: number, timeZone: string, nowMs: number) {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const start = Math.floor(nowMs / 60_000) * 60_000;
  for (let minute = start; minute > nowMs - durationMs; minute -= 60_000) {
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
        const expected = isActiveByWalking(sets, durationMinutes * 60_000, timeZone, nowMs);
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
        for (const instant of instants.flatMap((at) => [at, at + stepMinutes * 60_000])) {
          assert.equal(kept.isActiveAt(instant), span(cron, duration, timeZone).isActiveAt(instant));
        }
      },
    ),
    { numRuns: 60 },
  );
});
