import assert from "node:assert/strict";
import { OutboundError } from "../../src/delivery/outbound.ts";

/** Expects an OutboundError of this kind; gives its message. */
export async function failure(outcome: Promise<unknown>, kind: string): Promise<string> {
  const error = await outcome.then(
    () => assert.fail("the request had an answer"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof OutboundError, String(error));
  assert.equal(error.kind, kind, error.message);
  return error.message;
}
