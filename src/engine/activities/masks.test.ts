import assert from "node:assert/strict";
import { it } from "node:test";
import { hasSecrets, maskedActivity, maskedIntent, maskedMessage } from "./masks.ts";

const intent = { verifyOtpIntent: { otpId: "id", otpCode: "SECRET" } };
const message = JSON.stringify({ type: "T", parameters: intent.verifyOtpIntent, note: "n" });
const masked = { otpId: "id", otpCode: "***" };

it("a code is masked in the intent and in each vote, and nothing beside it", () => {
  assert.equal(hasSecrets(intent), true);
  assert.deepEqual(maskedIntent(intent), { verifyOtpIntent: masked });
  assert.deepEqual(JSON.parse(maskedMessage(message)), { type: "T", parameters: masked, note: "n" });
  const approval = '{ "parameters": {"fingerprint": "f"} }';
  const votes = [
    { id: "one", message },
    { id: "two", message: approval },
  ];
  const shown = maskedActivity({ id: "a", intent, votes });
  assert.ok(!JSON.stringify(shown).includes("SECRET"));
  assert.deepEqual(shown.votes[1], { id: "two", message: approval }, "letter for letter, as it was signed");
});

it("what has no code stays as it is, and a body that cannot be read goes whole", () => {
  for (const other of [{ intent: { otpId: "id" } }, { intent: null }, { intent: "otpCode" }, { intent: ["otpCode"] }]) {
    assert.equal(hasSecrets(other as Record<string, unknown>), false);
    assert.deepEqual(maskedIntent(other as Record<string, unknown>), other);
  }
  const activity = { intent: { intent: { otpId: "id" } }, votes: [{ message: "{}" }] };
  assert.equal(maskedActivity(activity), activity);
  for (const text of ['{"parameters":{"otpCode":"SECRET"}', '["SECRET"]', '"SECRET"', "null"]) {
    assert.equal(maskedMessage(text), "***");
  }
});
