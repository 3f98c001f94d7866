import assert from "node:assert/strict";
import { test } from "node:test";
import { DAY_MS, durationText, HOUR_MS, MINUTE_MS } from "./durations.ts";

test("durations in texts are whole hours or minutes", () => {
  assert.deepEqual([MINUTE_MS, 5 * MINUTE_MS, 90 * MINUTE_MS, HOUR_MS, DAY_MS].map(durationText), [
    "1 minute",
    "5 minutes",
    "90 minutes",
    "1 hour",
    "24 hours",
  ]);
});
