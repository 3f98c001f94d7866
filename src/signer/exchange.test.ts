import assert from "node:assert/strict";
import { duplexPair } from "node:stream";
import { afterEach, beforeEach, describe, it, mock } from "node:test";
import { readFrames, writeFrame } from "../kernel/frames.ts";
import { SIGNER_DEADLINE_MS } from "../kernel/limits.ts";
import { Exchange } from "./exchange.ts";
import type { AnswerFrame, RequestFrame, ResponseFrame } from "./protocol.ts";

const BEAT_MS = 1000;
const describeRequest = { verb: "describe" } as const;

/** The streams of a pair deliver data in the following turns of the event loop. */
async function settled(): Promise<void> {
  for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setImmediate(resolve));
}

function idOf(frame: RequestFrame | undefined): number {
  assert.ok(frame && "id" in frame);
  return frame.id;
}

function startExchange() {
  const [server, signer] = duplexPair();
  const received: RequestFrame[] = [];
  const deaths: string[] = [];
  /** The signer's answer to a ping; undefined if it stays silent. */
  let onPing: (() => ResponseFrame) | undefined;
  readFrames(signer, (frame) => {
    received.push(frame as RequestFrame);
    if ("ping" in (frame as RequestFrame) && onPing) writeFrame(signer, onPing());
  });
  let hasEnded = false;
  signer.once("end", () => {
    hasEnded = true;
  });
  signer.once("close", () => {
    hasEnded = true;
  });
  const exchange = new Exchange(server, (reason) => deaths.push(reason));
  return {
    exchange,
    received,
    deaths,
    hasEnded: () => hasEnded,
    answer: (id: number) => writeFrame(signer, { id, ms: 1, response: id }),
    answerPings: (how: () => ResponseFrame) => {
      onPing = how;
    },
    async beats(count: number) {
      for (let beat = 0; beat < count; beat++) {
        mock.timers.tick(BEAT_MS);
        await settled();
      }
    },
  };
}

describe("an exchange with the signer", () => {
  beforeEach(() => mock.timers.enable({ apis: ["setInterval"] }));
  afterEach(() => mock.timers.reset());

  it("takes answers in whichever order they come", async () => {
    const { exchange, received, answer } = startExchange();
    const answers: AnswerFrame[] = [];
    for (let count = 0; count < 3; count++) {
      exchange.send(describeRequest, (frame) => void answers.push(frame as AnswerFrame));
    }
    await settled();
    const ids = received.map((frame) => idOf(frame));
    for (const id of [...ids].reverse()) answer(id);
    await settled();
    assert.deepEqual(
      answers.map(({ id }) => id),
      [...ids].reverse(),
    );
    exchange.end();
  });

  it("tells all who wait when it ends, once", async () => {
    const { exchange } = startExchange();
    const answers: unknown[] = [];
    for (let count = 0; count < 3; count++) exchange.send(describeRequest, (frame) => answers.push(frame));
    exchange.end();
    exchange.end();
    assert.deepEqual(answers, [undefined, undefined, undefined]);
  });

  it("is over when it ends: the signer sees that, and is not watched any more", async () => {
    const { exchange, deaths, beats, received, hasEnded } = startExchange();
    exchange.send(describeRequest, () => {});
    await settled();
    exchange.end();
    await settled();
    assert.ok(hasEnded());
    await beats(2 * (SIGNER_DEADLINE_MS / BEAT_MS));
    assert.deepEqual(deaths, []);
    assert.equal(received.length, 1);
  });

  it("says on whose behalf, on what occasion and in which trace something is asked, as far as there are any", async () => {
    const { exchange, received } = startExchange();
    const occasion = { body: "{}", ballots: [] };
    exchange.send(describeRequest, () => {});
    exchange.send(describeRequest, () => {}, { organizationId: "organization", occasion, traceId: "trace" });
    await settled();
    assert.deepEqual(received, [
      { id: 1, request: describeRequest, inTurnOf: "" },
      { id: 2, request: describeRequest, inTurnOf: "organization", occasion, traceId: "trace" },
    ]);
    exchange.end();
  });

  it("waits for a signer that is busy however long, as long as it gives signs of life", async () => {
    const { exchange, deaths, beats, answerPings } = startExchange();
    answerPings(() => ({ longestMs: SIGNER_DEADLINE_MS }));
    exchange.send(describeRequest, () => {});
    await beats(100);
    assert.deepEqual(deaths, []);
    exchange.end();
  });

  it("gives a silent signer up, and not before its time; answers are signs of life too", async () => {
    const { exchange, deaths, beats, answer, received } = startExchange();
    for (let count = 0; count < 2; count++) exchange.send(describeRequest, () => {});
    await beats(9);
    answer(idOf(received[0]));
    await settled();
    await beats(SIGNER_DEADLINE_MS / BEAT_MS);
    assert.deepEqual(deaths, []);
    await beats(1);
    assert.deepEqual(deaths, [`it gave no sign of life for ${SIGNER_DEADLINE_MS} ms`]);
    await beats(2 * (SIGNER_DEADLINE_MS / BEAT_MS));
    assert.equal(deaths.length, 1, "once");
    exchange.end();
  });

  it("gives a signer up that works on one request beyond the deadline", async () => {
    const { exchange, deaths, beats, answerPings } = startExchange();
    answerPings(() => ({ longestMs: SIGNER_DEADLINE_MS + 1 }));
    exchange.send(describeRequest, () => {});
    await beats(2);
    assert.deepEqual(deaths, [`it worked on one request for ${SIGNER_DEADLINE_MS + 1} ms`]);
    exchange.end();
  });

  it("leaves a signer alone that has nothing to do", async () => {
    const { exchange, received, deaths, beats, answer } = startExchange();
    exchange.send(describeRequest, () => {});
    await settled();
    answer(idOf(received[0]));
    await settled();
    await beats(30);
    assert.equal(received.length, 1, "no ping without work");
    exchange.send(describeRequest, () => {});
    await beats(SIGNER_DEADLINE_MS / BEAT_MS);
    assert.deepEqual(deaths, [], "silence counts from the request that came after it");
    await beats(1);
    assert.equal(deaths.length, 1, "and does count");
    exchange.end();
  });
});
