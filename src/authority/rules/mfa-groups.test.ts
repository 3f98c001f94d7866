import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { canMeetAll } from "./mfa-groups.ts";

const yes = true;
const no = false;

test("each group takes a credential of its own", () => {
  assert.equal(canMeetAll([]), true);
  assert.equal(canMeetAll([[]]), false);
  assert.equal(canMeetAll([[yes]]), true);
  assert.equal(canMeetAll([[yes], [yes]]), false);
  assert.equal(
    canMeetAll([
      [yes, yes],
      [yes, no],
    ]),
    true,
    "the first group makes room for the second",
  );
  assert.equal(
    canMeetAll([
      [yes, yes, no],
      [yes, no, yes],
      [yes, no, no],
    ]),
    true,
    "and is made room for in turn",
  );
  assert.equal(
    canMeetAll([
      [yes, yes, no],
      [yes, yes, no],
      [yes, yes, no],
    ]),
    false,
  );
});

/** Tries every way to give credentials to groups. */
function canMeetNaively([group, ...others]: boolean[][], taken: ReadonlySet<number> = new Set()): boolean {
  if (group === undefined) return true;
  return group.some((fits, credential) => {
    if (!fits || taken.has(credential)) return false;
    return canMeetNaively(others, new Set([...taken, credential]));
  });
}

test("agrees with trying every way", () => {
  const tally = { true: 0, false: 0 };
  const row = fc.array(
    fc.nat(2).map((choice) => choice === 0),
    { minLength: 6, maxLength: 6 },
  );
  fc.assert(
    fc.property(fc.array(row, { minLength: 1, maxLength: 6 }), fc.integer({ min: 1, max: 6 }), (rows, credentials) => {
      const fitting = rows.map((each) => each.slice(0, credentials));
      const expected = canMeetNaively(fitting);
      assert.equal(canMeetAll(fitting), expected, JSON.stringify(fitting));
      tally[`${expected}`]++;
    }),
    { numRuns: 2000 },
  );
  assert.ok(tally.true > 50 && tally.false > 50, JSON.stringify(tally));
});

test("ten groups and many credentials take few steps", () => {
  let looks = 0;
  const none: boolean[] = new Proxy(new Array<boolean>(30).fill(true), {
    get(target, name, receiver) {
      looks++;
      return Reflect.get(target, name, receiver);
    },
  });
  assert.equal(canMeetAll(Array.from({ length: 10 }, () => none)), true);
  assert.ok(looks < 10_000, String(looks));
});
