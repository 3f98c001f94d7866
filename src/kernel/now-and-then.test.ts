import assert from "node:assert/strict";
import { it } from "node:test";
import { NowAndThen } from "./now-and-then.ts";

it("what comes again and again is told at once, then once a minute with how many there were, each kind for itself", () => {
  let now = 0;
  const seldom = new NowAndThen(() => now);
  const told: string[] = [];
  const note = (kind: string) => seldom.note(kind, ({ untold = 0 }) => told.push(`${kind} ${untold}`));
  for (; now < 60_000; now += 10_000) note("full");
  note("away");
  note("full");
  now += 59_999;
  note("full");
  seldom.isOver("full");
  note("full");
  assert.deepEqual(told, ["full 0", "away 0", "full 5", "full 0"]);
});
