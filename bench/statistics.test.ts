import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { median, percentile } from "./statistics.ts";

test("the median is in the middle", () => {
  assert.equal(median([3, 1, 2]), 2);
  assert.equal(median([4, 1, 3, 2]), 2.5);
  assert.equal(median([10, 9]), 9.5);
  assert.ok(Number.isNaN(median([])));
});

test("percentiles are nearest ranks", () => {
  const hundred = Float64Array.from({ length: 100 }, (_, i) => i + 1);
  assert.equal(percentile(hundred, 0.5), 50);
  assert.equal(percentile(hundred, 0.99), 99);
  assert.equal(percentile(hundred, 1), 100);
  assert.equal(percentile(Float64Array.of(7), 0.01), 7);
  assert.ok(Number.isNaN(percentile(new Float64Array(), 0.5)));
});

test("a percentile is one of the values, and enough of them are at most that", () => {
  const values = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 1 });
  fc.assert(
    fc.property(values, fc.integer({ min: 1, max: 100 }), (unsorted, percent) => {
      const sorted = Float64Array.from(unsorted).sort();
      const found = percentile(sorted, percent / 100);
      assert.ok(sorted.includes(found));
      assert.ok(sorted.filter((value) => value <= found).length * 100 >= percent * sorted.length);
    }),
  );
});
