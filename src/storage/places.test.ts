import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KeysteadError } from "../kernel/errors.ts";
import { MAX_DATABASE_WAITING } from "../kernel/limits.ts";
import { Places, transactionsOf } from "./places.ts";

const isBusy = (error: unknown) =>
  error instanceof KeysteadError && error.code === "DATABASE_BUSY" && error.httpStatus === 503;

/** Takes a slot and records when it gets it. */
function taking(places: Places, use: "transaction" | "read"): { has: boolean; taken: Promise<void> } {
  const one = { has: false, taken: Promise.resolve() };
  one.taken = places.take(use).then(() => {
    one.has = true;
  });
  return one;
}

const settled = () => new Promise(setImmediate);

describe("places on connections", () => {
  it("leave room for reads, however many transactions there are", async () => {
    assert.deepEqual([1, 2, 3, 7, 14, 100].map(transactionsOf), [1, 1, 1, 3, 6, 42]);
    const places = new Places(2, 60_000);
    const first = taking(places, "transaction");
    const second = taking(places, "transaction");
    const read = taking(places, "read");
    await settled();
    assert.deepEqual([first.has, second.has, read.has, places.waiting], [true, false, true, 1]);
    places.giveBack("read");
    await settled();
    assert.equal(second.has, false);
    places.giveBack("transaction");
    await second.taken;
    assert.equal(places.waiting, 0);
  });

  it("go to transactions first, and to each kind in the order of asking", async () => {
    const places = new Places(2, 60_000);
    await Promise.all([places.take("read"), places.take("read")]);
    const waiting = [taking(places, "read"), taking(places, "read"), taking(places, "transaction")] as const;
    const has = () => waiting.map((one) => one.has);
    for (const expected of [
      [false, false, true],
      [true, false, true],
    ]) {
      places.giveBack("read");
      await settled();
      assert.deepEqual(has(), expected);
    }
    places.giveBack("transaction");
    await settled();
    assert.deepEqual(has(), [true, true, true]);
  });

  it("are waited for so long, and by so many: the rest is told", async (test) => {
    test.mock.timers.enable({ apis: ["setTimeout"] });
    const places = new Places(1, 5_000);
    await places.take("read");
    const waiting = Array.from({ length: MAX_DATABASE_WAITING }, () => places.take("read"));
    await assert.rejects(places.take("read"), isBusy);
    assert.equal(places.waiting, MAX_DATABASE_WAITING);
    places.giveBack("read");
    await waiting[0];
    test.mock.timers.tick(5_000);
    for (const outcome of (await Promise.allSettled(waiting)).slice(1)) {
      assert.ok(outcome.status === "rejected" && isBusy(outcome.reason));
    }
    assert.equal(places.waiting, 0);
    // Those that gave up are not called.
    places.giveBack("read");
    await places.take("read");
  });

  it("are fewer for a while where PostgreSQL gives no more", async (test) => {
    test.mock.timers.enable({ apis: ["setTimeout"] });
    const places = new Places(4, 60_000);
    await places.take("read");
    await places.take("read");
    // At least two slots always remain.
    places.shrinkTo(0);
    const next = [taking(places, "read"), taking(places, "read")];
    await settled();
    assert.deepEqual(
      next.map(({ has }) => has),
      [false, false],
    );
    places.giveBack("read");
    await settled();
    assert.deepEqual(
      next.map(({ has }) => has),
      [true, false],
    );
    test.mock.timers.tick(5_000);
    await settled();
    assert.deepEqual(
      next.map(({ has }) => has),
      [true, true],
    );
  });
});
