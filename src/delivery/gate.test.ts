import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createGate } from "./gate.ts";

/** Lets all pending promise reactions run. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Calls that run until the test ends them, and the order in which they started. */
function createCalls(gate: ReturnType<typeof createGate>) {
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const call = (key: string, name: string) =>
    gate.run(key, () => {
      started.push(name);
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await settled();
  };
  return { started, call, end };
}

test("runs at most perKey calls of a key, in order", async () => {
  const { started, call, end } = createCalls(createGate({ perKey: 2, total: 10 }));
  const results = ["a1", "a2", "a3", "a4"].map((name) => call("a", name));
  await settled();
  assert.deepEqual(started, ["a1", "a2"]);
  await end("a2");
  assert.deepEqual(started, ["a1", "a2", "a3"]);
  await end("a1");
  assert.deepEqual(started, ["a1", "a2", "a3", "a4"]);
  await end("a3");
  await end("a4");
  assert.deepEqual(await Promise.all(results), ["a1", "a2", "a3", "a4"]);
});

test("a full key does not hold up another", async () => {
  const { started, call } = createCalls(createGate({ perKey: 1, total: 10 }));
  for (const name of ["a1", "a2", "a3"]) void call("a", name);
  void call("b", "b1");
  await settled();
  assert.deepEqual(started, ["a1", "b1"]);
});

test("keys take turns for the places they share", async () => {
  const { started, call, end } = createCalls(createGate({ perKey: 5, total: 1 }));
  for (const name of ["a1", "a2", "a3"]) void call("a", name);
  for (const name of ["b1", "b2"]) void call("b", name);
  void call("c", "c1");
  await settled();
  for (const name of ["a1", "a2", "b1", "c1", "a3"]) await end(name);
  assert.deepEqual(started, ["a1", "a2", "b1", "c1", "a3", "b2"]);
});

test("a failing call gives its place back", async () => {
  const gate = createGate({ perKey: 1, total: 1 });
  const refused = gate.run("a", () => Promise.reject(new Error("refused")));
  const thrown = gate.run("a", () => {
    throw new Error("thrown");
  });
  const value = gate.run("a", () => "value");
  await assert.rejects(refused, /refused/);
  await assert.rejects(thrown, /thrown/);
  assert.equal(await value, "value");
});

test("refuses bounds that admit nothing", () => {
  for (const bound of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => createGate({ perKey: bound, total: 1 }), RangeError);
    assert.throws(() => createGate({ perKey: 1, total: bound }), RangeError);
  }
});

test("any mixture of calls: both bounds hold, they are used, and every call runs once", async () => {
  const bound = fc.integer({ min: 1, max: 5 });
  const keys = fc.array(fc.constantFrom<string[]>("a", "b", "c", "d"), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(bound, bound, keys, fc.infiniteStream(fc.nat()), async (perKey, total, queue, picks) => {
      const gate = createGate({ perKey, total });
      const open: { key: string; end: () => void }[] = [];
      const openOf = (key: string) => open.filter((call) => call.key === key).length;
      let runs = 0;
      const calls = queue.map((key) =>
        gate.run(key, () => {
          runs++;
          return new Promise<void>((end) => open.push({ key, end }));
        }),
      );
      const left = Map.groupBy(queue, (key) => key);
      for (let ended = 0; ended < queue.length; ended++) {
        await settled();
        const wanted = [...left.values()].reduce((sum, { length }) => sum + Math.min(perKey, length), 0);
        assert.equal(open.length, Math.min(total, wanted), "every place that can be used is used");
        for (const key of left.keys()) assert.ok(openOf(key) <= perKey);
        const [call] = open.splice((picks.next().value ?? 0) % open.length, 1);
        left.get(call?.key ?? "")?.pop();
        call?.end();
      }
      await Promise.all(calls);
      assert.equal(runs, queue.length);
    }),
    { numRuns: 200 },
  );
});

test("a long line of calls is worked off in linear time", async () => {
  const costOf = async (calls: number): Promise<number> => {
    const gate = createGate({ perKey: 1, total: 1 });
    const start = process.cpuUsage();
    let runs = 0;
    await Promise.all(Array.from({ length: calls }, () => gate.run("a", () => void runs++)));
    assert.equal(runs, calls);
    const { user, system } = process.cpuUsage(start);
    return user + system;
  };
  await costOf(10_000);
  const short = await costOf(10_000);
  const long = await costOf(200_000);
  assert.ok(long < 8 * 20 * short, `20 times the calls took ${long / short} times the work`);
});
