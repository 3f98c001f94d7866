import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { nanosecondsFrom, parseTimestamp } from "./timestamp.ts";

test("reads every spelling of offset zero", () => {
  for (const zone of ["Z", "z", "+00:00", "-00:00"]) {
    assert.equal(parseTimestamp(`2026-03-01T00:00:00${zone}`), nanosecondsFrom(Date.UTC(2026, 2, 1)));
  }
  assert.equal(parseTimestamp("1970-01-01t00:00:00.000000001Z"), 1n);
  assert.equal(parseTimestamp("1969-12-31T23:59:59.5Z"), -500_000_000n);
  assert.equal(parseTimestamp("2024-02-29T23:59:59.999Z"), nanosecondsFrom(Date.UTC(2024, 1, 29, 23, 59, 59, 999)));
  assert.equal(parseTimestamp("0001-01-01T00:00:00Z"), nanosecondsFrom(-62135596800000));
});

test("refuses what is no such instant", () => {
  const cases = [
    ["", "2026-03-01", "2026-03-01T00:00Z", "2026-03-01 00:00:00Z", "2026-03-01T00:00:00", "2026-3-1T00:00:00Z"],
    ["2026-03-01T00:00:00+01:00", "2026-03-01T00:00:00.Z", "2026-03-01T00:00:00.1234567890Z", " 2026-03-01T00:00:00Z"],
    ["2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-04-31T00:00:00Z"],
    ["2026-03-01T24:00:00Z", "2026-03-01T00:60:00Z", "2016-12-31T23:59:60Z", "+02026-03-01T00:00:00Z"],
  ].flat();
  for (const text of cases) assert.equal(typeof parseTimestamp(text), "object", text);
});

test("agrees with Date on what Date writes", () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date("0001-01-01T00:00:00Z"), max: new Date("9999-12-31T23:59:59Z"), noInvalidDate: true }),
      (date) => {
        assert.equal(parseTimestamp(date.toISOString()), nanosecondsFrom(date.getTime()));
      },
    ),
  );
});
