import { type Static, Type } from "typebox";
import { Email, LabelOrEmpty, OneOf, PhoneNumber, Seconds, Strict } from "../../engine/fields.ts";
import { matches } from "../../engine/validate.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_OTP_SECONDS, OTP_LENGTHS, OTP_SECONDS } from "../../kernel/limits.ts";
import {
  checkEmailCustomization,
  checkSmsCustomization,
  EmailCustomization,
  SmsCustomization,
  senderFields,
} from "../messages/model.ts";

/** How a code is asked for, in all versions of the operations that send one. */

export const otpTypes = ["OTP_TYPE_EMAIL", "OTP_TYPE_SMS"] as const;
export type OtpType = (typeof otpTypes)[number];

export const featureOf: Record<OtpType, string> = {
  OTP_TYPE_EMAIL: "FEATURE_NAME_OTP_EMAIL_AUTH",
  OTP_TYPE_SMS: "FEATURE_NAME_SMS_AUTH",
};

const base = {
  otpType: OneOf(otpTypes),
  contact: Type.String({ minLength: 3, maxLength: 254 }),
  emailCustomization: Type.Optional(EmailCustomization),
  smsCustomization: Type.Optional(SmsCustomization),
  userIdentifier: Type.Optional(Type.String({ maxLength: 256 })),
  ...senderFields,
};
const shape = {
  otpLength: Type.Optional(Type.Integer()),
  alphanumeric: Type.Optional(Type.Boolean()),
};
const expirationSeconds = Type.Optional(Seconds);

export const InitOtpV1 = Strict({ ...base, ...shape, expirationSeconds });
/** From the second version on the name of the app stands by itself. */
export const InitOtp = Strict({ ...base, ...shape, expirationSeconds, appName: LabelOrEmpty });
export type InitOtp = Static<typeof InitOtpV1> & { appName?: string };
export const InitOtpAuthV1 = Strict(base);
export const InitOtpAuthV2 = Strict({ ...base, ...shape });

/** @throws KeysteadError FIELD_INVALID */
export function checkInitOtp({ otpType, contact, otpLength, expirationSeconds: life, ...more }: InitOtp): void {
  const isEmail = otpType === "OTP_TYPE_EMAIL";
  if (!matches(isEmail ? Email : PhoneNumber, contact)) {
    const reason = isEmail ? "must be an email address" : "must be a phone number in E.164 form, such as +14155550123";
    fail("FIELD_INVALID", { field: "parameters.contact", reason });
  }
  const { least, most } = OTP_LENGTHS;
  if (otpLength !== undefined && (otpLength < least || otpLength > most)) {
    fail("FIELD_INVALID", { field: "parameters.otpLength", reason: `must be from ${least} to ${most}` });
  }
  if (life !== undefined && Number(life) > MAX_OTP_SECONDS) {
    fail("FIELD_INVALID", { field: "parameters.expirationSeconds", reason: `must be at most ${MAX_OTP_SECONDS}` });
  }
  checkEmailCustomization(more.emailCustomization ?? {}, "parameters.emailCustomization");
  checkSmsCustomization(more.smsCustomization ?? {}, "parameters.smsCustomization");
}

export const codeShapeOf = ({ otpLength, alphanumeric = true }: InitOtp) => ({
  length: otpLength ?? OTP_LENGTHS.unlessSaid,
  alphanumeric,
});

/** Milliseconds. */
export const lifeOf = ({ expirationSeconds: life }: InitOtp): number => Number(life ?? OTP_SECONDS) * 1000;

/** One address has one spelling here. */
export const contactOf = ({ otpType, contact }: Pick<InitOtp, "otpType" | "contact">): string =>
  otpType === "OTP_TYPE_EMAIL" ? contact.toLowerCase() : contact;
