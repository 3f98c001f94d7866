import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { OUTAGE_PATIENCE_MS } from "../kernel/limits.ts";
import { DatabaseFailure } from "./failure.ts";
import { OutagePatience } from "./outage.ts";

const outage = () => new DatabaseFailure("outage", "gone");

/** Makes the pauses pass immediately. */
async function pauses(test: TestContext, until: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1000 && !until(); turn++) {
    await new Promise(setImmediate);
    test.mock.timers.tick(100);
  }
}

describe("patience with outages", () => {
  it("tries again until it works", async (test) => {
    test.mock.timers.enable({ apis: ["setTimeout", "Date"] });
    let tries = 0;
    let value: string | undefined;
    const done = new OutagePatience()
      .through(async () => {
        if (++tries < 4) throw outage();
        return "there";
      })
      .then((result) => {
        value = result;
      });
    await pauses(test, () => value !== undefined);
    await done;
    assert.deepEqual([value, tries], ["there", 4]);
  });

  it("has an end, after which everybody is told at once, until something works again", async (test) => {
    test.mock.timers.enable({ apis: ["setTimeout", "Date"] });
    const patience = new OutagePatience();
    let tries = 0;
    let ended = false;
    const away = async () => {
      tries++;
      throw outage();
    };
    const first = patience.through(away).finally(() => {
      ended = true;
    });
    first.catch(() => {});
    await pauses(test, () => ended);
    await assert.rejects(first);
    assert.ok(tries > 5 && tries < OUTAGE_PATIENCE_MS / 25, `${tries} tries`);
    assert.ok(Date.now() >= OUTAGE_PATIENCE_MS);
    tries = 0;
    await assert.rejects(patience.through(away));
    assert.equal(tries, 1);
    await patience.through(async () => {});
    const again = patience.through(away);
    again.catch(() => {});
    await new Promise(setImmediate);
    patience.end();
    test.mock.timers.tick(1000);
    await assert.rejects(again, "and none once it ends");
  });

  it("is for outages alone", async () => {
    for (const error of [new DatabaseFailure("unavailable", "full"), new DatabaseFailure("bug", "x"), new Error("x")]) {
      let tries = 0;
      await assert.rejects(
        new OutagePatience().through(async () => {
          tries++;
          throw error;
        }),
        error,
      );
      assert.equal(tries, 1);
    }
  });
});
