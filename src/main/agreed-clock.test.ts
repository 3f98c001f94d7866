import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { until } from "../../test/support/until.ts";
import { HOUR_MS } from "../kernel/durations.ts";
import { createLogger } from "../kernel/log.ts";
import type { Database } from "../storage/database.ts";
import { AgreedClock } from "./agreed-clock.ts";

/** A machine's clock and a database's, which are read and set by hand. */
function clocks() {
  const state = { machine: 1_000_000_000, database: 1_000_000_000, steady: 0, tookMs: 0, isAway: false };
  const pass = (ms: number) => {
    state.machine += ms;
    state.database += ms;
    state.steady += ms;
  };
  const during: (() => void)[] = [];
  /** What happens before a reading of the steady clock. */
  const stops: (() => void)[] = [];
  const all = async () => {
    pass(state.tookMs / 2);
    if (state.isAway) throw new Error("the database is away");
    const now = state.database;
    during.shift()?.();
    pass(state.tookMs / 2);
    return [{ now }];
  };
  const lines: string[] = [];
  const log = createLogger("info", { write: (line: string) => void lines.push(JSON.parse(line).msg) });
  const agreed = (kind: Database["kind"] = "postgres") =>
    new AgreedClock({
      machine: () => state.machine,
      steady: () => {
        stops.shift()?.();
        return state.steady;
      },
      database: { kind, read: { kind, all } as never },
      log,
    });
  return { state, lines, pass, during, stops, agreed };
}

/** One look of a clock that is closed afterwards, as if the time of the next had come. */
async function look(clock: AgreedClock): Promise<void> {
  await clock.start();
  await clock.close();
}

describe("the time of a server", () => {
  it("is its machine's while the database's is about the same", async () => {
    const { state, lines, agreed } = clocks();
    state.database += 1900;
    const clock = agreed();
    await look(clock);
    assert.equal(clock.now(), state.machine);
    assert.deepEqual(lines, []);
  });

  for (const apartMs of [HOUR_MS, -HOUR_MS, 5000]) {
    it(`is the database's where they are ${apartMs} ms apart, until they agree`, async () => {
      const { state, lines, agreed } = clocks();
      state.database += apartMs;
      const clock = agreed();
      await look(clock);
      assert.equal(clock.now(), state.database);
      assert.equal(lines.length, 1);
      assert.match(lines[0] ?? "", /let NTP set both/);
      state.database += 700;
      await look(clock);
      assert.equal(clock.now(), state.database - 700, "what is about the same is left");
      state.machine = state.database;
      await look(clock);
      assert.equal(clock.now(), state.machine);
      assert.match(lines[1] ?? "", /agrees with the database's again/);
    });
  }

  it("is what was told last while the database does not tell, or takes long to", async () => {
    const { state, agreed } = clocks();
    state.database += HOUR_MS;
    const clock = agreed();
    state.isAway = true;
    await look(clock);
    assert.equal(clock.now(), state.machine);
    state.isAway = false;
    state.tookMs = 20_000;
    await look(clock);
    assert.equal(clock.now(), state.machine);
    state.tookMs = 1000;
    await look(clock);
    assert.equal(clock.now(), state.database);
    state.tookMs = 20_000;
    state.database += 10_000;
    await look(clock);
    assert.equal(clock.now(), state.database - 10_000);
  });

  for (const setByMs of [HOUR_MS, -HOUR_MS]) {
    it(`goes on as it went where the machine's clock is set by ${setByMs} ms, and the database is asked at once`, async () => {
      const { state, lines, pass, agreed } = clocks();
      const clock = agreed();
      await clock.start();
      pass(5000);
      state.machine += setByMs;
      assert.equal(clock.now(), state.database, "before the database has told anything");
      await until(() => lines.length === 1, "the warning");
      assert.match(lines[0] ?? "", /let NTP set both/);
      pass(5000);
      assert.equal(clock.now(), state.database);
      state.machine -= setByMs;
      assert.equal(clock.now(), state.machine);
      await until(() => lines.length === 2, "the end of it");
      assert.match(lines[1] ?? "", /agrees with the database's again/);
      await clock.close();
    });
  }

  it("is not taken for set where the process stands still while it reads the clocks", async () => {
    const { state, pass, stops, agreed } = clocks();
    const clock = agreed();
    await clock.start();
    stops.push(
      () => {},
      () => pass(10_000),
    );
    clock.now();
    assert.equal(clock.now(), state.machine);
    stops.push(() => pass(10_000));
    assert.equal(clock.now(), state.machine);
    await clock.close();
  });

  it("is the machine's again after a machine has slept, once the database was asked", async () => {
    const { state, lines, agreed } = clocks();
    const clock = agreed();
    await clock.start();
    // The steady clock does not count while a machine sleeps.
    state.machine += HOUR_MS;
    state.database += HOUR_MS;
    assert.equal(clock.now(), state.machine - HOUR_MS);
    await until(() => clock.now() === state.machine, "the answer");
    assert.deepEqual(lines, []);
    await clock.close();
  });

  it("takes no answer for good during which the machine's clock was set", async () => {
    const { state, during, agreed } = clocks();
    const clock = agreed();
    await clock.start();
    for (const setByMs of [HOUR_MS, -HOUR_MS]) {
      const before = clock.now();
      during.push(() => {
        state.machine += setByMs;
      });
      await clock.start();
      assert.equal(clock.now(), before);
    }
    await clock.close();
  });

  it("is the machine's on SQLite, and nobody is asked", async () => {
    const { state, agreed } = clocks();
    state.database += HOUR_MS;
    const clock = agreed("sqlite");
    await look(clock);
    assert.equal(clock.now(), state.machine);
  });
});
