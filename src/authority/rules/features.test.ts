import assert from "node:assert/strict";
import { it } from "node:test";
import { viewOfPeople } from "../../../test/support/people.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { draftOn } from "../view.ts";
import { disabledFeatures, featuresAtFirst, removeFeature, requireFeature } from "./features.ts";

const [EMAIL_AUTH, OTP_EMAIL_AUTH] = ["FEATURE_NAME_EMAIL_AUTH", "FEATURE_NAME_OTP_EMAIL_AUTH"];
const [EMAIL_RECOVERY, SMS_AUTH] = ["FEATURE_NAME_EMAIL_RECOVERY", "FEATURE_NAME_SMS_AUTH"];

it("a parent starts without what recovers or signs in its staff by mail or phone; a sub-organization with all but what is disabled", () => {
  assert.deepEqual(featuresAtFirst(null), [EMAIL_AUTH, OTP_EMAIL_AUTH]);
  assert.deepEqual(featuresAtFirst("parent"), [EMAIL_AUTH, OTP_EMAIL_AUTH, EMAIL_RECOVERY, SMS_AUTH]);
  assert.deepEqual(disabledFeatures({ disableEmailRecovery: true }), [EMAIL_RECOVERY]);
  assert.deepEqual(disabledFeatures({ disableEmailAuth: true }), [EMAIL_AUTH]);
  assert.deepEqual(disabledFeatures({ disableSmsAuth: true }), [SMS_AUTH]);
  assert.deepEqual(disabledFeatures({ disableOtpEmailAuth: true }), [OTP_EMAIL_AUTH]);
  assert.deepEqual(disabledFeatures({ disableEmailAuth: false }), []);
});

it("a feature is on or off by its whole name", () => {
  const draft = draftOn(viewOfPeople({}, { features: [{ name: EMAIL_AUTH, value: null }] }));
  const refused = (code: string) => (error: unknown) => error instanceof KeysteadError && error.code === code;
  requireFeature(draft, EMAIL_AUTH);
  assert.throws(() => requireFeature(draft, OTP_EMAIL_AUTH), refused("FEATURE_OFF"));
  assert.throws(() => removeFeature(draft, OTP_EMAIL_AUTH), refused("RESOURCE_NOT_FOUND"));
  removeFeature(draft, EMAIL_AUTH);
  assert.throws(() => requireFeature(draft, EMAIL_AUTH), refused("FEATURE_OFF"));
});
