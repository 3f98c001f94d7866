import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { costOf, microUsd, shownUsd } from "./usd.ts";

describe("amounts of US dollars", () => {
  it("are read and shown to the millionth", () => {
    for (const [usd, amount] of [
      ["0", 0n],
      ["12.5", 12_500_000n],
      ["0.000001", 1n],
      ["999999999.999999", 999_999_999_999_999n],
    ] as const) {
      assert.equal(microUsd(usd), amount);
    }
    for (const [amount, usd] of [
      [0n, "0.00"],
      [21n, "0.000021"],
      [100_000n, "0.10"],
      [12_345_600n, "12.3456"],
      [7_000_000n, "7.00"],
    ] as const) {
      assert.equal(shownUsd(amount), usd);
    }
  });

  it("are what wei are worth at a price, rounded up", () => {
    assert.equal(costOf(10n ** 18n, "2000.00"), 2_000_000_000n);
    assert.equal(costOf(21_000n * 10n ** 9n, "2000"), 42_000n);
    assert.equal(costOf(1n, "0.5"), 1n);
    assert.equal(costOf(0n, "2000.00"), 0n);
    assert.equal(costOf(10n ** 18n, "0.0000015"), 2n);
  });
});
