import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { combineShares, splitSecret } from "./secret-sharing.ts";

interface Vectors {
  valid: { secret: string; threshold: number; of: number; shares: string[] }[];
  invalid: { why: string; shares: string[] }[];
}

const vectors = JSON.parse(
  readFileSync(new URL("../../test/vectors/quorum-keys/shares.json", import.meta.url), "utf8"),
) as Vectors;
const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");

describe("sharing of secrets", () => {
  it("makes the secret of shares that another implementation made", () => {
    assert.ok(vectors.valid.length >= 10);
    for (const { secret, threshold, of, shares } of vectors.valid) {
      assert.equal(combineShares(shares.map(bytes))?.toString("hex"), secret, `${threshold} of ${of}`);
    }
  });

  it("refuses what are no shares of one secret", () => {
    assert.ok(vectors.invalid.length >= 5);
    for (const { why, shares } of vectors.invalid) assert.equal(combineShares(shares.map(bytes)), undefined, why);
  });

  it("takes any of its shares, as many as it takes and no fewer", () => {
    for (const [threshold, count] of [
      [2, 2],
      [2, 5],
      [3, 5],
      [26, 50],
      [2, 255],
    ] as const) {
      const secret = randomBytes(32);
      const shares = splitSecret(secret, { threshold, shares: count });
      assert.deepEqual(
        shares.map(([index]) => index),
        Array.from({ length: count }, (_, index) => index + 1),
      );
      assert.deepEqual(combineShares(shares.slice(0, threshold)), secret);
      assert.deepEqual(combineShares(shares.slice(-threshold).reverse()), secret);
      assert.deepEqual(combineShares(shares), secret);
      assert.notDeepEqual(combineShares(shares.slice(1, threshold)), secret);
    }
  });

  it("hides each byte by itself: as many as are too few tell nothing of any", () => {
    const TIMES = 400;
    const LENGTH = 8;
    // Of bytes that are alike, so that what hides them would show if it were alike too.
    const secret = Buffer.alloc(LENGTH, 0x5a);
    for (const threshold of [2, 3, 4]) {
      const fewer = threshold - 1;
      const seen = Array.from({ length: fewer * LENGTH }, () => new Set<number>());
      let [told, alike] = [0, 0];
      for (let time = 0; time < TIMES; time++) {
        const shares = splitSecret(secret, { threshold, shares: threshold }).slice(0, fewer);
        const combined = combineShares(shares) as Buffer;
        for (let at = 0; at < LENGTH; at++) {
          if (combined[at] === secret[at]) told++;
          for (const [index, share] of shares.entries()) {
            seen[index * LENGTH + at]?.add(share[1 + at] as number);
            if (share[1 + at] === share[1 + ((at + 1) % LENGTH)]) alike++;
          }
        }
      }
      // By chance it is one in 256, and each has some 200 different values.
      assert.ok(told < (TIMES * LENGTH) / 32, `${told} bytes told`);
      assert.ok(alike < (TIMES * LENGTH * fewer) / 32, `${alike} bytes alike`);
      for (const values of seen) assert.ok(values.size > 150, `${values.size} values`);
    }
  });

  it("refuses a sharing that would give the secret to one, or to nobody", () => {
    for (const [threshold, shares] of [
      [1, 3],
      [0, 3],
      [4, 3],
      [2, 256],
    ] as const) {
      assert.throws(() => splitSecret(randomBytes(32), { threshold, shares }));
    }
  });
});
