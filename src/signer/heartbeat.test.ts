import assert from "node:assert/strict";
import { it, mock } from "node:test";
import { SIGNER_DEADLINE_MS, SIGNER_START_MS } from "../kernel/limits.ts";
import { Heartbeat } from "./heartbeat.ts";

it("a signer that starts has its time, and one that spoke once is missed sooner", () => {
  mock.timers.enable({ apis: ["setInterval"] });
  try {
    const dead: string[] = [];
    const watched = () => {
      const heartbeat = new Heartbeat({ isBusy: () => true, ping: () => {}, onDead: (reason) => dead.push(reason) });
      heartbeat.start();
      return heartbeat;
    };
    watched();
    mock.timers.tick(SIGNER_START_MS);
    assert.deepEqual(dead, []);
    mock.timers.tick(1000);
    assert.deepEqual(dead, [`it gave no sign of life for ${SIGNER_START_MS} ms`]);
    const second = watched();
    second.heard();
    mock.timers.tick(SIGNER_DEADLINE_MS);
    assert.equal(dead.length, 1);
    mock.timers.tick(1000);
    assert.equal(dead.at(-1), `it gave no sign of life for ${SIGNER_DEADLINE_MS} ms`);
  } finally {
    mock.timers.reset();
  }
});
