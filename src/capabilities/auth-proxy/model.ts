import { type Static, Type } from "typebox";
import { GOOGLE_ISSUER } from "../../authority/rules/contacts.ts";
import { List, OneOf, Strict } from "../../engine/fields.ts";
import {
  type AuthMethod,
  type AuthProxySettings,
  authMethods,
  type ProxyConfig,
  type SocialMethod,
  socialMethods,
} from "../../engine/proxy-call.ts";
import { fail } from "../../kernel/errors.ts";
import {
  MAX_AUTH_PROXY_ENTRIES,
  MAX_AUTH_PROXY_SESSION_SECONDS,
  MAX_LABEL_LENGTH,
  MAX_OTP_SECONDS,
  MAX_URL_LENGTH,
  MAX_VERIFICATION_TOKEN_SECONDS,
  OTP_LENGTHS,
} from "../../kernel/limits.ts";
import { readToken } from "../../providers/oidc/token.ts";
import type { OidcClaims } from "../../providers/oidc/verifier.ts";
import {
  checkEmailCustomization,
  checkSmsCustomization,
  EmailCustomization,
  SmsCustomization,
  schemeProblem,
  senderFields,
} from "../messages/model.ts";

const ClientId = Type.String({ minLength: 1, maxLength: MAX_LABEL_LENGTH });
const TemplateId = Type.String({ maxLength: 64 });
const seconds = (maximum: number) => Type.Integer({ minimum: 1, maximum, description: `from 1 to ${maximum}` });

const ofOne = Type.Optional(ClientId);
export const oauthClientIds: Record<SocialMethod, typeof ofOne> = {
  google: ofOne,
  apple: ofOne,
  facebook: ofOne,
  x: ofOne,
  discord: ofOne,
};

/** All settings, in the form of requests and responses. */
export const settingFields = {
  allowedOrigins: Type.Optional(List(Type.String({ minLength: 1, maxLength: MAX_URL_LENGTH }), MAX_AUTH_PROXY_ENTRIES)),
  allowedAuthMethods: Type.Optional(List(OneOf(authMethods), authMethods.length)),
  ...senderFields,
  emailAuthTemplateId: Type.Optional(TemplateId),
  otpTemplateId: Type.Optional(TemplateId),
  emailCustomizationParams: Type.Optional(EmailCustomization),
  smsCustomizationParams: Type.Optional(SmsCustomization),
  walletKitSettings: Type.Optional(
    Strict({
      enabledSocialProviders: Type.Optional(List(OneOf(socialMethods), socialMethods.length)),
      oauthClientIds: Type.Optional(Strict(oauthClientIds)),
      oauthRedirectUrl: Type.Optional(Type.String({ maxLength: MAX_URL_LENGTH })),
    }),
  ),
  otpExpirationSeconds: Type.Optional(seconds(MAX_OTP_SECONDS)),
  verificationTokenExpirationSeconds: Type.Optional(seconds(MAX_VERIFICATION_TOKEN_SECONDS)),
  sessionExpirationSeconds: Type.Optional(seconds(MAX_AUTH_PROXY_SESSION_SECONDS)),
  otpAlphanumeric: Type.Optional(Type.Boolean()),
  otpLength: Type.Optional(
    Type.Integer({
      minimum: OTP_LENGTHS.least,
      maximum: OTP_LENGTHS.most,
      description: `from ${OTP_LENGTHS.least} to ${OTP_LENGTHS.most}`,
    }),
  ),
  verificationTokenRequiredForGetAccountPii: Type.Optional(Type.Boolean()),
  socialLinkingClientIds: Type.Optional(List(ClientId, MAX_AUTH_PROXY_ENTRIES)),
  captchaEnabled: Type.Optional(Type.Boolean()),
};

export const AuthProxyConfig = Type.Object(
  {
    configId: Type.String(),
    enabled: Type.Boolean(),
    /** The user whose key stamps the proxy's requests; absent until the proxy is first enabled. */
    proxyUserId: Type.Optional(Type.String()),
    ...settingFields,
  },
  { $id: "AuthProxyConfig" },
);
export type AuthProxyConfig = Static<typeof AuthProxyConfig>;

const ANY_ORIGIN = "*";

/**
 * The rules that the schema cannot express.
 *
 * @throws KeysteadError FIELD_INVALID naming the field
 */
export function checkSettings(settings: AuthProxySettings): void {
  const {
    allowedOrigins = [],
    emailCustomizationParams = {},
    smsCustomizationParams = {},
    walletKitSettings,
  } = settings;
  const bad = allowedOrigins.findIndex((origin) => origin !== ANY_ORIGIN && originOf(origin) === undefined);
  if (bad >= 0) {
    const reason = "must be an origin such as https://app.example.com, or * for any";
    fail("FIELD_INVALID", { field: `parameters.allowedOrigins.${bad}`, reason });
  }
  checkEmailCustomization(emailCustomizationParams, "parameters.emailCustomizationParams");
  checkSmsCustomization(smsCustomizationParams, "parameters.smsCustomizationParams");
  const redirect = walletKitSettings?.oauthRedirectUrl;
  const reason = redirect ? redirectProblem(redirect) : undefined;
  if (reason !== undefined) fail("FIELD_INVALID", { field: "parameters.walletKitSettings.oauthRedirectUrl", reason });
}

function redirectProblem(text: string): string | undefined {
  const url = URL.parse(text);
  return url ? schemeProblem(url) : "must be a URL";
}

/** An origin as browsers send it; undefined if the text is none. A trailing slash is accepted. */
function originOf(text: string): string | undefined {
  const trimmed = text.replace(/\/$/, "").toLowerCase();
  const { origin, protocol } = URL.canParse(trimmed) ? new URL(trimmed) : { origin: "", protocol: "" };
  return origin === trimmed && /^https?:$/.test(protocol) && !origin.includes("*") ? origin : undefined;
}

/** Whether pages of this origin may call the proxy. Requests that do not come from a browser have no origin. */
export const isAllowedOrigin = ({ allowedOrigins = [ANY_ORIGIN] }: AuthProxySettings, origin: string): boolean =>
  allowedOrigins.some((allowed) => allowed === ANY_ORIGIN || originOf(allowed) === origin.toLowerCase());

/** The form of codes. The defaults are those that a wallet kit assumes. */
export const otpShapeOf = ({ otpAlphanumeric = true, otpLength = OTP_LENGTHS.least }: AuthProxySettings) => ({
  alphanumeric: otpAlphanumeric,
  length: otpLength,
});

const SESSION_SECONDS = 900;

/** How long a session lasts, in seconds, as a string of digits. */
export const sessionSecondsOf = ({ sessionExpirationSeconds = SESSION_SECONDS }: AuthProxySettings): string =>
  String(sessionExpirationSeconds);

/** The issuers that are methods of their own; any other is `oidc`. */
const methodsByIssuer: Record<string, SocialMethod> = {
  [GOOGLE_ISSUER]: "google",
  "accounts.google.com": "google",
  "https://appleid.apple.com": "apple",
  "https://www.facebook.com": "facebook",
  "https://limited.facebook.com": "facebook",
};

/** The subjects of this server's own issuer begin with the provider's name. */
const methodsBySubject = { "x:": "x", "discord:": "discord" } as const;

/** The sign-in method that an issuer's tokens stand for. */
export function methodOfIssuer(issuer: string, subject: string, ownIssuer: string): AuthMethod {
  const known = methodsByIssuer[issuer];
  if (known) return known;
  if (issuer !== ownIssuer) return "oidc";
  const [, method] = Object.entries(methodsBySubject).find(([prefix]) => subject.startsWith(prefix)) ?? [];
  return method ?? "oidc";
}

/** The same for a token that is not verified yet; `field` is its path in the request. */
export function methodOfToken(token: string, field: string, ownIssuer: string): AuthMethod {
  const { iss, sub } = readToken(token, (reason) => fail("OIDC_TOKEN_INVALID", { field, reason })).claims;
  return methodOfIssuer(iss, sub, ownIssuer);
}

/** The client ids of all apps that an organization has configured. */
export const ownAppsOf = ({ socialLinkingClientIds = [], walletKitSettings }: AuthProxySettings): string[] => [
  ...socialLinkingClientIds,
  ...Object.values(walletKitSettings?.oauthClientIds ?? {}),
];

/** Whether a Google client id belongs to one of the organization's own apps. */
export const isOwnApp = (
  clientId: string,
  { socialLinkingClientIds = [], walletKitSettings }: AuthProxySettings,
): boolean => socialLinkingClientIds.includes(clientId) || walletKitSettings?.oauthClientIds?.google === clientId;

/**
 * The person's email address according to a verified token; undefined if the token is no proof of it. Only Google's tokens are, and only those
 * for an app of the organization: the owner of any other app receives the tokens of everybody who uses that app.
 */
export const shownEmailOf = (
  { iss, aud, email, emailVerified }: OidcClaims,
  settings: AuthProxySettings,
): string | undefined => (iss === GOOGLE_ISSUER && emailVerified && isOwnApp(aud, settings) ? email : undefined);

/**
 * The account that a login names, if any. The proxy does not serve the organization's own users, so a login that names the organization itself
 * means the matching account below it.
 */
export const namedAccount = (
  { organizationId: named }: { organizationId?: string },
  { organizationId }: Pick<ProxyConfig, "organizationId">,
): string | undefined => (named === organizationId ? undefined : named);
