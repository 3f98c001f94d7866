import assert from "node:assert/strict";
import { it } from "node:test";
import { renderError } from "./render-error.ts";

for (const thrown of [undefined, null, "text", 1, {}, new Error("secret")]) {
  it(`${thrown instanceof Error ? "an error" : JSON.stringify(thrown)} that was thrown tells the client a request id alone`, () => {
    const { status, body, isOurs } = renderError(thrown, "the-request");
    assert.deepEqual([status, body.code, body.message, isOurs], [500, 13, "internal server error (the-request)", true]);
  });
}
