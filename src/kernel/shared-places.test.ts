import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { nextTurn } from "./next-turn.ts";
import { SharedPlaces } from "./shared-places.ts";

const OPTIONS = { atMost: 6, together: 3, always: 1, countedMs: 1000, rememberedMs: 1000, rememberedVisits: 3 };

/** Places, and the names of those inside in the order in which they entered. */
function watchedPlaces() {
  const clock = { now: 5000 };
  const places = new SharedPlaces(OPTIONS, () => clock.now);
  const inside: string[] = [];
  const leaves = new Map<string, () => void>();
  const enter = (key: string, ...names: string[]) => {
    for (const name of names) {
      void places.enter(key).then((leave) => {
        inside.push(name);
        leaves.set(name, () => {
          leave();
          inside.splice(inside.indexOf(name), 1);
        });
      });
    }
    return nextTurn();
  };
  const leave = (name: string) => {
    leaves.get(name)?.();
    return nextTurn();
  };
  return { clock, inside, enter, leave };
}

describe("shared places", () => {
  it("are all of a key that comes alone, up to the most that one may have", async () => {
    const { inside, enter, leave } = watchedPlaces();
    await enter("a", "1", "2", "3", "4", "5", "6", "7", "8");
    assert.deepEqual(inside, ["1", "2", "3", "4", "5", "6"]);
    await leave("2");
    assert.deepEqual(inside, ["1", "3", "4", "5", "6", "7"]);
  });

  it("let in at once whoever comes beside one that has them all, who then gets few until the other has been gone for a while", async () => {
    const { clock, inside, enter, leave } = watchedPlaces();
    await enter("busy", "1", "2", "3", "4", "5", "6", "7", "8", "9");
    await enter("quiet", "q");
    assert.ok(inside.includes("q"));
    for (const name of ["1", "2", "3"]) await leave(name);
    assert.deepEqual(inside, ["4", "5", "6", "q"], "more than three are inside, and the busy one has some");
    await leave("4");
    assert.deepEqual(inside, ["5", "6", "q"]);
    await leave("q");
    assert.deepEqual(inside, ["5", "6", "7"]);
    clock.now += 2000;
    await leave("5");
    assert.deepEqual(inside, ["6", "7", "8", "9"], "nobody else has come lately");
  });

  it("go to those who wait by turns, one of each key", async () => {
    const { inside, enter, leave } = watchedPlaces();
    await enter("a", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8");
    await enter("b", "b1", "b2", "b3");
    assert.deepEqual(inside.slice(6), ["b1"]);
    for (const name of ["a1", "a2", "a3", "a4"]) await leave(name);
    assert.deepEqual(inside, ["a5", "a6", "b1"]);
    await leave("a5");
    await leave("a6");
    assert.deepEqual(inside, ["b1", "a7", "b2"]);
    await leave("a7");
    assert.deepEqual(inside, ["b1", "b2", "a8"], "a has none inside, and has one always");
    await leave("b1");
    assert.deepEqual(inside, ["b2", "a8", "b3"]);
  });

  it("are those of a key that comes alone again once time has passed and others have left: the machine may be slow", async () => {
    const { clock, inside, enter, leave } = watchedPlaces();
    await enter("quiet", "q");
    await leave("q");
    await enter("busy", "1", "2", "3", "4", "5");
    clock.now += 2500;
    await leave("1");
    assert.deepEqual(inside, ["2", "3", "4"], "two have left");
    await leave("2");
    assert.deepEqual(inside, ["3", "4", "5"], "three have, and it may have been the span of time before this one");
    await enter("busy", "6", "7", "8", "9");
    clock.now += 1000;
    await leave("3");
    await leave("4");
    assert.deepEqual(inside, ["5", "6", "7"]);
    await leave("5");
    assert.deepEqual(inside, ["6", "7", "8", "9"]);
  });

  /** With `b` and `a` inside, and more of `a` waiting. */
  async function withSomeThatWait() {
    const watched = watchedPlaces();
    await watched.enter("b", "b1");
    await watched.enter("a", "a1", "a2", "a3", "a4", "a5", "a6", "a7");
    assert.deepEqual(watched.inside, ["b1", "a1", "a2"]);
    const pass = (ms: number) => {
      watched.clock.now += ms;
      mock.timers.tick(ms);
      return nextTurn();
    };
    return { ...watched, pass };
  }

  describe("with a clock of their own", () => {
    beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
    afterEach(() => mock.timers.reset());

    it("no longer count one that has been inside for long while others left, without which those of its key would wait for it", async () => {
      const { inside, enter, leave, pass } = await withSomeThatWait();
      await pass(1000);
      assert.deepEqual(inside, ["b1", "a1", "a2"], "nobody has left: the machine may be slow");
      for (const name of ["c1", "c2"]) {
        await enter("c", name);
        await leave(name);
      }
      assert.deepEqual(inside, ["b1", "a1", "a2"], "fewer have left than there are places");
      await enter("c", "c3");
      await leave("c3");
      assert.deepEqual(inside, ["b1", "a1", "a2", "a3", "a4", "a5"]);
      await leave("a1");
      assert.deepEqual(inside, ["b1", "a2", "a3", "a4", "a5"], "who left did not count");
      await leave("a3");
      assert.deepEqual(inside, ["b1", "a2", "a4", "a5", "a6"]);
    });

    it("no longer count one that has been inside for very long, if nobody leaves at all", async () => {
      const { inside, pass } = await withSomeThatWait();
      await pass(1000);
      await pass(8999);
      assert.deepEqual(inside, ["b1", "a1", "a2"]);
      await pass(1);
      assert.deepEqual(inside, ["b1", "a1", "a2", "a3", "a4", "a5"]);
      await pass(1000);
      await pass(9000);
      assert.deepEqual(inside, ["b1", "a1", "a2", "a3", "a4", "a5", "a6"], "and never more than the most of one key");
    });
  });
});
