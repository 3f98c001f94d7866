import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import type { Rows } from "./gathered.ts";
import { SharedReads } from "./shared-reads.ts";

const read = (sql: string, ...parameters: unknown[]) => ({ sql, parameters, isRead: true, isLasting: true });
const unique = (...parameters: unknown[]) => ({ ...read("one", ...parameters), together: "many" });

/** Records the statements that are sent. `answer` answers one, by its number among all that were sent. */
function noted() {
  const sent: { sql: string; parameters: unknown[]; answer: (rows: Rows) => void; refuse: (error: Error) => void }[] =
    [];
  const reads = new SharedReads(() => (sql, parameters) => {
    const { promise, resolve, reject } = Promise.withResolvers<Rows>();
    sent.push({ sql, parameters, answer: resolve, refuse: reject });
    return promise;
  });
  return { sent, reads };
}

describe("reads that are asked for at the same time", () => {
  it("are asked once where they are equal, and each asker has an array of rows that nobody can change", async () => {
    const { sent, reads } = noted();
    const asked = [
      reads.ask(read("a", 1)),
      reads.ask(read("a", 1)),
      reads.ask(read("a", "1")),
      reads.ask(read("b", 1)),
    ];
    assert.equal(sent.length, 0, "more may ask in this turn");
    await setImmediate();
    assert.deepEqual(
      sent.map(({ sql, parameters }) => [sql, ...parameters]),
      [
        ["a", 1],
        ["a", "1"],
        ["b", 1],
      ],
    );
    for (const [index, { answer }] of sent.entries()) answer([{ index }]);
    const [one, other, third] = await Promise.all(asked);
    assert.deepEqual([one, other, third], [[{ index: 0 }], [{ index: 0 }], [{ index: 1 }]]);
    assert.notEqual(one, other);
    assert.ok(Object.isFrozen(one?.[0]));
  });

  it("have no answer that is older than the question: who comes when it has left is not given it", async () => {
    const { sent, reads } = noted();
    const early = reads.ask(read("a"));
    await setImmediate();
    const late = reads.ask(read("a"));
    await setImmediate();
    assert.equal(sent.length, 2);
    sent[1]?.answer([{ as: "late" }]);
    sent[0]?.answer([{ as: "early" }]);
    assert.deepEqual([await early, await late], [[{ as: "early" }], [{ as: "late" }]]);
  });

  it("are one statement where each looks for a row of its own in the same way", async () => {
    const { sent, reads } = noted();
    const asked = [
      reads.ask(unique("o", "x")),
      reads.ask(unique("o", "y")),
      reads.ask(unique("p", "x")),
      reads.ask(unique("o", "x")),
    ];
    await setImmediate();
    assert.deepEqual(
      sent.map(({ sql, parameters }) => [sql, parameters]),
      [
        [
          "many",
          [
            ["o", "o", "p"],
            ["x", "y", "x"],
          ],
        ],
      ],
    );
    sent[0]?.answer([
      { asked_as: 3, name: "third" },
      { asked_as: 1, name: "first" },
    ]);
    assert.deepEqual(await Promise.all(asked), [[{ name: "first" }], [], [{ name: "third" }], [{ name: "first" }]]);
    const alone = reads.ask(unique("o", "x"));
    await setImmediate();
    assert.deepEqual([sent[1]?.sql, sent[1]?.parameters], ["one", ["o", "x"]]);
    sent[1]?.answer([]);
    assert.deepEqual(await alone, []);
  });

  it("fail together, and the next one is asked anew", async () => {
    const { sent, reads } = noted();
    const asked = [reads.ask(unique("x")), reads.ask(unique("y"))];
    const outcomes = Promise.allSettled(asked);
    await setImmediate();
    sent[0]?.refuse(new Error("gone"));
    assert.deepEqual(
      (await outcomes).map(({ status }) => status),
      ["rejected", "rejected"],
    );
    const again = reads.ask(unique("x"));
    await setImmediate();
    sent[1]?.answer([{ name: "x" }]);
    assert.deepEqual(await again, [{ name: "x" }]);
  });
});
