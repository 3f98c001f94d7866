import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { FairQueue } from "./fair-queue.ts";

interface Item {
  organizationId: string;
  cost: number;
  name: string;
}

const item = (name: string, cost = 1): Item => ({ organizationId: name.slice(0, 1), cost, name });

function queueOf(
  options: Partial<{ count: number; cost: number; inAll: number; window: number; windowInAll: number }> = {},
) {
  const { count = 100, cost = 1000, inAll = 10_000, window = 10, windowInAll = 100 } = options;
  const unwanted = new Set<string>();
  const dropped: string[] = [];
  const queue = new FairQueue<Item>({
    waiting: { count, cost },
    waitingCostInAll: inAll,
    out: { cost: window, countInAll: windowInAll },
    isWanted: ({ name }) => !unwanted.has(name),
    onDropped: ({ name }) => void dropped.push(name),
  });
  return { queue, unwanted, dropped };
}

/** All items that may be sent now, by name. */
function outOf(queue: FairQueue<Item>): Item[] {
  const items: Item[] = [];
  for (let next = queue.next(); next; next = queue.next()) items.push(next);
  return items;
}
const names = (items: readonly Item[]): string => items.map(({ name }) => name).join(" ");

describe("a fair queue", () => {
  it("lets every organization send in its turn, each its own items in their order", () => {
    const { queue } = queueOf();
    for (const name of ["a1", "a2", "a3", "b1", "c1", "c2"]) queue.add(item(name));
    assert.equal(names(outOf(queue)), "a1 b1 c1 a2 c2 a3");
    assert.equal(queue.length, 0);
    assert.equal(queue.out, 6);
  });

  it("lets no organization have more out than its window, and others send meanwhile", () => {
    const { queue } = queueOf({ window: 10 });
    for (let count = 0; count < 5; count++) queue.add(item(`a${count}`, 4));
    const first = outOf(queue);
    assert.equal(names(first), "a0 a1");
    queue.add(item("b0"));
    assert.equal(names(outOf(queue)), "b0");
    queue.returned(first[0] as Item);
    assert.equal(names(outOf(queue)), "a2");
  });

  it("lets one item out that costs more than the window, and nothing beside it", () => {
    const { queue } = queueOf({ window: 10 });
    for (const [name, cost] of [
      ["a1", 400],
      ["a2", 1],
      ["a3", 400],
    ] as const)
      queue.add(item(name, cost));
    const [large] = outOf(queue);
    assert.equal(large?.name, "a1");
    queue.returned(large as Item);
    const [small] = outOf(queue);
    assert.equal(small?.name, "a2");
    queue.returned(small as Item);
    assert.equal(names(outOf(queue)), "a3");
  });

  it("sends no more than its window in all, and then in turns again", () => {
    const { queue } = queueOf({ windowInAll: 2 });
    for (const name of ["a1", "a2", "a3", "b1", "b2"]) queue.add(item(name));
    const [first] = outOf(queue);
    assert.equal(queue.out, 2);
    queue.returned(first as Item);
    assert.equal(names(outOf(queue)), "a2");
  });

  it("refuses what is over an organization's bounds, by number and by cost, and that organization alone", () => {
    const { queue } = queueOf({ count: 2, cost: 100, windowInAll: 0 });
    assert.deepEqual(
      ["a1", "a2", "a3"].map((name) => queue.add(item(name))),
      [true, true, false],
    );
    assert.ok(queue.add(item("b1", 60)));
    assert.ok(!queue.add(item("b2", 60)));
    assert.ok(queue.add(item("c1", 5000)), "one item may cost more than all that may wait");
    assert.equal(queue.waitingCostOf("b"), 60);
    assert.equal(queue.length, 4);
  });

  it("is full for whoever waits already when too much waits in all", () => {
    const { queue } = queueOf({ inAll: 10, windowInAll: 0 });
    assert.ok(queue.add(item("a1", 8)));
    assert.ok(!queue.add(item("a2", 8)));
    assert.ok(queue.add(item("b1", 8)));
    assert.ok(!queue.add(item("b2", 8)));
  });

  it("drops what nobody wants any more, when it comes upon it and where room is needed", () => {
    const { queue, unwanted, dropped } = queueOf({ count: 2 });
    for (const name of ["a1", "a2", "b1"]) queue.add(item(name));
    unwanted.add("a1").add("a2");
    assert.ok(queue.add(item("a3")));
    assert.deepEqual(dropped, ["a1", "a2"]);
    unwanted.add("b1");
    assert.equal(names(outOf(queue)), "a3");
    assert.deepEqual(dropped, ["a1", "a2", "b1"]);
    assert.equal(queue.length, 0);
  });

  it("gives up all that waits, and goes on with what comes then", () => {
    const { queue } = queueOf({ window: 1 });
    for (const name of ["a1", "a2", "b1"]) queue.add(item(name));
    const out = outOf(queue);
    assert.equal(names(queue.drain()), "a2");
    assert.equal(queue.length, 0);
    queue.add(item("a3"));
    for (const each of out) queue.returned(each);
    assert.equal(names(outOf(queue)), "a3");
  });

  it("knows what an organization has out while nothing of it waits", () => {
    const { queue } = queueOf({ window: 3 });
    for (const name of ["a1", "a2", "a3"]) queue.add(item(name));
    const [first] = outOf(queue);
    queue.returned(first as Item);
    for (const name of ["a4", "a5"]) queue.add(item(name));
    assert.equal(names(outOf(queue)), "a4");
  });

  it("has room again for as much as before once it has given up all that waits", () => {
    const { queue } = queueOf({ count: 5, cost: 2, inAll: 3, window: 2 });
    queue.add(item("a0"));
    assert.equal(queue.next()?.name, "a0");
    for (let time = 0; time < 2; time++) {
      for (const name of ["a1", "b1", "a2"]) assert.ok(queue.add(item(name)), `${name}, time ${time}`);
      assert.equal(queue.add(item("a3")), false);
      assert.equal(queue.waitingCostOf("a"), 2);
      assert.equal(names(queue.drain()), "a1 a2 b1");
      assert.deepEqual([queue.waitingCostOf("a"), queue.waitingCostOf("b"), queue.length], [0, 0, 0]);
    }
    // Also for one that had its turn coming, with something of it out.
    queue.add(item("a4"));
    assert.equal(names(outOf(queue)), "a4");
  });

  it("loses nothing, sends nothing twice, and keeps to its bounds whatever happens", () => {
    const [count, cost, window, windowInAll] = [5, 40, 12, 6];
    const step = fc.record({
      act: fc.constantFrom("add", "add", "next", "next", "return", "unwant", "drain"),
      organizationId: fc.constantFrom("a", "b", "c"),
      cost: fc.constantFrom(1, 3, 8, 30),
      pick: fc.nat(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const { queue, unwanted, dropped } = queueOf({ count, cost, window, windowInAll });
        const waiting = new Map<string, Item>();
        const out: Item[] = [];
        for (const [index, { act, organizationId, cost: itemCost, pick }] of steps.entries()) {
          const one = { organizationId, cost: itemCost, name: `${organizationId}${index}` };
          if (act === "add" && queue.add(one)) waiting.set(one.name, one);
          if (act === "next") {
            const next = queue.next();
            if (next) {
              assert.ok(waiting.delete(next.name) && !unwanted.has(next.name));
              const beside = out.filter((each) => each.organizationId === next.organizationId);
              const outCost = beside.reduce((sum, each) => sum + each.cost, 0);
              assert.ok(beside.length === 0 || outCost + next.cost <= window);
              out.push(next);
            }
          }
          if (act === "return" && out.length > 0) queue.returned(out.splice(pick % out.length, 1)[0] as Item);
          if (act === "unwant" && waiting.size > 0) unwanted.add([...waiting.keys()][pick % waiting.size] as string);
          if (act === "drain") for (const { name } of queue.drain()) assert.ok(waiting.delete(name));
          for (const name of dropped.splice(0)) assert.ok(unwanted.has(name) && waiting.delete(name));
          assert.equal(queue.length, waiting.size);
          assert.equal(queue.out, out.length);
          assert.ok(out.length <= windowInAll);
        }
        // In the end all items are sent.
        while (out.length > 0 || queue.length > 0) {
          for (const each of out.splice(0)) queue.returned(each);
          out.push(...outOf(queue));
          for (const { name } of out) assert.ok(waiting.delete(name));
          for (const name of dropped.splice(0)) assert.ok(waiting.delete(name));
        }
        assert.equal(waiting.size, 0);
      }),
      { numRuns: 300 },
    );
  });
});
