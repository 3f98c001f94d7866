import { type Static, Type } from "typebox";
import { LabelOrEmpty, OneOf, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import {
  MAX_MAGIC_LINK_LENGTH,
  MAX_SMS_TEMPLATE_LENGTH,
  MAX_TEMPLATE_VARIABLES,
  MAX_TEMPLATE_VARIABLES_LENGTH,
  MAX_URL_LENGTH,
} from "../../kernel/limits.ts";
import { type MailKindName, mailKindNames, mailKinds } from "../../providers/templates/kinds.ts";
import { type Facts, problemOf } from "../../providers/templates/render.ts";
import type { Templates } from "../../providers/templates/templates.ts";

/**
 * How requests customize their messages. An empty text counts as absent, because clients in languages with default values send empty texts.
 */

const emailOrEmpty = {
  maxLength: 254,
  pattern: "^$|^[^\\s@\\u0000-\\u001f\\u007f]{1,64}@[^\\s@\\u0000-\\u001f\\u007f]+$",
  description: "an email address, or empty",
} as const;

/** The members of an intent that set a mail's sender; `senderOfIntent` reads them. */
export const senderFields = {
  sendFromEmailAddress: Type.Optional(Type.String(emailOrEmpty)),
  sendFromEmailSenderName: Type.Optional(LabelOrEmpty),
  replyToEmailAddress: Type.Optional(Type.String(emailOrEmpty)),
};

/** `emailCustomization`, including the app's name. */
export const EmailCustomization = Strict({
  appName: Type.Optional(LabelOrEmpty),
  logoUrl: Type.Optional(Type.String({ maxLength: MAX_URL_LENGTH })),
  magicLinkTemplate: Type.Optional(Type.String({ maxLength: MAX_MAGIC_LINK_LENGTH })),
  templateVariables: Type.Optional(Type.String({ maxLength: MAX_TEMPLATE_VARIABLES_LENGTH })),
  templateId: Type.Optional(Type.String({ maxLength: 64 })),
});
export type EmailCustomization = Static<typeof EmailCustomization>;

export const SmsCustomization = Strict({
  template: Type.Optional(Type.String({ maxLength: MAX_SMS_TEMPLATE_LENGTH })),
});
export type SmsCustomization = Static<typeof SmsCustomization>;

export const RequestedSender = Type.Object({
  address: Type.Optional(Type.String()),
  name: Type.Optional(Type.String()),
  replyTo: Type.Optional(Type.String()),
});
export type RequestedSender = Static<typeof RequestedSender>;

export const senderOfIntent = (intent: {
  sendFromEmailAddress?: string;
  sendFromEmailSenderName?: string;
  replyToEmailAddress?: string;
}): RequestedSender => ({
  ...(intent.sendFromEmailAddress ? { address: intent.sendFromEmailAddress } : {}),
  ...(intent.sendFromEmailSenderName ? { name: intent.sendFromEmailSenderName } : {}),
  ...(intent.replyToEmailAddress ? { replyTo: intent.replyToEmailAddress } : {}),
});

/** The content of a mail, without its recipient. It stays sealed until the mail is sent. */
export const MailContent = Type.Object({
  kind: OneOf(mailKindNames),
  /** The secret that the mail delivers: a code, a bundle, or a token. */
  secret: Type.String(),
  sender: Type.Optional(RequestedSender),
  customization: Type.Optional(EmailCustomization),
});
export type MailContent = Static<typeof MailContent>;

export const SmsContent = Type.Object({
  code: Type.String(),
  appName: Type.Optional(Type.String()),
  customization: Type.Optional(SmsCustomization),
});
export type SmsContent = Static<typeof SmsContent>;

/** The app's name if the request has none. */
const DEFAULT_APP_NAME = "Keystead";
const DEFAULT_SMS = "{{ .OtpCode }} is your one-time code for {{ .AppName }}.";

/** Schemes that execute or show the content of the link itself, or a local file. */
const FORBIDDEN_SCHEMES = ["javascript:", "data:", "vbscript:", "file:", "blob:", "about:"];

/**
 * The rules that the schema cannot express. Cheap enough for an operation's `check`. `field` is the path of the customization, such as
 * `parameters.emailCustomization`.
 *
 * @throws KeysteadError FIELD_INVALID naming the member
 */
export function checkEmailCustomization(customization: EmailCustomization, field: string): void {
  const { logoUrl, magicLinkTemplate, templateVariables } = customization;
  const refuse = (member: string, reason: string): never =>
    fail("FIELD_INVALID", { field: `${field}.${member}`, reason });
  if (logoUrl && !isPlainUrl(logoUrl, ["https:"])) refuse("logoUrl", "must be an https URL");
  if (magicLinkTemplate) {
    const problem = magicLinkProblem(magicLinkTemplate);
    if (problem) refuse("magicLinkTemplate", `is an invalid magic link template: it ${problem}`);
  }
  if (templateVariables) {
    const read = readVariables(templateVariables);
    if ("problem" in read) refuse("templateVariables", `failed to unmarshal template variables: ${read.problem}`);
  }
}

/** @throws KeysteadError FIELD_INVALID naming the member */
export function checkSmsCustomization({ template }: SmsCustomization, field: string): void {
  if (!template) return;
  const problem = /\{\{\s*\.OtpCode\s*\}\}/.test(template)
    ? problemOf(template, smsFacts({ code: "" }))
    : "must contain {{.OtpCode}}";
  if (problem) fail("FIELD_INVALID", { field: `${field}.template`, reason: problem });
}

/**
 * Checks that the named template exists and can be filled for this kind of mail; `field` is the path of the field that names it.
 *
 * @throws KeysteadError FIELD_INVALID
 */
export async function checkTemplate(
  templates: Templates,
  kind: MailKindName,
  customization: EmailCustomization,
  field: string,
): Promise<void> {
  const { templateId } = customization;
  if (!templateId) return;
  const found = await templates.find({ kind, templateId }, mailFacts({ kind, secret: "", customization }));
  if (!("problem" in found)) return;
  const reason = `failed to get email template contents: the template ${found.problem}`;
  fail("FIELD_INVALID", { field, reason });
}

/** The values for a mail's placeholders. */
export function mailFacts({ kind, secret, customization = {} }: MailContent): Facts {
  const { appName, logoUrl, magicLinkTemplate, templateVariables } = customization;
  const variables = templateVariables ? readVariables(templateVariables) : { variables: {} };
  return {
    places: {
      [mailKinds[kind].carries]: secret,
      AppName: appName || DEFAULT_APP_NAME,
      ...(logoUrl ? { LogoUrl: logoUrl } : {}),
      // A function, because `$` is special in a replacement string.
      ...(magicLinkTemplate ? { MagicLink: magicLinkTemplate.replace("%s", () => encodeURIComponent(secret)) } : {}),
    },
    variables: "variables" in variables ? variables.variables : {},
  };
}

export const smsFacts = ({ code, appName }: SmsContent): Facts => ({
  places: { OtpCode: code, AppName: appName || DEFAULT_APP_NAME },
  variables: {},
});

export const smsTemplate = ({ customization }: SmsContent): string => customization?.template || DEFAULT_SMS;

function magicLinkProblem(template: string): string | undefined {
  if (template.split("%s").length !== 2) return "must have %s in it once";
  const url = template.replace("%s", "x");
  if (!isPlainUrl(url)) return "must be an absolute URL";
  return schemeProblem(new URL(url));
}

/** Why a link must not have this scheme; undefined if it may. Apps have schemes of their own, so only dangerous ones are refused. */
export const schemeProblem = ({ protocol }: URL): string | undefined =>
  FORBIDDEN_SCHEMES.includes(protocol) ? `must not use the scheme ${protocol}` : undefined;

/** Whether this is an absolute URL of visible ASCII characters, with one of the schemes if given. */
function isPlainUrl(text: string, schemes?: readonly string[]): boolean {
  const url = /^[\x21-\x7e]+$/.test(text) ? URL.parse(text) : null;
  return url !== null && (schemes === undefined || schemes.includes(url.protocol));
}

type Variables = { variables: Record<string, string> } | { problem: string };

/** Parses `templateVariables`, the JSON of an object of texts. */
function readVariables(json: string): Variables {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return { problem: "it is not valid JSON" };
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const entries = isObject ? Object.entries(value as object) : [];
  if (!isObject || !entries.every(([, each]) => typeof each === "string"))
    return { problem: "it must be an object of texts" };
  if (entries.length > MAX_TEMPLATE_VARIABLES) return { problem: `it has more than ${MAX_TEMPLATE_VARIABLES} members` };
  return { variables: Object.fromEntries(entries) as Record<string, string> };
}
