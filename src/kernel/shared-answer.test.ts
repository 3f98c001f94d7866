import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sharedAnswer } from "./shared-answer.ts";

describe("an answer that is shared", () => {
  it("is asked for once while it is under way, and afresh afterwards", async () => {
    let asked = 0;
    const answer = sharedAnswer(async () => ++asked);
    assert.deepEqual(await Promise.all([answer(), answer()]), [1, 1]);
    assert.deepEqual(await Promise.all([answer(), answer()]), [2, 2]);
  });

  it("is good for a while where that is said", async () => {
    let now = 0;
    let asked = 0;
    const answer = sharedAnswer(
      async () => ++asked,
      1000,
      () => now,
    );
    assert.deepEqual(await Promise.all([answer(), answer()]), [1, 1]);
    now = 999;
    assert.equal(await answer(), 1);
    now = 1000;
    assert.equal(await answer(), 2);
  });

  it("is asked for again where it failed", async () => {
    const outcomes = [() => Promise.reject(new Error("away")), async () => "here"];
    const answer = sharedAnswer(() => (outcomes.shift() as () => Promise<string>)());
    await assert.rejects(answer(), /away/);
    assert.equal(await answer(), "here");
  });
});
