import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import type { Organization } from "./organization.ts";
import { cachedKey, type SecretCache, secretCache } from "./secret-cache.ts";

const secretOf = (byte: number) => Uint8Array.from({ length: 4 }, () => byte);

/** Counts how often secrets are made. */
function counted() {
  const made: number[] = [];
  const maker = (byte: number) => () => {
    made.push(byte);
    return secretOf(byte);
  };
  return { made, maker };
}

describe("secrets that are kept open", () => {
  beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
  afterEach(() => mock.timers.reset());

  it("are made once", () => {
    const { made, maker } = counted();
    const cache = secretCache({ entries: 2, lifetimeMs: 1000 });
    for (let count = 0; count < 3; count++) assert.deepEqual(cache.obtain("one", maker(1)), secretOf(1));
    assert.deepEqual(made, [1]);
  });

  it("are private keys too, each opened once, or each time where nothing is kept", () => {
    const key = { keyId: "key", curve: "CURVE_P256", sealedKey: "sealed" } as const;
    const opensOf = (cache: SecretCache, keys: (typeof key)[]) => {
      const open = mock.fn(() => Buffer.from(secretOf(1)));
      const organization = { organizationId: "o", organizationKey: "ok", open } as unknown as Organization;
      for (const each of keys) assert.deepEqual(Uint8Array.from(cachedKey(cache, organization, each)), secretOf(1));
      return open.mock.callCount();
    };
    assert.equal(opensOf(secretCache({ entries: 2, lifetimeMs: 1000 }), [key, key, key]), 1);
    assert.equal(opensOf(secretCache({ entries: 0, lifetimeMs: 1000 }), [key, key]), 2);
    assert.equal(opensOf(secretCache({ entries: 2, lifetimeMs: 0 }), [key, key]), 2);
  });

  it("are given out as copies: wiping one leaves the others", () => {
    const { made, maker } = counted();
    const cache = secretCache({ entries: 2, lifetimeMs: 1000 });
    cache.obtain("one", maker(1)).fill(0);
    cache.obtain("one", maker(1)).fill(0);
    assert.deepEqual(cache.obtain("one", maker(1)), secretOf(1));
    assert.deepEqual(made, [1]);
  });

  it("are made again when their time is over, which use does not prolong", () => {
    const { made, maker } = counted();
    const cache = secretCache({ entries: 2, lifetimeMs: 1000 });
    cache.obtain("one", maker(1));
    mock.timers.tick(999);
    cache.obtain("one", maker(1));
    assert.deepEqual(made, [1]);
    mock.timers.tick(1);
    cache.obtain("one", maker(1));
    assert.deepEqual(made, [1, 1]);
  });

  it("give way to others, the one unused for longest first", () => {
    const { made, maker } = counted();
    const cache = secretCache({ entries: 2, lifetimeMs: 1000 });
    cache.obtain("one", maker(1));
    cache.obtain("two", maker(2));
    cache.obtain("one", maker(1));
    cache.obtain("three", maker(3));
    cache.obtain("one", maker(1));
    assert.deepEqual(made, [1, 2, 3]);
    cache.obtain("two", maker(2));
    assert.deepEqual(made, [1, 2, 3, 2]);
  });

  it("that came after an expired one of the same name live their own time", () => {
    const { made, maker } = counted();
    const cache = secretCache({ entries: 1, lifetimeMs: 1000 });
    cache.obtain("one", maker(1));
    mock.timers.tick(500);
    cache.obtain("two", maker(2));
    cache.obtain("one", maker(1));
    mock.timers.tick(600);
    cache.obtain("one", maker(1));
    assert.deepEqual(made, [1, 2, 1]);
  });

  it("are forgotten all at once", () => {
    const { made, maker } = counted();
    const cache = secretCache({ entries: 2, lifetimeMs: 1000 });
    cache.obtain("one", maker(1));
    cache.clear();
    cache.obtain("one", maker(1));
    assert.deepEqual(made, [1, 1]);
  });

  it("are not kept when the making fails", () => {
    const { made, maker } = counted();
    const cache = secretCache({ entries: 2, lifetimeMs: 1000 });
    assert.throws(() =>
      cache.obtain("one", () => {
        throw new Error("no secret");
      }),
    );
    cache.obtain("one", maker(1));
    assert.deepEqual(made, [1]);
  });

  for (const off of [
    { entries: 0, lifetimeMs: 1000 },
    { entries: 10, lifetimeMs: 0 },
  ]) {
    it(`are not kept with ${JSON.stringify(off)}`, () => {
      const { made, maker } = counted();
      const cache = secretCache(off);
      cache.obtain("one", maker(1));
      cache.obtain("one", maker(1));
      cache.clear();
      assert.deepEqual(made, [1, 1]);
    });
  }

  it("are overwritten when they leave, for whichever reason", () => {
    const inside: Uint8Array[] = [];
    const copy = mock.method(Uint8Array, "from", (...parameters: Parameters<typeof Uint8Array.from>) => {
      const made = new Uint8Array([...(parameters[0] as Iterable<number>)]);
      inside.push(made);
      return made;
    });
    try {
      const cache = secretCache({ entries: 1, lifetimeMs: 1000 });
      cache.obtain("one", () => new Uint8Array([1]));
      cache.obtain("two", () => new Uint8Array([2]));
      mock.timers.tick(1000);
      cache.obtain("three", () => new Uint8Array([3]));
      assert.deepEqual(
        inside.map(([byte]) => byte),
        [0, 0, 3],
      );
      cache.clear();
      assert.deepEqual(
        inside.map(([byte]) => byte),
        [0, 0, 0],
      );
    } finally {
      copy.mock.restore();
    }
  });
});
