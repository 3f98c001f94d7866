import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { joinedArguments } from "../support/test-arguments.ts";

describe("the arguments of npm test", () => {
  it("have an option and its value in one, with a space or without", () => {
    const given = ["--test-name-pattern", "is refused", "--test-only", "a.test.ts", "--test-timeout=5", "b.test.ts"];
    const joined = ["--test-name-pattern=is refused", "--test-only", "a.test.ts", "--test-timeout=5", "b.test.ts"];
    assert.deepEqual(joinedArguments(given), joined);
    assert.deepEqual(joinedArguments(["a.test.ts", "--test-name-pattern"]), ["a.test.ts", "--test-name-pattern"]);
  });
});
