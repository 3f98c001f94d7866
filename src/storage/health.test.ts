import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { FAILED_WRITE_MS, HEALTH_DEADLINE_MS, HEALTH_LIFETIME_MS } from "../kernel/limits.ts";
import { DatabaseFailure } from "./failure.ts";
import { HealthCheck } from "./health.ts";

const failure = (code: string) => Object.assign(new Error("of a driver, with a secret"), { code });

/** A fake database, with a clock that stands still. */
function subject(test: TestContext) {
  test.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  test.mock.method(performance, "now", () => now);
  const asked = { read: 0, write: 0 };
  const answers: { read: () => Promise<unknown>; write: () => Promise<unknown> } = {
    read: async () => {},
    write: async () => {},
  };
  const check = new HealthCheck({
    read: () => {
      asked.read++;
      return answers.read();
    },
    write: () => {
      asked.write++;
      return answers.write();
    },
  });
  const pass = (ms: number) => {
    now += ms;
    test.mock.timers.tick(ms);
  };
  return { check, asked, answers, pass };
}

describe("the health of a database", () => {
  it("takes a read and a write", async (test) => {
    const { check, asked } = subject(test);
    assert.deepEqual(await check.check(), { state: "ready" });
    assert.deepEqual(asked, { read: 1, write: 1 });
  });

  it("is looked at once for all who ask, together or within the lifetime of the answer", async (test) => {
    const { check, asked, pass } = subject(test);
    for (let second = 0; second < 4; second++) {
      await Promise.all(Array.from({ length: 500 }, () => check.check()));
      pass(HEALTH_LIFETIME_MS / 2);
    }
    assert.deepEqual(asked, { read: 2, write: 2 }, "2,000 questions, two looks");
  });

  it("tells reads that work from a database that is away", async (test) => {
    const { check, answers, pass } = subject(test);
    answers.write = () => Promise.reject(failure("25006"));
    assert.deepEqual(await check.check(), {
      state: "unwritable",
      reason: "accepts no writes: it is a standby, or set to read-only",
    });
    pass(HEALTH_LIFETIME_MS);
    answers.read = () => Promise.reject(failure("ECONNREFUSED"));
    assert.deepEqual(await check.check(), {
      state: "unavailable",
      reason: "refuses connections: nothing listens at its address",
    });
  });

  it("says nothing of what a driver said", async (test) => {
    const { check, answers } = subject(test);
    answers.read = () => Promise.reject(failure("99999"));
    assert.doesNotMatch(JSON.stringify(await check.check()), /secret|driver/);
  });

  it("ends in time when the database hangs, asks it nothing more meanwhile, and is well when that answers", async (test) => {
    const { check, asked, answers, pass } = subject(test);
    const hanging = Promise.withResolvers<void>();
    answers.read = () => hanging.promise;
    answers.write = () => hanging.promise;
    for (let time = 0; time < 5; time++) {
      const looking = check.check();
      pass(HEALTH_DEADLINE_MS);
      assert.deepEqual(await looking, { state: "unavailable", reason: "did not answer in time" });
      pass(HEALTH_LIFETIME_MS);
    }
    assert.deepEqual(asked, { read: 1, write: 1 });
    hanging.resolve();
    await hanging.promise;
    await new Promise(setImmediate);
    assert.deepEqual(await check.check(), { state: "ready" });
  });

  it("knows commits that hang from a database that hangs", async (test) => {
    const { check, answers, pass } = subject(test);
    answers.write = () => new Promise(() => {});
    const looking = check.check();
    await new Promise(setImmediate);
    pass(HEALTH_DEADLINE_MS);
    assert.deepEqual(await looking, { state: "unwritable", reason: "did not confirm a write in time" });
  });

  it("counts the writes of others that failed, for a while", async (test) => {
    const { check, pass } = subject(test);
    check.noteFailedWrite(new DatabaseFailure("unavailable", failure("53100")));
    assert.deepEqual(await check.check(), { state: "unwritable", reason: "has no room left on its disk" });
    pass(FAILED_WRITE_MS + 1);
    assert.deepEqual(await check.check(), { state: "ready" });
  });
});
