import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { lockOut, type Rule } from "../../console/src/policy/lock-out.ts";

const rule = (effect: Rule["effect"], more: Partial<Rule> = {}): Rule => ({
  effect,
  condition: "",
  consensus: "",
  time: "",
  ...more,
});
const allowance = rule("EFFECT_ALLOW", { condition: "activity.resource == 'WALLET'" });
const denial = rule("EFFECT_DENY", { condition: "activity.resource == 'WALLET'" });

describe("a change that leaves nobody but the root quorum", () => {
  it("is a denial of everything, however it says that it holds always", () => {
    for (const always of ["", "true", " true "])
      assert.match(
        lockOut([allowance], [allowance, rule("EFFECT_DENY", { condition: always })]) ?? "",
        /denies everything/,
      );
    const narrower = [{ condition: "false" }, { consensus: "approvers.count() >= 2" }, { time: "time.hour > 8" }];
    for (const more of narrower) assert.equal(lockOut([allowance], [allowance, rule("EFFECT_DENY", more)]), undefined);
  });

  it("is the loss of the last allowance", () => {
    assert.match(lockOut([allowance, denial], [denial]) ?? "", /No remaining policy/);
    assert.match(lockOut([allowance], [denial]) ?? "", /No remaining policy/);
    assert.equal(lockOut([allowance, allowance], [allowance]), undefined);
  });

  it("is none that finds it so", () => {
    const all = rule("EFFECT_DENY");
    assert.equal(lockOut([all, allowance], [all, allowance, allowance]), undefined);
    assert.equal(lockOut([denial], [denial, denial]), undefined);
    assert.equal(lockOut([], [denial]), undefined);
  });
});
