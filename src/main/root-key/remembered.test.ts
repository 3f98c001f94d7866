import assert from "node:assert/strict";
import { test } from "node:test";
import { NEXT_ROOT_KEY_ID, PREVIOUS_ROOT_KEY_ID, ROOT_KEY_ID } from "../../storage/installation-rows.ts";
import { StartProblem } from "../start-problem.ts";
import { refuseOtherFile, rootKeysIn } from "./remembered.ts";

test("a database remembers the root key in use, and during a rotation the others", () => {
  const rows = (...[current, previous, next]: (string | undefined)[]) =>
    new Map(
      [
        [ROOT_KEY_ID, current],
        [PREVIOUS_ROOT_KEY_ID, previous],
        [NEXT_ROOT_KEY_ID, next],
      ].filter((row): row is [string, string] => row[1] !== undefined),
    );
  assert.equal(rootKeysIn(rows()), undefined);
  assert.equal(rootKeysIn(rows(undefined, "old", "new")), undefined);
  assert.deepEqual(rootKeysIn(rows("now")), { current: "now" });
  assert.deepEqual(rootKeysIn(rows("now", "old")), { current: "now", previous: "old" });
  assert.deepEqual(rootKeysIn(rows("now", undefined, "new")), { current: "now", next: "new" });
});

test("a file is refused that lacks a root key with which something is sealed, by the ids of those that it lacks", () => {
  const problemOf = (ids: string[], remembered: Parameters<typeof refuseOtherFile>[2]): string => {
    try {
      refuseOtherFile("root.key", ids, remembered);
      return "";
    } catch (error) {
      assert.ok(error instanceof StartProblem);
      return error.message;
    }
  };
  const rotating = { current: "now", previous: "old" };
  assert.equal(problemOf(["now"], { current: "now" }), "");
  assert.equal(problemOf(["old", "now", "other"], rotating), "");
  // Nothing is sealed yet with the next one.
  assert.equal(problemOf(["now"], { current: "now", next: "new" }), "");
  assert.match(problemOf(["other"], { current: "now" }), /root\.key does not contain now, with which/);
  assert.match(problemOf(["now"], rotating), /does not contain old, with which/);
  assert.match(problemOf(["old"], rotating), /does not contain now, with which/);
  assert.match(problemOf([], rotating), /does not contain now or old, with which .* nothing was changed/);
});
