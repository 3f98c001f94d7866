import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Rounds } from "./rounds.ts";
import type { Work } from "./slices.ts";

const spin = (ms: number): void => {
  for (const end = performance.now() + ms; performance.now() < end; );
};

/** Uses this much processor time, regardless of how slowly this process is scheduled. */
function spinOnProcessor(ms: number): void {
  const start = process.cpuUsage();
  for (let spent = 0; spent < ms; ) {
    const { user, system } = process.cpuUsage(start);
    spent = (user + system) / 1000;
  }
}

function* slices(count: number, ms: number, response: unknown, pass = spin): Work {
  for (let slice = 1; slice < count; slice++) {
    pass(ms);
    yield;
  }
  pass(ms);
  return response;
}

// biome-ignore lint/correctness/useYield: it never comes so far
function* failing(): Work {
  throw new Error("refused");
}

/** Begins the requests in this order, all for one organization unless given. Resolves to their outcomes, in the order in which they complete. */
function outcomesOf(
  rounds: Rounds,
  begun: readonly Work[],
  organizationOf = (_index: number) => "a",
): Promise<unknown[]> {
  return new Promise((resolve) => {
    const outcomes: unknown[] = [];
    for (const [index, work] of begun.entries()) {
      rounds.begin(organizationOf(index), work, (outcome) => {
        outcomes.push("error" in outcome ? (outcome.error as Error).message : outcome.response);
        if (outcomes.length === begun.length) resolve(outcomes);
      });
    }
  });
}

describe("rounds", () => {
  it("answer a short request before the long ones that came first", async () => {
    const long = ["long 1", "long 2", "long 3"].map((name) => slices(50, 0.2, name));
    const outcomes = await outcomesOf(new Rounds(), [...long, slices(1, 0, "short"), slices(3, 0, "middling")]);
    assert.deepEqual(outcomes, ["short", "middling", "long 1", "long 2", "long 3"]);
  });

  it("give each organization a slice in turn, however many requests another one has", async () => {
    const many = Array.from({ length: 20 }, (_, index) => slices(1, 0, `many ${index}`));
    const few = [slices(1, 0, "few"), slices(2, 0, "long"), slices(1, 0, "after")];
    const outcomes = await outcomesOf(new Rounds(), [...many, ...few], (index) => (index < many.length ? "a" : "b"));
    // `after` finishes before the rest of `long`.
    assert.deepEqual(outcomes.slice(0, 8), [
      ...["many 0", "few", "many 1", "many 2", "after", "many 3", "long", "many 4"],
    ]);
  });

  it("answer who comes while another organization has much in hand before the next but one of that", async () => {
    const rounds = new Rounds();
    const outcomes: unknown[] = [];
    const note = (outcome: object) => outcomes.push("response" in outcome ? outcome.response : undefined);
    await new Promise<void>((resolve) => {
      const busy = (count: number): Work =>
        (function* () {
          // Arrives like a message, between two turns.
          if (count === 1) setImmediate(() => rounds.begin("b", slices(1, 0, "b"), note));
          spin(1);
          return count;
        })();
      for (let count = 0; count < 50; count++) {
        rounds.begin("a", busy(count), (outcome) => {
          note(outcome);
          if (count === 49) resolve();
        });
      }
    });
    // It waits at most for one turn of the event loop, of two milliseconds and one request, and one more slice.
    const place = outcomes.indexOf("b");
    assert.ok(place >= 0 && place <= 6, `after ${place} of 50`);
  });

  it("go on after one that fails", async () => {
    assert.deepEqual(await outcomesOf(new Rounds(), [failing(), slices(2, 0, "fine")]), ["refused", "fine"]);
  });

  it("let the event loop turn again and again while they last", async () => {
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await outcomesOf(new Rounds(), [slices(20, 1, "a"), slices(20, 1, "b")]);
    isOver = true;
    assert.ok(turns >= 10, `${turns} turns in 40 ms of work`);
  });

  it("know how much processor time a request took so far, and forget it with its answer", async () => {
    const rounds = new Rounds();
    const seen: number[] = [];
    const watch = function* (): Work {
      for (let slice = 0; slice < 20; slice++) {
        yield;
        seen.push(rounds.longestMs);
      }
      return "done";
    };
    // The request being worked on is not in the list; another one keeps its position there.
    await outcomesOf(rounds, [watch(), slices(40, 2, "other", spinOnProcessor)]);
    assert.ok(Math.max(...seen) > 5, String(seen));
    assert.equal(rounds.longestMs, 0);
  });

  it("tell how long a request took", async () => {
    const ms = await new Promise<number>((resolve) => {
      new Rounds().begin("a", slices(5, 2, "done"), (outcome) => resolve(outcome.ms));
    });
    assert.ok(ms >= 10, String(ms));
  });
});
