import { type Static, Type } from "typebox";
import { otpFeatures } from "../../authority/attested.ts";
import { type Contact, contactOf as contactOfType } from "../../authority/state.ts";
import { Email, LabelOrEmpty, OneOf, PhoneNumber, Seconds, Strict } from "../../engine/fields.ts";
import { contactTypeOf } from "../../engine/keys/verification-tokens.ts";
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
import { SessionPublicKey } from "../sessions/store.ts";

/** The requests for codes, in all versions of the operations that send one. */

export const otpTypes = ["OTP_TYPE_EMAIL", "OTP_TYPE_SMS"] as const;
export type OtpType = (typeof otpTypes)[number];

export const featureOf = (otpType: string): string => otpFeatures[contactTypeOf(otpType)];

const base = {
  otpType: OneOf(otpTypes),
  contact: Type.String({ minLength: 3, maxLength: 254 }),
  emailCustomization: Type.Optional(EmailCustomization),
  smsCustomization: Type.Optional(SmsCustomization),
  /** The app's id for the requester, such as the hash of an IP address. Only this reveals somebody who tries one contact after another. */
  userIdentifier: Type.Optional(Type.String({ maxLength: 256 })),
  ...senderFields,
};
const shape = {
  otpLength: Type.Optional(Type.Integer()),
  alphanumeric: Type.Optional(Type.Boolean()),
};
const expirationSeconds = Type.Optional(Seconds);

export const InitOtpV1 = Strict({ ...base, ...shape, expirationSeconds });
/** From the second version on, the app's name is a field of its own. */
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

/** A code's life, in milliseconds. */
export const lifeOf = ({ expirationSeconds: life }: InitOtp): number => Number(life ?? OTP_SECONDS) * 1000;

/** The contact to which the code is sent. */
export const contactOf = ({ otpType, contact }: Pick<InitOtp, "otpType" | "contact">): Contact =>
  contactOfType(contactTypeOf(otpType), contact);

/** A token of `verify_otp`. */
export const VerificationToken = Type.String({ minLength: 1, maxLength: 4096 });
/** The same, or empty: clients in languages with default values send an empty text if they have none. */
export const VerificationTokenOrEmpty = Type.String({ maxLength: 4096 });

/** A client's signature with the key in its token, which proves that the token is its own. */
export const ClientSignature = Strict({
  publicKey: SessionPublicKey,
  scheme: OneOf(["CLIENT_SIGNATURE_SCHEME_API_P256"]),
  // The message of a sign-up contains all of the user's credentials.
  message: Type.String({ maxLength: 65_536 }),
  signature: Type.String({ pattern: "^[0-9a-fA-F]{128}$", description: "r and s in hex" }),
});
