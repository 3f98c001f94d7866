import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { ByteRoom } from "./byte-room.ts";

const KIB = 1024;

/** The work that was let in, by name, in order. */
function room(bounds: { inAll: number; ofOneKey: number }) {
  const bytes = new ByteRoom({ inAll: bounds.inAll * KIB, ofOneKey: bounds.ofOneKey * KIB });
  const inside: string[] = [];
  const leaves = new Map<string, () => void>();
  return {
    inside,
    async ask(name: string, key: string, kib: number) {
      void bytes.enter(key, kib * KIB).then((leave) => {
        inside.push(name);
        leaves.set(name, leave);
      });
      await setImmediate();
    },
    async leave(name: string) {
      leaves.get(name)?.();
      leaves.get(name)?.();
      inside.splice(inside.indexOf(name), 1);
      await setImmediate();
    },
  };
}

describe("room for bytes", () => {
  it("is bounded for each key and in all, and small work takes none", async () => {
    const { inside, ask, leave } = room({ inAll: 1000, ofOneKey: 400 });
    await ask("a1", "a", 300);
    await ask("a2", "a", 300);
    await ask("a3", "a", 64);
    assert.deepEqual(inside, ["a1", "a3"], "one key does not get more than its part");
    await ask("b1", "b", 400);
    await ask("c1", "c", 300);
    await ask("d1", "d", 100);
    assert.deepEqual(inside, ["a1", "a3", "b1", "c1"], "all together do not get more than there is");
    await leave("b1");
    assert.deepEqual(inside, ["a1", "a3", "c1", "d1"]);
    await leave("a1");
    assert.deepEqual(inside, ["a3", "c1", "d1", "a2"]);
  });

  it("is had by one key in several pieces, up to its part of it", async () => {
    const { inside, ask, leave } = room({ inAll: 1000, ofOneKey: 400 });
    for (const name of ["a1", "a2", "a3"]) await ask(name, "a", 100);
    await ask("a4", "a", 101);
    await ask("b1", "b", 400);
    assert.deepEqual(inside, ["a1", "a2", "a3", "b1"]);
    await leave("a2");
    assert.deepEqual(inside, ["a1", "a3", "b1", "a4"]);
    await leave("a4");
    await ask("a5", "a", 200);
    assert.deepEqual(inside, ["a1", "a3", "b1", "a5"], "exactly its part");
    await ask("a6", "a", 65);
    assert.deepEqual(inside, ["a1", "a3", "b1", "a5"]);
  });

  it("goes round the keys, whoever asked for more of it", async () => {
    const { inside, ask, leave } = room({ inAll: 100, ofOneKey: 100 });
    await ask("a1", "a", 100);
    for (const name of ["a2", "a3", "a4"]) await ask(name, "a", 100);
    await ask("b1", "b", 100);
    const order: string[] = [];
    while (inside.length > 0) {
      assert.equal(inside.length, 1);
      const [name = ""] = inside;
      order.push(name);
      await leave(name);
    }
    assert.deepEqual(order, ["a1", "a2", "b1", "a3", "a4"]);
  });

  it("is had alone by what is larger than it, and nobody smaller passes it", async () => {
    const { inside, ask, leave } = room({ inAll: 200, ofOneKey: 100 });
    await ask("a1", "a", 100);
    await ask("b1", "b", 1000);
    await ask("c1", "c", 65);
    assert.deepEqual(inside, ["a1"]);
    await leave("a1");
    assert.deepEqual(inside, ["b1"]);
    await leave("b1");
    assert.deepEqual(inside, ["c1"]);
  });
});
