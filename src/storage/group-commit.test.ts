import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { KeysteadError } from "../kernel/errors.ts";
import { COMMIT_DEADLINE_MS } from "../kernel/limits.ts";
import type { Transactor } from "./engine.ts";
import { DatabaseFailure } from "./failure.ts";
import { GroupCommit, HalfDone, type OpenTransaction, ScopeTaken } from "./group-commit.ts";

/** A fake database that records the calls and fails where the test wants. */
class Recorder {
  readonly calls: string[] = [];
  readonly savepoints: { isAtOnce: boolean; isLast: boolean }[] = [];
  /** The scopes of each transaction, in the order of beginning. */
  readonly scopes: (string | undefined)[] = [];
  /** Scopes that another process holds: a transaction waits only if such a scope is its only or first one. */
  readonly heldElsewhere = new Set<string>();
  failCommit: (() => unknown) | undefined;
  /** Called when a function is undone. */
  onUndo: (() => void) | undefined;
  /** If set, commits wait for it. */
  gate: Promise<void> | undefined;
  open = 0;
  mostOpen = 0;
  /** If set, the number of writes so far; transactions write by calling `use`. */
  writes: number | undefined;

  begin = async (scopes: readonly string[]): Promise<OpenTransaction> => {
    this.calls.push("begin");
    this.scopes.push(scopes.length > 1 ? scopes.join(" ") : scopes[0]);
    this.open++;
    this.mostOpen = Math.max(this.mostOpen, this.open);
    const note = (call: string) => async () => void this.calls.push(call);
    return {
      ...(this.writes === undefined ? {} : { written: () => this.writes as number }),
      isHeld: (scope) => scope === scopes[0] || !this.heldElsewhere.has(scope),
      savepoint: async (next) => {
        this.savepoints.push(next);
        this.calls.push("savepoint");
      },
      release: note("release"),
      rollbackToSavepoint: async () => {
        this.onUndo?.();
        this.calls.push("rollback to savepoint");
      },
      commit: async () => {
        await this.gate;
        const failure = this.failCommit?.();
        if (failure !== undefined) throw failure;
        this.calls.push("commit");
        this.open--;
      },
      rollback: async () => {
        this.calls.push("rollback");
        this.open--;
      },
      transactor: () => {
        let ended = false;
        const use = () => {
          if (ended) throw new Error("this transaction has ended");
          if (this.writes !== undefined) this.writes++;
        };
        const afterCommit: (() => void)[] = [];
        return {
          tx: { use, afterCommit: (follow: () => void) => afterCommit.push(follow) } as unknown as Transactor,
          afterCommit,
          end: () => {
            ended = true;
          },
        };
      },
    };
  };
}

const retry = () => new DatabaseFailure("retry", "serialization");
const unavailable = () => new DatabaseFailure("unavailable", "gone");
/** The clock that the tests control. */
const now = () => Date.now();
const together = ({ begin }: Recorder) => new GroupCommit({ concurrency: 1, scopes: "together", begin, now });
const exclusive = ({ begin }: Recorder, concurrency = 4) =>
  new GroupCommit({ concurrency, scopes: "exclusive", begin });

/** A promise and the function that settles it. */
function latch(): { opened: Promise<void>; open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { opened: promise, open: resolve };
}

describe("group commit", () => {
  it("lets nothing that still runs of a function write once that is undone", async () => {
    const database = new Recorder();
    let stillWrites: unknown;
    const failing = exclusive(database).run("a", async (tx) => {
      database.onUndo = () => {
        try {
          (tx as unknown as { use: () => void }).use();
          stillWrites = true;
        } catch {
          stillWrites = false;
        }
      };
      throw new Error("failed");
    });
    await assert.rejects(failing, /failed/);
    assert.equal(stillWrites, false);
  });

  it("takes those of each scope in turn, each scope's in their order", async () => {
    const database = new Recorder();
    const commits = together(database);
    const gate = latch();
    database.gate = gate.opened;
    const order: string[] = [];
    const run = (scope: string | undefined, index: number) =>
      commits.run(scope, async () => void order.push(`${scope} ${index}`));
    const running = [run("first", 0)];
    while (database.open === 0) await new Promise((resolve) => setImmediate(resolve));
    for (let index = 0; index < 200; index++) running.push(run("busy", index));
    for (let index = 0; index < 3; index++) running.push(run("bystander", index), run(undefined, index));
    gate.open();
    await Promise.all(running);
    assert.equal(database.scopes.length, 5, "transactions");
    const [, ...rest] = order;
    assert.deepEqual(rest.slice(0, 5), ["busy 0", "bystander 0", "undefined 0", "busy 1", "bystander 1"]);
    assert.ok(rest.indexOf("bystander 2") < 9);
    const busy = rest.filter((name) => name.startsWith("busy"));
    assert.deepEqual(
      busy,
      Array.from({ length: 200 }, (_, index) => `busy ${index}`),
    );
  });

  it("runs what waits at the same time in one transaction, each in its savepoint, and tells after the commit", async () => {
    const database = new Recorder();
    const commits = together(database);
    const values = await Promise.all(
      [1, 2, 3].map((value) =>
        commits.run(`scope ${value}`, async () => {
          database.calls.push(`work ${value}`);
          return value;
        }),
      ),
    );
    assert.deepEqual(values, [1, 2, 3]);
    const works = [1, 2, 3].flatMap((value) => ["savepoint", `work ${value}`, "release"]);
    assert.deepEqual(database.calls, ["begin", ...works, "commit"]);
  });

  it("begins nothing more once its time is over, and goes on in another transaction", async () => {
    const database = new Recorder();
    const commits = new GroupCommit({ concurrency: 1, scopes: "together", begin: database.begin, batchMs: 0 });
    const values = await Promise.all([1, 2, 3].map((value) => commits.run("scope", async () => value)));
    assert.deepEqual(values, [1, 2, 3]);
    assert.deepEqual(
      database.calls,
      [1, 2, 3].flatMap(() => ["begin", "savepoint", "release", "commit"]),
    );
  });

  it("does what is to follow a commit after it, before anybody is told, and not for what was undone", async () => {
    const database = new Recorder();
    const commits = together(database);
    const follows = (name: string, fails = false) =>
      commits
        .run(undefined, async (tx) => {
          tx.afterCommit(() => database.calls.push(`after ${name}`));
          if (fails) throw new Error("undone");
        })
        .then(
          () => database.calls.push(`told ${name}`),
          () => {},
        );
    await Promise.all([follows("one"), follows("two", true), follows("three")]);
    assert.deepEqual(database.calls.slice(-5), ["commit", "after one", "after three", "told one", "told three"]);
    let failures = 1;
    database.failCommit = () => (failures-- > 0 ? retry() : undefined);
    await follows("retried");
    assert.deepEqual(database.calls.slice(-3), ["commit", "after retried", "told retried"]);
    assert.equal(database.calls.filter((call) => call === "after retried").length, 1);
    database.failCommit = unavailable;
    await follows("lost");
    assert.ok(!database.calls.includes("after lost"));
  });

  it("tells nobody before the commit is there", async () => {
    const database = new Recorder();
    const gate = latch();
    database.gate = gate.opened;
    const commits = together(database);
    const ran = latch();
    let told = false;
    const done = commits
      .run(undefined, async () => ran.open())
      .then(() => {
        told = true;
      });
    await ran.opened;
    await new Promise(setImmediate);
    assert.equal(told, false);
    gate.open();
    await done;
    assert.equal(told, true);
  });

  it("rolls back one that throws, alone", async () => {
    const database = new Recorder();
    const commits = together(database);
    const error = new Error("of this one");
    const outcomes = await Promise.allSettled([
      commits.run(undefined, async () => "first"),
      commits.run(undefined, () => Promise.reject(error)),
      commits.run(undefined, async () => "third"),
    ]);
    assert.deepEqual(outcomes, [
      { status: "fulfilled", value: "first" },
      { status: "rejected", reason: error },
      { status: "fulfilled", value: "third" },
    ]);
    assert.deepEqual(
      database.calls.filter((call) => call !== "savepoint"),
      ["begin", "release", "rollback to savepoint", "release", "commit"],
    );
  });

  describe("where it is known whether a function has written", () => {
    const writing = async (tx: Transactor) => (tx as unknown as { use: () => void }).use();
    const failing = async (tx: Transactor) => {
      await writing(tx);
      throw new Error("after it wrote");
    };
    const knowing = () => Object.assign(new Recorder(), { writes: 0 });

    it("takes no savepoints, and rolls nothing back for one that fails before it wrote", async () => {
      const database = knowing();
      const commits = together(database);
      const outcomes = await Promise.allSettled([
        commits.run(undefined, writing),
        commits.run(undefined, () => Promise.reject(new Error("before it wrote"))),
        commits.run(undefined, writing),
      ]);
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ["fulfilled", "rejected", "fulfilled"],
      );
      assert.deepEqual(database.calls, ["begin", "commit"]);
    });

    it("runs all again, once and with savepoints, for one that fails after it wrote, and goes on with them a while", async () => {
      const database = knowing();
      const commits = together(database);
      let runs = 0;
      const followed: string[] = [];
      const other = commits.run(undefined, async (tx) => {
        runs++;
        tx.afterCommit(() => followed.push("other"));
        await writing(tx);
      });
      await assert.rejects(commits.run(undefined, failing), /after it wrote/);
      await other;
      assert.equal(runs, 2);
      assert.deepEqual(followed, ["other"]);
      const careful = ["savepoint", "release", "savepoint", "rollback to savepoint"];
      assert.deepEqual(database.calls, ["begin", "rollback", "begin", ...careful, "commit"]);
      // A function that fails repeatedly does not make the work of others run twice.
      const begun = () => database.calls.filter((call) => call === "begin").length;
      for (let times = 1; times < 64; times++) await assert.rejects(commits.run(undefined, failing), /after it wrote/);
      assert.equal(begun(), 2 + 63);
      database.calls.length = 0;
      await commits.run(undefined, writing);
      assert.deepEqual(database.calls, ["begin", "commit"]);
    });

    it("tells of the transaction that was lost by it", async () => {
      const told: string[] = [];
      const observer = {
        locked: () => {},
        committed: (functions: number) => void told.push(`committed ${functions}`),
        failed: (kind: string) => void told.push(kind),
      };
      const { begin } = knowing();
      const commits = new GroupCommit({ concurrency: 1, scopes: "together", begin, observer });
      await assert.rejects(commits.run(undefined, failing), /after it wrote/);
      assert.deepEqual(told, ["retry", "committed 1"]);
    });
  });

  it("runs all of them again after a serialization failure", async () => {
    const database = new Recorder();
    let failures = 2;
    database.failCommit = () => (failures-- > 0 ? retry() : undefined);
    const commits = together(database);
    let runs = 0;
    const work = async () => ++runs;
    assert.deepEqual(await Promise.all([commits.run("a", work), commits.run("b", work)]), [5, 6]);
    assert.equal(database.calls.filter((call) => call === "begin").length, 3);
    assert.equal(database.calls.filter((call) => call === "rollback").length, 2);
  });

  it("runs again when a statement, not the commit, meets it", async () => {
    const database = new Recorder();
    const commits = together(database);
    let tries = 0;
    const value = await commits.run(undefined, async () => {
      if (++tries === 1) throw retry();
      return tries;
    });
    assert.equal(value, 2);
    assert.ok(!database.calls.includes("rollback to savepoint"), "the whole transaction is lost");
  });

  it("runs again with savepoints what was half done at its commit, and not for ever", async () => {
    const database = new Recorder();
    database.failCommit = () => new HalfDone();
    await assert.rejects(
      exclusive(database).run("a", async () => {}),
      HalfDone,
    );
    assert.deepEqual(
      database.savepoints.map(({ isAtOnce }) => isAtOnce),
      [false, ...Array.from({ length: 5 }, () => true)],
    );
  });

  it("gives up after five tries, with the failure", async () => {
    const database = new Recorder();
    database.failCommit = retry;
    const commits = together(database);
    await assert.rejects(
      commits.run(undefined, async () => {}),
      (error: unknown) => error instanceof DatabaseFailure && error.kind === "retry",
    );
    assert.equal(database.calls.filter((call) => call === "begin").length, 5);
  });

  it("tells everybody in the transaction that the database is gone, once", async () => {
    const database = new Recorder();
    database.failCommit = unavailable;
    const commits = together(database);
    let runs = 0;
    const outcomes = await Promise.allSettled([1, 2].map(() => commits.run(undefined, async () => void runs++)));
    for (const outcome of outcomes) {
      assert.ok(outcome.status === "rejected" && (outcome.reason as DatabaseFailure).kind === "unavailable");
    }
    assert.equal(runs, 2, "no second try");
    assert.equal(database.open, 0);
    database.failCommit = undefined;
    assert.equal(await commits.run(undefined, async () => "again"), "again");
  });

  it("runs all of them again after an outage, as long as nothing was committed", async () => {
    const database = new Recorder();
    const commits = together(database);
    let tries = 0;
    const work = async () => {
      if (++tries < 3) throw new DatabaseFailure("outage", "the connection is lost");
      return tries;
    };
    assert.deepEqual(await Promise.all([commits.run("a", work), commits.run("b", async () => "beside it")]), [
      3,
      "beside it",
    ]);
    assert.equal(database.calls.filter((call) => call === "rollback").length, 2);
    assert.equal(database.open, 0);
  });

  it("does not run again what may have been committed when the connection was lost", async () => {
    const database = new Recorder();
    database.failCommit = () => new DatabaseFailure("outage", "the connection is lost");
    const failures: DatabaseFailure[] = [];
    const { begin } = database;
    const commits = new GroupCommit({
      concurrency: 1,
      scopes: "together",
      begin,
      onFailure: (one) => failures.push(one),
    });
    let runs = 0;
    await assert.rejects(
      commits.run(undefined, async () => void runs++),
      (error: unknown) => error instanceof DatabaseFailure && error.kind === "unavailable",
    );
    assert.equal(runs, 1);
    assert.deepEqual(
      failures.map(({ kind }) => kind),
      ["unavailable"],
      "whoever looks after the health is told",
    );
  });

  it("tells everybody when no transaction can be begun", async () => {
    const commits = new GroupCommit({ concurrency: 1, scopes: "together", begin: () => Promise.reject(unavailable()) });
    const outcomes = await Promise.allSettled([1, 2].map(() => commits.run(undefined, async () => {})));
    for (const outcome of outcomes) assert.equal(outcome.status, "rejected");
    await commits.close();
  });

  it("takes a bug of one for that one's alone", async () => {
    const database = new Recorder();
    const commits = together(database);
    const bug = new DatabaseFailure("bug", "constraint");
    const outcomes = await Promise.allSettled([
      commits.run(undefined, () => Promise.reject(bug)),
      commits.run(undefined, async () => "fine"),
    ]);
    assert.deepEqual(outcomes, [
      { status: "rejected", reason: bug },
      { status: "fulfilled", value: "fine" },
    ]);
  });

  it("holds a batch to 64", async () => {
    const database = new Recorder();
    const commits = together(database);
    await Promise.all(Array.from({ length: 130 }, () => commits.run(undefined, async () => {})));
    assert.equal(database.calls.filter((call) => call === "commit").length, 3);
  });

  it("refuses work of a transaction that has ended", async () => {
    const commits = together(new Recorder());
    let kept: { use(): void } | undefined;
    await commits.run(undefined, async (tx) => {
      kept = tx as unknown as { use(): void };
      kept.use();
    });
    assert.throws(() => kept?.use(), /this transaction has ended/);
  });

  describe("with a deadline", () => {
    const isLate = (error: unknown) =>
      error instanceof KeysteadError && error.code === "DEADLINE_EXCEEDED" && error.httpStatus === 503;

    it("ends the wait for a function that hangs, and goes on with the others of its batch", async (test) => {
      test.mock.timers.enable({ apis: ["setTimeout", "Date"] });
      const database = new Recorder();
      const commits = together(database);
      const started = latch();
      const hanging = commits.run(undefined, () => {
        started.open();
        return new Promise(() => {});
      });
      await started.opened;
      test.mock.timers.tick(COMMIT_DEADLINE_MS);
      await assert.rejects(hanging, isLate);
      assert.equal(await commits.run(undefined, async () => "next"), "next");
    });

    it("ends the wait for a commit that hangs", async (test) => {
      test.mock.timers.enable({ apis: ["setTimeout", "Date"] });
      const database = new Recorder();
      const gate = latch();
      database.gate = gate.opened;
      const commits = together(database);
      const ran = latch();
      const hanging = commits.run(undefined, async () => ran.open());
      await ran.opened;
      const behind = commits.run(undefined, async () => {});
      test.mock.timers.tick(COMMIT_DEADLINE_MS);
      await assert.rejects(hanging, isLate);
      await assert.rejects(behind, isLate);
      gate.open();
      await commits.close();
      assert.equal(database.calls.filter((call) => call === "begin").length, 1, "who was told is not run any more");
    });

    it("has one timer for all that wait, and tells each in its own time", async (test) => {
      test.mock.timers.enable({ apis: ["setTimeout", "Date"] });
      const timers = test.mock.method(globalThis, "setTimeout");
      const database = new Recorder();
      const gate = latch();
      database.gate = gate.opened;
      const commits = together(database);
      const told: string[] = [];
      const wait = (name: string) => commits.run(undefined, async () => {}).catch(() => void told.push(name));
      const first = [wait("first"), wait("first")];
      test.mock.timers.tick(COMMIT_DEADLINE_MS / 2);
      const second = wait("second");
      assert.equal(timers.mock.callCount(), 1);
      test.mock.timers.tick(COMMIT_DEADLINE_MS / 2);
      await Promise.all(first);
      assert.deepEqual(told, ["first", "first"]);
      test.mock.timers.tick(COMMIT_DEADLINE_MS / 2);
      await second;
      assert.deepEqual(told, ["first", "first", "second"]);
      gate.open();
      await commits.close();
    });

    it("leaves no timer behind", async (test) => {
      test.mock.timers.enable({ apis: ["setTimeout", "Date"] });
      const commits = together(new Recorder());
      assert.equal(await commits.run(undefined, async () => "in time"), "in time");
      test.mock.timers.tick(2 * COMMIT_DEADLINE_MS);
    });
  });

  describe("closing", () => {
    it("waits for what runs and what waits, and refuses new work", async () => {
      const database = new Recorder();
      const gate = latch();
      database.gate = gate.opened;
      const commits = exclusive(database, 1);
      const first = commits.run("a", async () => "a");
      const second = commits.run("b", async () => "b");
      let closed = false;
      const closing = commits.close().then(() => {
        closed = true;
      });
      await assert.rejects(
        commits.run("c", async () => "c"),
        { code: "SHUTTING_DOWN" },
      );
      await new Promise(setImmediate);
      assert.equal(closed, false);
      gate.open();
      await closing;
      assert.deepEqual(await Promise.all([first, second]), ["a", "b"]);
    });

    it("is at once when there is nothing", () => together(new Recorder()).close());
  });

  describe("with exclusive scopes", () => {
    it("keeps a batch to one scope, and tells begin which", async () => {
      const database = new Recorder();
      const commits = exclusive(database, 1);
      await Promise.all(["a", "b", "a", undefined, "b"].map((scope) => commits.run(scope, async () => {})));
      assert.deepEqual(database.scopes, ["a", "b", undefined]);
    });

    it("runs different scopes side by side, and no more than may be open", async () => {
      const database = new Recorder();
      const commits = exclusive(database, 3);
      const gate = latch();
      database.gate = gate.opened;
      const all = Promise.all(["a", "b", "c", "d", "e"].map((scope) => commits.run(scope, async () => {})));
      await new Promise(setImmediate);
      await new Promise(setImmediate);
      assert.equal(database.mostOpen, 3);
      gate.open();
      await all;
      assert.equal(database.mostOpen, 3);
    });

    it("never runs one scope twice at a time, whatever comes when", async () => {
      const requests = fc.array(
        fc.record({
          scope: fc.constantFrom("a", "b", "c", undefined),
          turns: fc.nat(3),
          fails: fc.boolean(),
          isShared: fc.boolean(),
          wantsAnother: fc.boolean(),
        }),
        { minLength: 1, maxLength: 60 },
      );
      await fc.assert(
        fc.asyncProperty(requests, fc.integer({ min: 1, max: 4 }), async (list, concurrency) => {
          const database = new Recorder();
          const commits = exclusive(database, concurrency);
          const inside = new Set<string>();
          const refused = new Set<number>();
          database.heldElsewhere.add("b");
          const outcomes = await Promise.allSettled(
            list.map(async ({ scope, turns, fails, isShared, wantsAnother }, index) => {
              for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
              const work = async () => {
                assert.ok(scope === undefined || !inside.has(scope), "two of one scope");
                if (scope) inside.add(scope);
                for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
                if (scope) inside.delete(scope);
                if (wantsAnother && isShared && scope && !refused.has(index)) {
                  refused.add(index);
                  throw new ScopeTaken();
                }
                if (fails) throw new RangeError("as planned");
                return scope;
              };
              return commits.run(scope, work, { isShared });
            }),
          );
          for (const [index, outcome] of outcomes.entries()) {
            if (list[index]?.fails) assert.ok(outcome.status === "rejected" && outcome.reason instanceof RangeError);
            else assert.deepEqual(outcome, { status: "fulfilled", value: list[index]?.scope });
          }
          assert.ok(database.mostOpen <= concurrency);
          assert.equal(database.open, 0);
        }),
        { numRuns: 50 },
      );
    });

    const nothing = async () => {};
    const shared = { isShared: true };

    it("has one transaction for functions of several scopes that may share it", async () => {
      const database = new Recorder();
      const commits = exclusive(database, 1);
      const scopes = ["a", "b", "a", "c"];
      await Promise.all([...scopes.map((scope) => commits.run(scope, nothing, shared)), commits.run("d", nothing)]);
      assert.deepEqual(database.scopes, ["a b c", "d"]);
    });

    it("does not pass over a function that shares with nobody", async () => {
      const database = new Recorder();
      const commits = exclusive(database, 1);
      const order: string[] = [];
      const run = (scope: string, index: number, isShared: boolean) =>
        commits.run(scope, async () => void order.push(`${scope}${index}`), { isShared });
      await Promise.all([run("a", 0, true), run("b", 0, true), run("b", 1, false), run("b", 2, true)]);
      assert.deepEqual(database.scopes, ["a b", "b"]);
      assert.deepEqual(order, ["a0", "b0", "b1", "b2"]);
    });

    it("shares many scopes out among the transactions that may be open", async () => {
      const database = new Recorder();
      const commits = exclusive(database, 3);
      const scopes = Array.from({ length: 60 }, (_, index) => `scope ${index}`);
      await Promise.all(scopes.map((scope) => commits.run(scope, nothing, shared)));
      assert.equal(database.mostOpen, 3);
      assert.equal(database.scopes.length, 3);
    });

    it("runs what somebody else holds in another transaction, which waits for it", async () => {
      const database = new Recorder();
      const commits = exclusive(database, 1);
      database.heldElsewhere.add("b");
      await Promise.all(["a", "b", "c", "b"].map((scope) => commits.run(scope, nothing, shared)));
      assert.deepEqual(database.scopes, ["a b c", "b"]);
    });

    it("begins nothing more beside one that took long", async () => {
      const database = new Recorder();
      const commits = exclusive(database, 1);
      const long = async () => {
        const begun = performance.now();
        while (performance.now() - begun < 25) await new Promise(setImmediate);
      };
      await Promise.all([
        commits.run("a", long, shared),
        ...["b", "c"].map((scope) => commits.run(scope, nothing, shared)),
      ]);
      assert.deepEqual(database.scopes, ["a b c", "b c"]);
    });

    it("undoes a function that wants a scope that is held, and runs it in a transaction of its own scope", async () => {
      const database = new Recorder();
      const commits = exclusive(database, 1);
      let tries = 0;
      const wanting = async () => {
        if (++tries === 1) throw new ScopeTaken();
        return tries;
      };
      const all = [
        commits.run("a", nothing, shared),
        commits.run("b", wanting, shared),
        commits.run("c", nothing, shared),
      ];
      assert.deepEqual(await Promise.all(all), [undefined, 2, undefined]);
      assert.deepEqual(database.scopes, ["a b c", "b"]);
      assert.equal(database.calls.filter((call) => call === "rollback to savepoint").length, 1);
    });

    it("keeps the order in which the work of one scope came", async () => {
      const commits = exclusive(new Recorder(), 3);
      const order: number[] = [];
      await Promise.all(
        Array.from({ length: 200 }, (_, index) => commits.run("a", async () => void order.push(index))),
      );
      assert.deepEqual(
        order,
        Array.from({ length: 200 }, (_, index) => index),
      );
    });
  });
});
