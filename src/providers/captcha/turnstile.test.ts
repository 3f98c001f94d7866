import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OutboundError, type OutboundErrorKind } from "../../delivery/outbound.ts";
import { deadlineError } from "../../delivery/outbound-error.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { MAX_CAPTCHAS_OF_ONE_ORGANIZATION, MAX_WAITING_CAPTCHAS } from "../../kernel/limits.ts";
import { createLogger } from "../../kernel/log.ts";
import { createTurnstile } from "./turnstile.ts";

const settings = { url: "https://captcha.example", siteKey: "site key", secret: "the secret" };
const of = (organizationId: string) => ({ organizationId, remoteAddress: "192.0.2.1" });

/** A provider that answers when the test makes it. */
function heldProvider() {
  const asked: { token: string; answer: (document: object) => void; break: (error: Error) => void }[] = [];
  const lines: string[] = [];
  const captcha = createTurnstile(
    settings,
    {
      request: ({ body }) =>
        new Promise((resolve, reject) => {
          const answer = (document: object) =>
            resolve({
              status: 200,
              headers: {},
              body: Buffer.from(JSON.stringify(document)),
              truncated: false,
              durationMs: 1,
            });
          asked.push({ token: new URLSearchParams(String(body)).get("response") ?? "", answer, break: reject });
        }),
    },
    createLogger("debug", { write: (line: string) => void lines.push(line) }),
  );
  return { captcha, asked, log: () => lines.join("") };
}

const isRefusedForNow = (error: unknown): boolean =>
  error instanceof KeysteadError && error.code === "RATE_LIMITED" && error.retryAfterSeconds !== undefined;

describe("a captcha's provider", () => {
  it("is asked in bounded numbers for each organization; who comes beyond that is told so, and does not pass", async () => {
    const { captcha, asked } = heldProvider();
    const flood = Array.from({ length: MAX_WAITING_CAPTCHAS }, () => captcha.verify("guessed", of("flooded")));
    await assert.rejects(captcha.verify("one more", of("flooded")), isRefusedForNow);
    assert.equal(asked.length, MAX_CAPTCHAS_OF_ONE_ORGANIZATION);
    const other = captcha.verify("solved", of("other"));
    await new Promise(setImmediate);
    const [theirs] = asked.filter(({ token }) => token === "solved");
    theirs?.answer({ success: true });
    assert.equal(await other, true, "others are not behind the flood");
    for (let index = 0; index < flood.length; index++) {
      asked.filter(({ token }) => token === "guessed")[index]?.answer({ success: false });
      assert.equal(await flood[index], false);
    }
    const next = captcha.verify("guessed", of("flooded"));
    await new Promise(setImmediate);
    asked.at(-1)?.answer({ success: false });
    assert.equal(await next, false, "the line is short again");
  });

  it("that was not reached for our own other requests is no reason to let anybody pass", async () => {
    const { captcha, asked } = heldProvider();
    const verified = captcha.verify("guessed", of("organization"));
    await new Promise(setImmediate);
    asked[0]?.break(deadlineError(5000, "queue"));
    await assert.rejects(verified, isRefusedForNow);
  });

  it("that cannot be asked by the server's own rules lets nobody pass; one that is away lets everybody", async () => {
    const kinds: [OutboundErrorKind, boolean][] = [
      ["url", false],
      ["blocked", false],
      ["dns", true],
      ["connect", true],
      ["timeout", true],
    ];
    for (const [kind, passes] of kinds) {
      const { captcha, asked } = heldProvider();
      const verified = captcha.verify("token", of("organization"));
      await new Promise(setImmediate);
      asked[0]?.break(new OutboundError(kind, "did not go"));
      assert.equal(await verified, passes, kind);
    }
  });

  it("that refuses this server is told to the operator; what it says of tokens is not", async () => {
    for (const [code, isLogged] of [
      ["invalid-input-secret", true],
      ["timeout-or-duplicate", false],
    ] as const) {
      const { captcha, asked, log } = heldProvider();
      const verified = captcha.verify("token", of("organization"));
      await new Promise(setImmediate);
      asked[0]?.answer({ success: false, "error-codes": [code, { nested: 1 }, "Not a word\n"] });
      assert.equal(await verified, false);
      assert.equal(log().includes(code), isLogged, log());
      assert.doesNotMatch(log(), /Not a word|the secret/);
    }
  });
});
