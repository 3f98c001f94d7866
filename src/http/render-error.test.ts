import assert from "node:assert/strict";
import { it } from "node:test";
import { KeysteadError } from "../kernel/errors.ts";
import { renderError } from "./render-error.ts";

for (const thrown of [undefined, null, "text", 1, {}, new Error("secret")]) {
  it(`${thrown instanceof Error ? "an error" : JSON.stringify(thrown)} that was thrown tells the client a request id alone`, () => {
    const { status, body, seenBy } = renderError(thrown, "the-request");
    assert.deepEqual(
      [status, body.code, body.message, seenBy],
      [500, 13, "internal server error (the-request)", "developers"],
    );
  });
}

it("what an operator has refused on purpose is none of the server's failures", () => {
  const { status, retryAfterSeconds, seenBy } = renderError(
    new KeysteadError("MAINTENANCE", { reason: "", retryAfterSeconds: 30 }, []),
    "the-request",
  );
  assert.deepEqual([status, retryAfterSeconds, seenBy], [503, 30, undefined]);
});
