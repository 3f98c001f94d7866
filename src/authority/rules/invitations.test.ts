import assert from "node:assert/strict";
import { it } from "node:test";
import { KeysteadError } from "../../kernel/errors.ts";
import { requireInvitation } from "./invitations.ts";

it("an invitation is accepted with its own id and token, before its time is over", () => {
  const one = { id: "one", tokenHash: "11", expiresAt: 1000 };
  const open = [one, { ...one, id: "two", tokenHash: "22" }, { ...one, id: "never", tokenHash: "33", expiresAt: null }];
  const accept = (id: string, tokenHash: string, now = 999) => requireInvitation(open, { id, tokenHash }, now);
  assert.equal(accept("one", "11"), one);
  const refusals: [string, string, number?][] = [
    ["one", "22"],
    ["two", "11"],
    ["three", "11"],
    ["never", "33"],
    ["one", "11", 1000],
  ];
  for (const refusal of refusals) {
    assert.throws(
      () => accept(...refusal),
      (error) => error instanceof KeysteadError && error.code === "INVITATION_INVALID",
      refusal.join(),
    );
  }
});
