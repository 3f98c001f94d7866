import assert from "node:assert/strict";
import { test } from "node:test";
import type { Curve } from "../protocol.ts";
import { checkWithPoint, generateSecret, type OpenKey, publicKeyOf } from "./keys.ts";

const openKey = (curve: Curve, origin: string): OpenKey => ({ curve, secret: generateSecret(curve), origin });

function pointSeenBy(key: OpenKey, verdict: boolean): Uint8Array {
  let seen: Uint8Array | undefined;
  const passes = checkWithPoint(key, (point) => {
    seen = point;
    return verdict;
  });
  assert.equal(passes, verdict);
  assert.ok(seen);
  return seen;
}

for (const curve of ["CURVE_SECP256K1", "CURVE_P256"] as const) {
  test(`${curve}: the point is the key's own, and made once`, () => {
    const key = openKey(curve, `${curve} one`);
    const point = pointSeenBy(key, true);
    assert.equal(Buffer.from(point.subarray(1, 33)).toString("hex"), publicKeyOf(curve, key.secret).slice(2));
    assert.equal(pointSeenBy(key, true), point);
    assert.notDeepEqual(pointSeenBy(openKey(curve, `${curve} two`), true), point);
  });

  test(`${curve}: a point that a signature did not fit is made anew`, () => {
    const key = openKey(curve, `${curve} three`);
    const point = pointSeenBy(key, true);
    assert.equal(pointSeenBy(key, false), point);
    const anew = pointSeenBy(key, true);
    assert.notEqual(anew, point);
    assert.deepEqual(anew, point);
  });
}
