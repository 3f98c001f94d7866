import { type Static, Type } from "typebox";
import { type Contact, contactOf } from "../../authority/state.ts";
import { OneOf, Strict } from "../../engine/fields.ts";
import { findVerifiedHolder } from "../../engine/identity/contacts.ts";
import {
  contactOfToken,
  contactTypeOf,
  readVerificationToken,
  requireVerificationToken,
  type VerificationClaims,
} from "../../engine/keys/verification-tokens.ts";
import { type AuthMethod, type ProxyContext, proxyCall } from "../../engine/proxy-call.ts";
import { fail } from "../../kernel/errors.ts";
import { namedAccount, otpShapeOf, sessionSecondsOf } from "../auth-proxy/model.ts";
import { initOtp } from "./init-otp.ts";
import { ClientSignature, otpTypes } from "./model.ts";
import { otpLogin } from "./otp-login.ts";
import { verifyOtp } from "./verify-otp.ts";

/** One-time codes for people who have no credential yet. The organization decides the form of the codes, not the caller. */

const Text = Type.String({ minLength: 1, maxLength: 8192 });

const InitRequest = Strict({
  otpType: OneOf(otpTypes),
  contact: Text,
  emailCustomization: Type.Optional(Strict({ templateId: Type.Optional(Type.String({ maxLength: 64 })) })),
});
type InitRequest = Static<typeof InitRequest>;

const methodOf: Record<string, AuthMethod> = { OTP_TYPE_EMAIL: "email", OTP_TYPE_SMS: "sms" };
const contactOfInit = ({ otpType, contact }: InitRequest): Contact => contactOf(contactTypeOf(otpType), contact);
const methodsOfInit = ({ otpType }: InitRequest): AuthMethod[] => [methodOf[otpType] as AuthMethod];

function initParameters({ request, config: { organizationName, settings } }: ProxyContext<InitRequest>): object {
  const { otpType, contact, emailCustomization } = request;
  const { appName = organizationName, ...mail } = settings.emailCustomizationParams ?? {};
  const templateId = emailCustomization?.templateId || settings.otpTemplateId;
  const { alphanumeric, length: otpLength } = otpShapeOf(settings);
  const { sendFromEmailAddress, sendFromEmailSenderName, replyToEmailAddress, otpExpirationSeconds: life } = settings;
  return {
    otpType,
    contact,
    appName,
    otpLength,
    alphanumeric,
    emailCustomization: { ...mail, ...(templateId ? { templateId } : {}) },
    ...(settings.smsCustomizationParams ? { smsCustomization: settings.smsCustomizationParams } : {}),
    ...(life === undefined ? {} : { expirationSeconds: String(life) }),
    ...(sendFromEmailAddress ? { sendFromEmailAddress } : {}),
    ...(sendFromEmailSenderName ? { sendFromEmailSenderName } : {}),
    ...(replyToEmailAddress ? { replyToEmailAddress } : {}),
  };
}

const otpInit = proxyCall({
  path: "otp_init",
  summary: "Send a one-time code to an email address or a phone number.",
  request: InitRequest,
  response: Type.Object({ otpId: Type.String() }),
  methods: methodsOfInit,
  wantsCaptcha: () => true,
  sendsCodeTo: contactOfInit,
  async answer(context) {
    const parameters = initParameters(context);
    const { otpId } = await context.submit(initOtp, { type: "ACTIVITY_TYPE_INIT_OTP_V2", parameters });
    return { otpId };
  },
});

const otpInitV2 = proxyCall({
  path: "otp_init_v2",
  summary: "The same, with a key to which the code must be encrypted when it is submitted.",
  request: InitRequest,
  response: Type.Object({ otpId: Type.String(), otpEncryptionTargetBundle: Type.String() }),
  methods: methodsOfInit,
  wantsCaptcha: () => true,
  sendsCodeTo: contactOfInit,
  answer: (context) => context.submit(initOtp, { parameters: initParameters(context) }),
});

const verified = Type.Object({ verificationToken: Type.String() });
const lifeOfToken = ({ config: { settings } }: ProxyContext<unknown>): object =>
  settings.verificationTokenExpirationSeconds === undefined
    ? {}
    : { expirationSeconds: String(settings.verificationTokenExpirationSeconds) };

const otpVerify = proxyCall({
  path: "otp_verify",
  summary: "Exchange a code for a token that proves its contact.",
  request: Strict({ otpId: Text, otpCode: Text, publicKey: Type.Optional(Text) }),
  response: verified,
  answer: (context) =>
    context.submit(verifyOtp, {
      type: "ACTIVITY_TYPE_VERIFY_OTP",
      parameters: { ...context.request, ...lifeOfToken(context) },
    }),
});

const otpVerifyV2 = proxyCall({
  path: "otp_verify_v2",
  summary: "The same with an encrypted code, for a token that only the holder of a key can use.",
  request: Strict({ otpId: Text, encryptedOtpBundle: Text }),
  response: verified,
  answer: (context) => context.submit(verifyOtp, { parameters: { ...context.request, ...lifeOfToken(context) } }),
});

const login = {
  verificationToken: Text,
  publicKey: Text,
  invalidateExisting: Type.Optional(Type.Boolean()),
  organizationId: Type.Optional(Text),
};
const LoginRequest = Strict({ ...login, clientSignature: Type.Optional(ClientSignature) });
type LoginRequest = Static<typeof LoginRequest>;
const session = Type.Object({ session: Type.String() });

/** The claims of a token that is not verified yet. They only decide whether such sign-ins are allowed at all. */
const claimsOf = ({ verificationToken }: LoginRequest): VerificationClaims =>
  readVerificationToken(verificationToken) ??
  fail("VERIFICATION_TOKEN_INVALID", { field: "verificationToken", reason: "it has the wrong form" });

async function signIn(context: ProxyContext<LoginRequest>, type: string): Promise<Static<typeof session>> {
  const { organizationId: _, ...request } = context.request;
  const organizationId = namedAccount(context.request, context.config) ?? (await accountOf(context));
  const parameters = { ...request, expirationSeconds: sessionSecondsOf(context.config.settings) };
  return context.submit(otpLogin, { type, organizationId, parameters });
}

/**
 * The sub-organization in which the contact is verified, so that nobody can capture another person's sign-in by entering their address. The token
 * is verified first, so that responses do not reveal to strangers who has an address.
 */
async function accountOf({ request, config, read, now }: ProxyContext<LoginRequest>): Promise<string> {
  const organization = { id: config.organizationId, parentId: null };
  const where = { organization, field: "verificationToken", now };
  const token = await requireVerificationToken(read, request.verificationToken, where);
  const holder = await findVerifiedHolder(read, organization.id, contactOfToken(token));
  // The proxy does not serve the organization's own users.
  const isBelow = holder !== undefined && holder.organizationId !== organization.id;
  return isBelow ? holder.organizationId : fail("ACCOUNT_NOT_FOUND", { what: "verified contact" });
}

const methodsOfLogin = (request: LoginRequest): AuthMethod[] => {
  const method = methodOf[claimsOf(request).verification_type];
  return method ? [method] : [];
};

const otpLoginV1 = proxyCall({
  path: "otp_login",
  summary: "Sign a user in with a token that proves their contact.",
  request: LoginRequest,
  response: session,
  methods: methodsOfLogin,
  answer: (context) => signIn(context, "ACTIVITY_TYPE_OTP_LOGIN"),
});

const otpLoginV2 = proxyCall({
  path: "otp_login_v2",
  summary: "The same with a signature by the key that the token is bound to.",
  request: Strict({ ...login, clientSignature: ClientSignature }),
  response: session,
  methods: methodsOfLogin,
  answer: (context) => signIn(context, "ACTIVITY_TYPE_OTP_LOGIN_V2"),
});

export const otpCalls = [otpInit, otpInitV2, otpVerify, otpVerifyV2, otpLoginV1, otpLoginV2];
