import type { Facts, Place, Template } from "./render.ts";

/** The kinds of mail, what each contains, and its built-in text. */

interface MailKind {
  /** What the mail delivers: a code, a bundle or a token. */
  carries: Place;
  subject: (app: string) => string;
  /** The sentence before the content. */
  lead: (app: string) => string;
  /** The text of the link, which appears by itself. */
  action: string;
}

const IGNORE = "If you did not ask for this, you can ignore this message.";

export const mailKinds = {
  otp: {
    carries: "OtpCode",
    subject: (app) => `Your code for ${app}`,
    lead: (app) => `Your one-time code for ${app}:`,
    action: "Sign in",
  },
  email_auth: {
    carries: "CredentialBundle",
    subject: (app) => `Sign in to ${app}`,
    lead: (app) => `Paste this into ${app} to sign in:`,
    action: "Sign in",
  },
  recovery: {
    carries: "CredentialBundle",
    subject: (app) => `Recover your account at ${app}`,
    lead: (app) => `Paste this into ${app} to recover your account:`,
    action: "Recover the account",
  },
  invitation: {
    carries: "InvitationToken",
    subject: (app) => `You are invited to ${app}`,
    lead: (app) => `Paste this into ${app} to accept your invitation:`,
    action: "Accept the invitation",
  },
} as const satisfies Record<string, MailKind>;

export type MailKindName = keyof typeof mailKinds;
export const mailKindNames = Object.keys(mailKinds) as MailKindName[];

/** The mail without an operator's template. It shows all values that there are. */
export function builtInTemplate(kind: MailKindName, { places }: Facts): Template {
  const { carries, subject, lead, action }: MailKind = mailKinds[kind];
  const app = "{{ .AppName }}";
  const link = places.MagicLink === undefined ? undefined : "{{ .MagicLink }}";
  const secret = `{{ .${carries} }}`;
  const logo = places.LogoUrl === undefined ? "" : `<p><img src="{{ .LogoUrl }}" alt="${app}" width="170"></p>\n`;
  // A code is short enough to type even if there is a link. A bundle is not.
  const isShown = link === undefined || carries === "OtpCode";
  const shown = isShown ? [lead(app), secret] : [];
  const linked = link === undefined ? [] : [`${action}:`, link];
  return {
    subject: subject(app),
    text: `${[...shown, ...linked, IGNORE].join("\n\n")}\n`,
    html: [
      '<!doctype html>\n<html><body style="font-family: sans-serif">',
      `${logo}${isShown ? `<p>${lead(app)}</p>\n<p style="font-size: 1.4em; word-break: break-all"><strong>${secret}</strong></p>` : ""}`,
      link === undefined ? "" : `<p><a href="${link}">${action}</a></p>`,
      `<p>${IGNORE}</p>\n</body></html>\n`,
    ].join("\n"),
  };
}
